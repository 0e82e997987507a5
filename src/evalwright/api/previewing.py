"""Try a generator on a few rows, as it would make them, and keep nothing.

    trial = try_generation("quiz-rows", samples=3)

Rows that are made already are not made again to be looked at: `try_dataset` shows those.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from evalwright.api.generating import Maker, lazy_store
from evalwright.api.loops import complete
from evalwright.api.making import Crew, case_of, step
from evalwright.api.options import Unwatched, options_of
from evalwright.datasets.generating.base import Row
from evalwright.datasets.generating.kept import writable
from evalwright.engine.clean import cleaned_value
from evalwright.engine.models.around import Around
from evalwright.engine.tally import Tally, merge
from evalwright.errors import StageError, boundary
from evalwright.report.generated import GeneratedRow, GeneratedStep, GenerationTrial
from evalwright.report.trial import TriedError
from evalwright.types import Completion, Request, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from evalwright.datasets.generating.base import SynthesizerSpec
    from evalwright.ports import Case, Model
    from evalwright.spec.documents.entities import Entity
    from evalwright.spec.documents.project import Project


def made_already(project: "Project", key: str, *, env: Sequence[str] = ()) -> "dict[str, Path]":
    """The file of the rows of a dataset, and of those that it is made of, if they are made."""
    with ExitStack() as ending:
        maker = Maker(
            project, options_of({"env": tuple(env)}), store=lazy_store(ending), watch=Unwatched()
        )
        for one in project.generations.order([key]):
            if maker.find(one) is None:
                break
        return maker.files


def try_generation(
    project: "Project", entity: "Entity", *, samples: int = 3, env: Sequence[str] = ()
) -> GenerationTrial:
    """Make the first rows of a dataset, and show each step; what breaks is in the row's `error`."""
    with ExitStack() as ending:
        options = options_of({"env": tuple(env)})
        maker = Maker(project, options, store=lazy_store(ending), watch=Unwatched())
        made = maker.generation(entity.key)
        for one in project.generations.order(made.dataset_keys):
            maker.find(one)
        taken = maker.taken(made)
        hands = ending.enter_context(maker.hands(made))
        source: list[Row] = list(islice(taken.rows(), samples))
        parts = made.document.definition.synthesizers
        rows, usage = complete(hands.lent(partial(_tried, source, parts), cache=False))
        return GenerationTrial(
            key=entity.key,
            file=entity.file,
            generator=made.document.key,
            source=made.document.definition.source.type,
            source_rows=taken.total,
            rows=rows,
            usage=usage,
            printed=hands.printed,
            ok=all(one.error is None for one in rows),
        )


async def _tried(
    source: Sequence[Row], synthesizers: "Sequence[SynthesizerSpec]", crew: Crew
) -> tuple[list[GeneratedRow], dict[str, Usage]]:
    usage: dict[str, Usage] = {}
    rows: list[GeneratedRow] = []
    for place, row in enumerate(source):
        tally = Tally()
        rows.append(await _one(place, row, synthesizers, crew, tally))
        merge(usage, tally.usage)
    return rows, usage


async def _one(
    place: int, row: Row, synthesizers: "Sequence[SynthesizerSpec]", crew: Crew, tally: Tally
) -> GeneratedRow:
    said: list[dict[str, Any]] = []
    case = _overheard(case_of(place, 0, crew, tally), said)
    steps: list[GeneratedStep] = []
    rows, error, name = [row], None, ""
    try:
        for one in synthesizers:
            name = one.type
            with boundary("dataset"):
                rows = await step(one, rows, case)
                shown = [writable(cleaned_value(each, crew.redactor)) for each in rows]
            steps.append(GeneratedStep(synthesizer=name, rows=shown, said=[*said]))
            said.clear()
    except StageError as broken:
        told = {"type": broken.type, "message": crew.redactor.clean(str(broken))}
        error = TriedError(stage="dataset", hint=crew.redactor.clean(broken.hint), **told)
        if said:
            steps.append(GeneratedStep(synthesizer=name, rows=[], said=[*said]))
    source = cleaned_value(row, crew.redactor)
    return GeneratedRow(index=place, source=source, steps=steps, error=error)


def _overheard(case: "Case", said: list[dict[str, Any]]) -> "Case":
    models = {name: _Overheard(model, name, said) for name, model in case.models.items()}
    return msgspec.structs.replace(case, models=models)


class _Overheard(Around):
    """Keeps what is said, for who wants to see it."""

    def __init__(self, model: "Model", name: str, said: list[dict[str, Any]]) -> None:
        super().__init__(model)
        self._name, self._said = name, said

    async def complete(self, request: Request) -> Completion:
        """Answer, and be heard."""
        asked = [{"role": one.role, "content": one.content} for one in request.messages]
        told: dict[str, Any] = {"model": self._name, "asked": asked}
        if request.input is not None:
            told["with"] = request.input
        self._said.append(told)
        completion = await self._ask(request)
        told["answered"] = completion.text
        return completion
