"""A model that the author's own Python asks: what a document's `custom_inference` describes.

    def run_inference(body: str, environment: dict, sample: dict | None = None) -> str: ...

`body` is what the adapter makes of the input; what is returned, the adapter reads as if an endpoint
had answered it with status 200. The function runs where snippets run: apart from the engine, with
nothing of the user's environment but what the document passes on as `environment`.

A function that takes a third argument gets the sample's row. Its answers depend on more than the
request says, so they must not be remembered by it alone: see `takes_sample`.
"""

import ast
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from evalwright.clients.adapters import AdaptedModel, Adapter, AdapterInfo, hash_values
from evalwright.errors import ModelError, SnippetFailed
from evalwright.ports import Snippets
from evalwright.secrets import Redactor, Secret
from evalwright.types import Request

FUNCTION = "run_inference"
_OK = 200
_ARGUMENTS = 3
_RETRYABLE = {
    "BrokenPipeError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "TimeoutError",
}
"""Errors of a network. The deadline of a call is not among them."""


class InferenceConfig(Struct, frozen=True, kw_only=True):
    """The author's function, as a document declares it."""

    function: str
    """How the `Snippets` port is asked for it."""
    text: str
    """The Python itself, and what stands for its neighbours: part of the fingerprint."""
    environment: dict[str, Secret] = {}
    timeout_s: float


class CustomInferenceModel(AdaptedModel):
    """Asks a function, through an adapter."""

    def __init__(
        self,
        snippets: Snippets,
        config: InferenceConfig,
        adapter: Adapter,
        info: AdapterInfo,
        *,
        parameters: dict[str, Any],
    ) -> None:
        digest = blake2b(config.text.encode(), digest_size=16).hexdigest()
        self._environment = {name: value.reveal() for name, value in config.environment.items()}
        super().__init__(
            adapter,
            info,
            parameters=parameters,
            facts={"snippet": digest, "environment": hash_values(config.environment)},
            clean=Redactor(self._environment.values()).clean,
        )
        self._snippets, self._config = snippets, config
        self._takes_sample = takes_sample(config.text)

    async def close(self) -> None:
        """Do nothing: whoever made the snippets closes them."""

    async def _exchange(self, body: str, request: Request) -> tuple[str, int]:
        arguments: list[Any] = [body, self._environment]
        if self._takes_sample:
            row = request.sample.data
            arguments.append(row if isinstance(row, dict) else None)
        config = self._config
        try:
            reply = await self._snippets.call(
                config.function, arguments, timeout_s=config.timeout_s, waits=True
            )
        except SnippetFailed as error:
            failed = ModelError(
                "inference",
                self._clean(str(error)),
                retryable=error.kind in _RETRYABLE,
                hint=self._clean(error.hint),
            )
        else:
            if isinstance(reply, str):
                return reply, _OK
            failed = ModelError(
                "inference", f"expected `{FUNCTION}` to return text, got `{type(reply).__name__}`"
            )
        raise failed  # out here: its cause would print the author's words, key and all


def takes_sample(source: str) -> bool:
    """Tell whether the function has a parameter for the sample."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == FUNCTION:
            places = len(node.args.posonlyargs) + len(node.args.args)
            return places >= _ARGUMENTS or node.args.vararg is not None
    return False
