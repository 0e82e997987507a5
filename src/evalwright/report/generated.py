"""Rows that a generator made, as its commands show them."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from evalwright.report.amounts import dollars
from evalwright.report.samples import visible
from evalwright.report.trial import DatasetTrial, TriedError, dataset_lines, indented
from evalwright.types import Usage


class Generated(Struct, frozen=True, kw_only=True):
    """What `evalwright dataset generate` has done for one dataset."""

    dataset: str
    generator: str
    file: str
    """Where the rows are."""
    rows: int
    source_rows: int
    """The rows of the data source that they were made of."""
    made: bool
    """False if they were there already."""
    usage: dict[str, Usage] = {}
    """What each model took for all of them, earlier attempts included."""
    notes: list[str] = []
    """What a reader must know of how models were asked."""


class GeneratedStep(Struct, frozen=True, kw_only=True):
    """What one synthesizer made of a row."""

    synthesizer: str
    rows: list[dict[str, Any]]
    said: list[dict[str, Any]] = []
    """What models were asked and what they answered, word for word."""


class GeneratedRow(Struct, frozen=True, kw_only=True):
    """A row of the data source, and what becomes of it."""

    index: int
    source: dict[str, Any]
    steps: list[GeneratedStep]
    error: TriedError | None = None


class GenerationTrial(Struct, frozen=True, kw_only=True):
    """What `evalwright dataset test` shows of rows that are not made yet."""

    key: str
    file: str
    generator: str
    source: str
    """The kind of data source."""
    source_rows: int
    """How many rows of it would be used."""
    rows: list[GeneratedRow]
    usage: dict[str, Usage]
    printed: list[str]
    ok: bool


def generated_line(one: Generated) -> str:
    """In a sentence."""
    if not one.made:
        return f"dataset `{one.dataset}`: {one.rows:,} rows are there already, in {one.file}"
    of = f" of {one.source_rows:,} of the data source" if one.source_rows != one.rows else ""
    made = f"{one.rows:,} rows made{of}, in {one.file}{_taken(one.usage)}"
    return f"dataset `{one.dataset}`: {made}"


def _taken(usage: dict[str, Usage]) -> str:
    requests = sum(one.requests for one in usage.values())
    if not usage:
        return ""
    tokens = sum(one.total_tokens for one in usage.values())
    costs = [one.cost for one in usage.values()]
    cost = "" if None in costs else f", {dollars(sum(one or 0.0 for one in costs))}"
    return f": {requests:,} requests, {tokens:,} tokens{cost}"


def trial_lines(trial: DatasetTrial | GenerationTrial, *, bodies: bool) -> Iterator[str]:
    """Rows that are there, or rows as they would be made."""
    if isinstance(trial, DatasetTrial):
        return dataset_lines(trial)
    return generation_lines(trial, bodies=bodies)


def generation_lines(trial: GenerationTrial, *, bodies: bool) -> Iterator[str]:
    """Each row, step by step."""
    yield visible(f"Dataset `{trial.key}`")
    rows = f"made of {trial.source_rows:,} rows of the data source; these are kept nowhere"
    facts = {"file": trial.file, "generator": trial.generator, "source": trial.source, "rows": rows}
    yield from indented(facts)
    for row in trial.rows:
        yield ""
        yield f"Row {row.index} of the data source"
        yield from indented(row.source or "no columns")
        for step in row.steps:
            yield f"After `{step.synthesizer}`"
            for one in step.said if bodies else ():
                yield from indented(one)
            made = step.rows[0] if len(step.rows) == 1 else step.rows
            yield from indented(made or "no row")
        if row.error is not None:
            yield visible(f"  failed: {row.error.message}")
            yield from [visible(f"  hint: {row.error.hint}")] if row.error.hint else ()
    if trial.printed:
        yield ""
        yield "Printed by snippets"
        yield from (visible(f"  {line}") for line in trial.printed)
