"""A model that says what it is told to, and what the tests of solvers do with it."""

import asyncio
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from evalwright.components import snippets_in
from evalwright.ports import Case
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import Source
from evalwright.solvers.base import AnySolver
from evalwright.types import Completion, Request, Sample, Trace, Usage

SOLVERS: TypeAdapter[Any] = TypeAdapter(AnySolver)


class Replies:
    """Gives these answers, one after the other, and remembers what it was asked."""

    caveat = fingerprint = ""

    def __init__(self, *answers: str | Completion | Exception) -> None:
        self._answers = iter(answers)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            usage = Usage(requests=1, prompt_tokens=3, completion_tokens=1, cost=0.5)
            return Completion(text=answer, usage=usage)
        return answer

    async def close(self) -> None:
        pass

    def asked(self) -> list[list[tuple[str, str]]]:
        """Who said what, in each request."""
        return [[(one.role, one.content) for one in each.messages] for each in self.requests]


def solver(fields: dict[str, Any]) -> Any:
    return SOLVERS.validate_python(fields)


def snippets_of(thing: Any) -> DirectSnippets:
    return DirectSnippets(
        {one.key: Source(one.text, one.path, one.line) for one in snippets_in(thing)}
    )


def solve(
    fields: dict[str, Any], row: Any = None, *answers: str | Completion | Exception, **more: Any
) -> Trace:
    return solve_with(Replies(*answers), fields, row, **more)


def solve_with(model: Replies, fields: dict[str, Any], row: Any = None, **more: Any) -> Trace:
    made = solver(fields)
    snippets = snippets_of(made)
    case = Case(sample=Sample("a", row or {}), model=model, snippets=snippets, **more)

    async def run() -> Trace:
        try:
            trace: Trace = await made.solve(case)
        finally:
            await snippets.close()
        return trace

    return asyncio.run(run())


def spoken(trace: Trace) -> list[str]:
    """`role: text` of every message."""
    return [f"{one['role']}: {_text(one['content'])}" for one in _messages(trace)]


def _messages(trace: Trace) -> Iterable[dict[str, Any]]:
    return [one for one in trace.conversation["items"] if one["type"] == "message"]


def _text(content: list[dict[str, Any]]) -> str:
    return "".join(part["text"] for part in content)
