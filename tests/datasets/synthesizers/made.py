"""Synthesizers at work: a row in, rows out."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter

from evalwright.clients.scripted import Answer, Scripted
from evalwright.components import snippets_in
from evalwright.datasets.synthesizers.synthesizer import AnySynthesizer
from evalwright.ports import Case
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources
from evalwright.types import Request, Sample

SYNTHESIZERS: TypeAdapter[Any] = TypeAdapter(AnySynthesizer)


def synthesizer(fields: Mapping[str, Any]) -> Any:
    """One of a document."""
    return SYNTHESIZERS.validate_python(fields)


def model(script: Callable[[Request], str]) -> Scripted:
    """Answers by a script, and remembers what it was asked."""

    def answer(request: Request) -> Answer:
        return Answer(script(request), 0.5)

    return Scripted("test", answer, remember=True)


def synthesized(
    fields: Mapping[str, Any], row: dict[str, Any], *, index: int = 0, **models: Scripted
) -> list[dict[str, Any]]:
    """The rows that come of one."""
    made = synthesizer(fields)
    case = Case(
        sample=Sample(str(index), row),
        model=model(lambda _: ""),
        models=models,
        snippets=DirectSnippets(collect_sources(snippets_in(made))),
    )
    rows: list[dict[str, Any]] = asyncio.run(made.synthesize(case))
    return rows
