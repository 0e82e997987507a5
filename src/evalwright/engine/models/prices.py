"""Prices of tokens, in US dollars per million.

List prices of the standard tier, for the few models whose price is plain and well known. They
change: your own table takes precedence.

    ["openai/gpt-4.1-mini"]
    input = 0.4
    output = 1.6

A name is looked up unchanged, then without the date at its end (`gpt-4.1-mini-2025-04-14`). Models
on your own machine cost nothing. All others have no known price, and no report guesses one.

Does not:   know discounts for cached prompts or batches (so costs are upper bounds), prices
            that depend on the prompt's length or the hour (those models are left out), or which
            server answers under a name.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import structs

from evalwright.engine.models.base import ModelWrapper
from evalwright.errors import Unreadable, UsageError
from evalwright.ports import Model
from evalwright.types import Completion, Request, Usage

PRICES_AS_OF = "2026-11-15"

_Dollars = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dollars per million tokens."""

    input: _Dollars
    output: _Dollars

    @property
    def free(self) -> bool:
        """Whether every call is free."""
        return self.input == self.output == 0

    def of(self, usage: Usage) -> float | None:
        """Return the cost; None if a server does not report its tokens."""
        if usage.requests and not usage.total_tokens and not self.free:
            return None
        dollars = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return dollars / 1_000_000


FREE = Price(0, 0)
LOCAL = frozenset({"llamacpp", "lmstudio", "local", "ollama", "replay", "scripted", "vllm"})
PRICES: dict[str, Price] = {
    "anthropic/claude-3-5-haiku": Price(0.8, 4),
    "anthropic/claude-3-5-sonnet": Price(3, 15),
    "anthropic/claude-3-7-sonnet": Price(3, 15),
    "anthropic/claude-3-haiku": Price(0.25, 1.25),
    "anthropic/claude-3-opus": Price(15, 75),
    "anthropic/claude-haiku-4-5": Price(1, 5),
    "anthropic/claude-opus-4": Price(15, 75),
    "anthropic/claude-opus-4-1": Price(15, 75),
    "anthropic/claude-opus-4-5": Price(5, 25),
    "anthropic/claude-opus-4-6": Price(5, 25),
    "anthropic/claude-opus-4-7": Price(5, 25),
    "anthropic/claude-opus-4-8": Price(5, 25),
    "anthropic/claude-opus-5": Price(5, 25),
    "anthropic/claude-opus-5-5": Price(4, 20),
    "anthropic/claude-sonnet-4": Price(3, 15),
    "anthropic/claude-sonnet-4-5": Price(3, 15),
    "anthropic/claude-sonnet-4-6": Price(3, 15),
    "anthropic/claude-sonnet-5": Price(2, 10),
    "anthropic/claude-sonnet-5-5": Price(2, 10),
    "groq/llama-3.1-8b-instant": Price(0.05, 0.08),
    "groq/llama-3.3-70b-versatile": Price(0.59, 0.79),
    "mistral/codestral-2501": Price(0.3, 0.9),
    "mistral/mistral-large-2411": Price(2, 6),
    "mistral/mistral-medium-2505": Price(0.4, 2),
    "mistral/mistral-small-2503": Price(0.1, 0.3),
    "mistral/open-mistral-nemo": Price(0.15, 0.15),
    "openai/gpt-3.5-turbo": Price(0.5, 1.5),
    "openai/gpt-4": Price(30, 60),
    "openai/gpt-4-turbo": Price(10, 30),
    "openai/gpt-4.1": Price(2, 8),
    "openai/gpt-4.1-mini": Price(0.4, 1.6),
    "openai/gpt-4.1-nano": Price(0.1, 0.4),
    "openai/gpt-4o": Price(2.5, 10),
    "openai/gpt-4o-2024-05-13": Price(5, 15),
    "openai/gpt-4o-mini": Price(0.15, 0.6),
    "openai/gpt-5": Price(1.25, 10),
    "openai/gpt-5-mini": Price(0.25, 2),
    "openai/gpt-5-nano": Price(0.05, 0.4),
    "openai/gpt-5.1": Price(1.25, 10),
    "openai/gpt-5.2": Price(1.75, 14),
    "openai/gpt-5.4-mini": Price(0.75, 4.5),
    "openai/gpt-5.4-nano": Price(0.2, 1.25),
    "openai/o1": Price(15, 60),
    "openai/o1-mini": Price(1.1, 4.4),
    "openai/o3": Price(2, 8),
    "openai/o3-mini": Price(1.1, 4.4),
    "openai/o4-mini": Price(1.1, 4.4),
}
_SOLD_BY = {"openai-responses": "openai"}
"""Providers of the same models under other names."""
_DATED = re.compile(r"(.+)-(?:\d{4}-\d{2}-\d{2}|20\d{6})")


class Prices:
    """Return the table, with the user's own entries first."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._table = {**PRICES, **(own or {})}

    def of(self, name: str) -> Price | None:
        """Return the price of `provider/model`; None if unknown."""
        provider, _, model = name.partition("/")
        listed = f"{_SOLD_BY.get(provider, provider)}/{model}"
        dated = _DATED.fullmatch(listed)
        for known in (name, listed, dated[1] if dated else listed):
            if (price := self._table.get(known)) is not None:
                return price
        return FREE if provider in LOCAL else None


def read_prices(path: str | Path) -> dict[str, Price]:
    """Read the user's own table from a TOML file."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}") from error
    return parse_prices(table, where=str(path))


def parse_prices(table: Mapping[str, Any], *, where: str) -> dict[str, Price]:
    """Read the user's own table from plain data; errors name `where` it is."""
    try:
        return msgspec.convert(table, dict[str, Price])
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{where}: {error}",
            hint='a price is ["provider/model"] with `input` and `output`, '
            "in US dollars per million tokens",
        ) from error


class MeteredModel(ModelWrapper):
    """Adds the cost."""

    def __init__(self, model: Model, price: Price) -> None:
        super().__init__(model)
        self._price = price

    async def complete(self, request: Request) -> Completion:
        """Answer, with its cost in `usage.cost`."""
        completion = await self._ask(request)
        usage = completion.usage
        if usage.cost is not None:
            return completion
        return structs.replace(completion, usage=structs.replace(usage, cost=self._price.of(usage)))
