"""Retry calls that can succeed later.

Only a `retryable` `ModelError` is retried: connection errors, timeouts, 408, 409,
429 and 5xx. Anything else would fail the same way, and is raised at once.

    wait before retry n  =  Retry-After + random() · min(cap, base · 2ⁿ⁻¹)

Full jitter (Brooker 2015, "Exponential backoff and jitter", AWS Architecture Blog): callers that
failed together do not come back together. It is added to what the server asks for, since that is
the same for all of them.

Does not:   wait for a very long Retry-After: that call fails, and a later run
            makes it again.
"""

import asyncio
import random as randomness
from collections.abc import Awaitable, Callable

from msgspec import Struct, structs

from evalwright.engine.models.base import Counters, ModelWrapper
from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.types import Completion, Request

_MOST_DOUBLINGS = 32


class Backoff(Struct, frozen=True, kw_only=True):
    """Number of attempts, and the waits between them."""

    attempts: int = 5
    """All attempts, including the first."""
    base_s: float = 0.5
    cap_s: float = 60.0
    longest_retry_after_s: float = 300.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"expected at least 1 attempt, got `{self.attempts}`")

    def longest_s(self, retry: int) -> float:
        """Return the longest wait that jitter may choose before this retry, counted from 1."""
        doubled: float = self.base_s * 2 ** min(retry - 1, _MOST_DOUBLINGS)
        return min(self.cap_s, doubled)


class RetryingModel(ModelWrapper):
    """Queries the model up to `backoff.attempts` times; the final error says how often."""

    def __init__(
        self,
        model: Model,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        *,
        counters: Counters | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        super().__init__(model)
        self._backoff = backoff
        self._counters = counters or Counters()
        self._sleep = sleep
        self._random = random

    async def complete(self, request: Request) -> Completion:
        """Answer; failed attempts count in `usage.requests`."""
        failed = 0
        while True:
            try:
                completion = await self._ask(request)
            except ModelError as error:
                failed += 1
                error.attempts = failed
                if not self._worthwhile(error):
                    raise
                wait = self._wait_s(error)
            else:
                return _count_attempts(completion, failed) if failed else completion
            self._counters.retries += 1
            await self._sleep(wait)

    def _worthwhile(self, error: ModelError) -> bool:
        if not error.retryable or error.attempts >= self._backoff.attempts:
            return False
        longest = self._backoff.longest_retry_after_s
        if error.retry_after_s is not None and error.retry_after_s > longest:
            asked = f"the server asks to wait {error.retry_after_s:,.0f} s: run again after that"
            error.hint = f"{error.hint}; {asked}" if error.hint else asked
            return False
        return True

    def _wait_s(self, error: ModelError) -> float:
        asked = error.retry_after_s
        jitter = self._random() * self._backoff.longest_s(error.attempts)
        return asked + jitter if asked is not None and asked > 0 else jitter


def _count_attempts(completion: Completion, failed: int) -> Completion:
    usage = completion.usage
    return structs.replace(
        completion, usage=structs.replace(usage, requests=usage.requests + failed)
    )
