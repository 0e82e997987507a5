"""Preview the first rows of a generated dataset without storing them.

Existing rows are not generated again for the preview: `find_generated_files` finds their files.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from textwrap import indent
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.datasets.synthesizers.synthesizer import Row, SynthesizerSpec
from evalwright.engine.models.base import ModelWrapper
from evalwright.engine.redact import redact
from evalwright.engine.usage import UsageCounter, add_usage
from evalwright.errors import StageError, boundary
from evalwright.event_loop import run_async
from evalwright.generation.generate import open_generator
from evalwright.generation.resources import GeneratorRuntime
from evalwright.generation.synthesis import apply_synthesizer, clean_rows
from evalwright.plan.options import RunOptions
from evalwright.ports import Case, Model
from evalwright.report.export import FailureSummary
from evalwright.report.yaml_text import to_yaml
from evalwright.session.progress import SilentProgress
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.entities import Entity
from evalwright.text.visible import visible
from evalwright.types import Completion, Request, Usage


class PreviewStep(Struct, frozen=True, kw_only=True):
    """The rows that a synthesizer returned."""

    synthesizer: str
    rows: list[dict[str, Any]]
    said: list[dict[str, Any]] = []
    """Requests to models and their replies, unchanged."""


class PreviewRow(Struct, frozen=True, kw_only=True):
    """A row of the data source, and the rows after each synthesizer."""

    index: int
    source: dict[str, Any]
    steps: list[PreviewStep]
    error: FailureSummary | None = None


class GenerationPreview(Struct, frozen=True, kw_only=True):
    """Result of `evalwright dataset test` for rows that are not generated yet."""

    key: str
    file: str
    generator: str
    source: str
    """Type of the data source."""
    source_rows: int
    """Number of rows that would be used from the data source."""
    rows: list[PreviewRow]
    usage: dict[str, Usage]
    printed: list[str]
    ok: bool

    def render_lines(self, *, show_model_calls: bool) -> Iterator[str]:
        """Yield the lines of each row, step by step."""
        yield visible(f"Dataset `{self.key}`")
        rows = f"generated from {self.source_rows:,} rows of the data source; not stored"
        yield _indent_yaml(
            {"file": self.file, "generator": self.generator, "source": self.source, "rows": rows}
        )
        for row in self.rows:
            yield ""
            yield f"Row {row.index} of the data source"
            yield _indent_yaml(row.source or "no columns")
            for step in row.steps:
                yield f"After `{step.synthesizer}`"
                if show_model_calls:
                    yield from map(_indent_yaml, step.said)
                yield _indent_yaml(step.rows[0] if len(step.rows) == 1 else step.rows or "no row")
            if row.error is not None:
                yield visible(f"  failed: {row.error.message}")
                if row.error.hint:
                    yield visible(f"  hint: {row.error.hint}")
        if self.printed:
            yield ""
            yield "Printed by snippets"
            yield from (visible(f"  {line}") for line in self.printed)


def _indent_yaml(value: Any) -> str:
    return indent(visible(to_yaml(value)).rstrip("\n"), "  ")


def find_generated_files(project: Project, key: str, options: RunOptions) -> dict[str, Path]:
    """Return the files of a dataset and its dependencies, up to the first missing file."""
    with open_generator(project, options, SilentProgress()) as generator:
        for dataset in project.generations.order([key]):
            if generator.find_file(dataset) is None:
                break
        return generator.files


def preview_dataset(
    project: Project, entity: Entity, options: RunOptions, *, samples: int = 3
) -> GenerationPreview:
    """Generate the first rows and record each step; a failed row has an `error`."""
    with open_generator(project, options, SilentProgress()) as generator:
        generation = generator.generation_of(entity.key)
        for dataset in project.generations.order(generation.dataset_keys):
            generator.find_file(dataset)
        definition = generation.document.definition
        source = generator.select_source_rows(generation)
        source_rows = list(islice(source.rows(), samples))
        with generator.open_resources(generation) as resources:
            rows, usage = run_async(
                resources.run(
                    partial(_preview_rows, source_rows, definition.synthesizers), use_cache=False
                )
            )
        return GenerationPreview(
            key=entity.key,
            file=entity.file,
            generator=generation.document.key,
            source=definition.source.type,
            source_rows=source.total,
            rows=rows,
            usage=usage,
            printed=resources.printed,
            ok=all(row.error is None for row in rows),
        )


async def _preview_rows(
    source_rows: Sequence[Row], synthesizers: Sequence[SynthesizerSpec], runtime: GeneratorRuntime
) -> tuple[list[PreviewRow], dict[str, Usage]]:
    usage: dict[str, Usage] = {}
    rows: list[PreviewRow] = []
    for place, row in enumerate(source_rows):
        tally = UsageCounter()
        case = runtime.build_case(place, 0, tally)
        steps, error = await _preview_steps(row, synthesizers, case, runtime)
        source = redact(row, runtime.redactor)
        rows.append(PreviewRow(index=place, source=source, steps=steps, error=error))
        add_usage(usage, tally.usage)
    return rows, usage


async def _preview_steps(
    row: Row, synthesizers: Sequence[SynthesizerSpec], case: Case, runtime: GeneratorRuntime
) -> tuple[list[PreviewStep], FailureSummary | None]:
    calls: list[dict[str, Any]] = []
    models = {name: _RecordingModel(model, name, calls) for name, model in case.models.items()}
    case = msgspec.structs.replace(case, models=models)
    steps: list[PreviewStep] = []
    rows, clean = [row], runtime.redactor.clean
    for synthesizer in synthesizers:
        calls.clear()
        try:
            with boundary("dataset"):
                rows = await apply_synthesizer(synthesizer, rows, case)
                shown = clean_rows(rows, runtime.redactor)
        except StageError as error:
            if calls:
                steps.append(PreviewStep(synthesizer=synthesizer.type, rows=[], said=[*calls]))
            return steps, FailureSummary(
                stage="dataset", type=error.type, message=clean(str(error)), hint=clean(error.hint)
            )
        steps.append(PreviewStep(synthesizer=synthesizer.type, rows=shown, said=[*calls]))
    return steps, None


class _RecordingModel(ModelWrapper):
    """Appends each request and its reply to a list."""

    def __init__(self, model: Model, name: str, calls: list[dict[str, Any]]) -> None:
        super().__init__(model)
        self._name, self._calls = name, calls

    async def complete(self, request: Request) -> Completion:
        messages = [
            {"role": message.role, "content": message.content} for message in request.messages
        ]
        call: dict[str, Any] = {"model": self._name, "asked": messages}
        if request.input is not None:
            call["with"] = request.input
        self._calls.append(call)
        completion = await self._ask(request)
        call["answered"] = completion.text
        return completion
