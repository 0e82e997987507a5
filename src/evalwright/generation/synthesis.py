"""Make the rows of one file: the rows of a data source, through the synthesizers.

Each finished row is written to the checkpoint at once. A failed row does not stop the others; it is
named at the end. Rows of an earlier attempt are not made again. Where one row of the data source
takes several model calls, each reply is written by itself: neither a failed call nor the end of the
process loses the others.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.datasets.rows import identified
from evalwright.datasets.synthesizers.data_sources import ID_COLUMN, SourceRows, number_ids
from evalwright.datasets.synthesizers.synthesizer import Row, SynthesizerSpec
from evalwright.engine.redact import redact_json
from evalwright.engine.usage import UsageCounter, add_usage
from evalwright.errors import BadDataset, EvalwrightError, StageError, Stopped, boundary
from evalwright.generation.checkpoint import (
    Checkpoint,
    CheckpointRecord,
    checkpoint_path,
    open_checkpoint,
    to_json_row,
    write_atomically,
)
from evalwright.generation.resources import MAX_ATTEMPTS, MAX_PARTS, GeneratorRuntime
from evalwright.ports import Case
from evalwright.secrets import Redactor
from evalwright.session.progress import Progress
from evalwright.types import NOTHING, Failure, Outcome, Sample, Trace, Usage

_MAX_SHOWN = 3
_MAX_FUTILE = 25
"""Failures without a single success, after which no more rows are tried."""
_Call = Callable[[], Awaitable[list[Row]]]


class GenerationJob(Struct, frozen=True, kw_only=True):
    """One file to generate."""

    dataset: str
    source: SourceRows
    synthesizers: Sequence[SynthesizerSpec]
    path: Path
    again: bool = False
    """Generate it even if it exists."""


class GeneratedFile(Struct, frozen=True, kw_only=True):
    """A file that was generated."""

    rows: int
    usage: dict[str, Usage]
    """Per model, for all rows, earlier attempts included."""


async def generate_file(
    job: GenerationJob, runtime: GeneratorRuntime, progress: Progress
) -> GeneratedFile | None:
    """Make all rows and write the file; `BadDataset`, and no file, if a row cannot be made.

    Return None if another process has just generated it.
    """
    with open_checkpoint(job.path) as checkpoint:
        if job.path.is_file() and not job.again:
            return None
        if job.again and checkpoint.done >= job.source.total:  # left over from the last time
            checkpoint.clear()
        if runtime.budget is not None:
            runtime.budget.add(sum(_sum_usage(checkpoint.usages).values(), NOTHING))
        failures: dict[int, StageError] = {}
        if checkpoint.done < job.source.total:
            progress.begin(job.source.total, checkpoint.done, runtime.counters)
            try:
                await _make_missing_rows(job, runtime, checkpoint, progress, failures)
            finally:
                progress.end(interrupted=False)
        if checkpoint.done < job.source.total:
            raise _incomplete_error(job, checkpoint, failures)
        rows = write_atomically(job.path, _encode_rows(job, checkpoint))
        if not rows:
            raise BadDataset(f"dataset `{job.dataset}`: the synthesizers make no rows of any")
        checkpoint_path(job.path).unlink(missing_ok=True)
        return GeneratedFile(rows=rows, usage=_sum_usage(checkpoint.usages))


def _encode_rows(job: GenerationJob, checkpoint: Checkpoint) -> Iterator[bytes]:
    """Yield the lines of the file; `BadDataset` if their ids are not unique."""
    encode = msgspec.json.Encoder().encode
    try:
        for _, row in identified(checkpoint.rows, name=f"dataset `{job.dataset}`"):
            yield encode(row)
    except BadDataset as error:
        remedy = error.hint or "let the synthesizers give each row a `sample_id` of its own"
        command = f"`evalwright dataset generate {job.dataset} --again` makes the rows anew"
        raise BadDataset(
            f"{error}{_describe_duplicate(checkpoint)}", hint=f"{remedy}; {command}"
        ) from error


def _describe_duplicate(checkpoint: Checkpoint) -> str:
    """Name the first two rows of the data source whose rows share an id, if any do."""
    first_places: dict[str, int] = {}
    for place, row in checkpoint.rows_with_places():
        if row.get(ID_COLUMN) is not None:
            first = first_places.setdefault(str(row[ID_COLUMN]), place)
            if first != place:
                return f": they were made of the rows {first} and {place} of the data source"
    return ""


async def _make_missing_rows(
    job: GenerationJob,
    runtime: GeneratorRuntime,
    checkpoint: Checkpoint,
    progress: Progress,
    failures: dict[int, StageError],
) -> None:
    rows = enumerate(job.source.rows())
    todo = ((place, row) for place, row in rows if not checkpoint.is_done(place))
    done_before, stops = checkpoint.done, list[Stopped]()

    async def work() -> None:
        for place, row in todo:  # shared: each worker takes the next row nobody has taken
            if stops or (len(failures) >= _MAX_FUTILE and checkpoint.done == done_before):
                return
            synthesis, made = RowSynthesis(place, job.synthesizers, runtime, checkpoint), None
            try:
                made = await synthesis.make_rows(row)
            except StageError as error:
                failures[place] = error
            except Stopped as reason:  # not the row's fault; rows in flight are finished
                stops.append(reason)
                return
            checkpoint.append(
                CheckpointRecord(place=place, rows=made, usage=synthesis.unrecorded_usage)
            )
            progress.committed(
                [_build_outcome(job.dataset, place, synthesis.usage, failures.get(place))]
            )

    await _run_in_group([work] * min(runtime.workers, job.source.total))
    if stops:
        raise stops[0]


class RowSynthesis:
    """Makes the rows that come from one row of the data source."""

    def __init__(
        self,
        place: int,
        synthesizers: Sequence[SynthesizerSpec],
        runtime: GeneratorRuntime,
        checkpoint: Checkpoint,
    ) -> None:
        self._place, self._synthesizers = place, synthesizers
        self._runtime, self._checkpoint = runtime, checkpoint
        self._model_steps = sum(bool(synthesizer.model_keys) for synthesizer in synthesizers)
        self.usage: dict[str, Usage] = {}
        """Per model, for all steps."""
        self.unrecorded_usage: dict[str, Usage] = {}
        """The part of it that is in no record of the checkpoint yet."""

    async def make_rows(self, row: Row) -> list[Row]:
        """Return the rows that come from `row`; `StageError` if they cannot be made."""
        rows = [row]
        for step, synthesizer in enumerate(self._synthesizers):
            several = self._model_steps > 1 or len(rows) > 1
            apply = partial(self._apply, step, records=bool(synthesizer.model_keys) and several)
            calls = [partial(apply, number, part) for number, part in enumerate(rows)]
            rows = _flatten_rows(await _call_all(calls, self._runtime.workers))
        with boundary("dataset"):
            return clean_rows(rows, self._runtime.redactor)

    async def _apply(self, step: int, number: int, row: Row, *, records: bool) -> list[Row]:
        """Apply a synthesizer to a row; with `records`, only if no earlier attempt has done so."""
        name = f"{step}.{number}.{_digest_row(row)}" if records else ""
        recorded = self._checkpoint.find_step(self._place, name) if records else None
        if recorded is not None:
            return recorded
        tally, attempts = UsageCounter(), self._checkpoint.attempts.get(self._place, 0)
        case = _set_row(self._runtime.build_case(self._place, attempts, tally), number, row)
        unrecorded = tally.usage
        try:
            with boundary("dataset"):
                rows = await self._synthesizers[step].synthesize(case)
                if records:
                    rows = clean_rows(rows, self._runtime.redactor)
            if records:
                self._checkpoint.append(
                    CheckpointRecord(place=self._place, rows=rows, usage=tally.usage, step=name)
                )
                unrecorded = {}
            return rows
        finally:
            add_usage(self.usage, tally.usage)
            add_usage(self.unrecorded_usage, unrecorded)


async def apply_synthesizer(
    synthesizer: SynthesizerSpec, rows: Sequence[Row], case: Case
) -> list[Row]:
    """Apply a synthesizer to all rows that come from one, in turn."""
    return _flatten_rows(
        [
            await synthesizer.synthesize(_set_row(case, number, row))
            for number, row in enumerate(rows)
        ]
    )


def clean_rows(rows: Sequence[Row], redactor: Redactor) -> list[Row]:
    """Redact the rows; ValueError if one is not JSON."""
    return [to_json_row(redact_json(row, redactor)) for row in rows]


def _flatten_rows(row_lists: Sequence[list[Row]]) -> list[Row]:
    """Join the lists; several rows that come from one get ids of their own."""
    return [row for rows in row_lists for row in (number_ids(rows) if len(rows) > 1 else rows)]


def _set_row(case: Case, number: int, row: Row) -> Case:
    """Return the case for one of the rows that come from one; it has a trial number of its own."""
    return msgspec.structs.replace(
        case,
        sample=Sample(case.sample.id, row),
        trial=case.trial + min(number, MAX_PARTS - 1) * MAX_ATTEMPTS,
    )


def _digest_row(row: Row) -> str:
    return blake2b(json.dumps(row, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


async def _call_all(calls: Sequence[_Call], concurrency: int) -> list[list[Row]]:
    """Return what each call returns; if one fails, the others are still completed."""
    if len(calls) == 1:
        return [await calls[0]()]
    slots, results = asyncio.Semaphore(concurrency), list[list[Row]]([[] for _ in calls])
    failures: list[StageError] = []
    stops: list[Stopped] = []

    async def run_call(number: int) -> None:
        async with slots:
            if stops or len(failures) >= _MAX_FUTILE:
                return
            try:
                results[number] = await calls[number]()
            except StageError as error:
                failures.append(error)
            except Stopped as reason:
                stops.append(reason)

    await _run_in_group([partial(run_call, number) for number in range(len(calls))])
    if stops or failures:  # an exhausted budget comes first: it is not the row's fault
        raise [*stops, *failures][0]
    return results


async def _run_in_group(tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run all tasks at once; the first exception stops the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(task())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _build_outcome(
    dataset: str, place: int, usage: Mapping[str, Usage], error: StageError | None
) -> Outcome:
    """Return the outcome of a row, for the progress display."""
    failure = None
    if error is not None:
        failure = Failure(stage=error.stage, type=error.type, message=str(error), hint=error.hint)
    trace = Trace(input="", output="", post_processed="", usage=sum(usage.values(), NOTHING))
    return Outcome(
        task=dataset, model="", sample_id=str(place), ordinal=place, trace=trace, failure=failure
    )


def _sum_usage(usages: Sequence[Mapping[str, Usage]]) -> dict[str, Usage]:
    sums: dict[str, Usage] = {}
    for usage in usages:
        add_usage(sums, usage)
    return sums


def _incomplete_error(
    job: GenerationJob, checkpoint: Checkpoint, failures: Mapping[int, StageError]
) -> EvalwrightError:
    """Say how many rows were made, and why the others failed."""
    shown = sorted(failures)[:_MAX_SHOWN]
    reasons = "; ".join(f"row {place}: {failures[place]}" for place in shown)
    more = f"; and {len(failures) - len(shown)} more" if len(failures) > len(shown) else ""
    untried = job.source.total - checkpoint.done - len(failures)
    not_tried = f"; {untried:,} were not tried" if untried else ""
    hint = next((failures[place].hint for place in shown if failures[place].hint), "")
    resume = "what is made is kept: run again, and only the others are made"
    return BadDataset(
        f"dataset `{job.dataset}`: {checkpoint.done:,} of {job.source.total:,} rows could be made, "
        f"{len(failures):,} failed: {reasons}{more}{not_tried}",
        hint=f"{hint}; {resume}" if hint else resume,
    )
