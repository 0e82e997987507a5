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

from msgspec import Struct, structs

from evalwright.clients.adapters import Adapter, Info, asked_by
from evalwright.clients.connection import digests, fingerprint_of, fits
from evalwright.clients.outputs import completion_of
from evalwright.errors import ModelError, SnippetFailed
from evalwright.ports import Snippets
from evalwright.secrets import Redactor, Secret
from evalwright.types import Completion, Request

FUNCTION = "run_inference"
_OK = 200
_ARGUMENTS = 3
_TRY_AGAIN = {
    "BrokenPipeError",
    "ConnectionAbortedError",
    "ConnectionError",
    "ConnectionRefusedError",
    "ConnectionResetError",
    "TimeoutError",
}
"""What a network does to those who ask over it. The deadline of a call is not among them."""


class Inferring(Struct, frozen=True, kw_only=True):
    """The author's part, as a document tells it."""

    function: str
    """How the `Snippets` port is asked for it."""
    text: str
    """The Python itself, and what stands for its neighbours: part of the fingerprint."""
    environment: dict[str, Secret] = {}
    timeout_s: float


class Inference:
    """Asks a function, through an adapter."""

    caveat = ""

    def __init__(
        self,
        snippets: Snippets,
        inferring: Inferring,
        adapter: Adapter,
        info: Info,
        *,
        parameters: dict[str, Any],
    ) -> None:
        digest = blake2b(inferring.text.encode(), digest_size=16).hexdigest()
        facts = {"snippet": digest, "environment": digests(inferring.environment)}
        self.fingerprint = fingerprint_of(adapter, info, parameters, facts)
        self._snippets = snippets
        self._function = inferring.function
        self._timeout_s = inferring.timeout_s
        self._environment = {name: value.reveal() for name, value in inferring.environment.items()}
        self._clean = Redactor(self._environment.values()).clean
        self._by_sample = takes_sample(inferring.text)
        self._adapter = adapter
        self._info = info
        self._parameters = parameters

    async def complete(self, request: Request) -> Completion:
        """One answer."""
        fits(request, self._info)
        asked = asked_by(request, self._parameters)
        body = self._adapter.outgoing(asked, self._info)
        said = await self._call(body, request)
        output = self._adapter.incoming(said, _OK, self._info)
        found = completion_of(
            output,
            request.task,
            clean=self._clean,
            texts=asked.texts,
            takes_all=request.takes_all,
        )
        return structs.replace(found, bodies=(body, said))

    async def close(self) -> None:
        """The snippets are closed by who made them: others may use them too."""

    async def _call(self, body: str, request: Request) -> str:
        arguments: list[Any] = [body, self._environment]
        if self._by_sample:
            row = request.sample.data
            arguments.append(row if isinstance(row, dict) else None)
        try:
            said = await self._snippets.call(
                self._function, arguments, timeout_s=self._timeout_s, waits=True
            )
        except SnippetFailed as error:
            failed = ModelError(
                "inference",
                self._clean(str(error)),
                retryable=error.kind in _TRY_AGAIN,
                hint=self._clean(error.hint),
            )
        else:
            if isinstance(said, str):
                return said
            failed = ModelError(
                "inference", f"expected `{FUNCTION}` to return text, got `{type(said).__name__}`"
            )
        raise failed  # out here: its cause would print the author's words, key and all


def takes_sample(source: str) -> bool:
    """Whether the function has a place for the sample."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == FUNCTION:
            places = len(node.args.posonlyargs) + len(node.args.args)
            return places >= _ARGUMENTS or node.args.vararg is not None
    return False
