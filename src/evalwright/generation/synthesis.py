"""Generate the rows of one file from a data source, with synthesizers.

    quiz-3f2a….jsonl         all rows, in order; exists only when all rows are generated
    quiz-3f2a….jsonl.part    the checkpoint: one line per finished row of the data source, written
                             when it finishes, and one line per reply if a row needs several

Holds:      Finished rows and replies survive the death of the process and are not generated again.
            A failed row does not stop the others and is reported at the end. An incomplete last
            line is dropped. Two processes never generate the same rows at the same time.
Does not:   Record a failed row as done: it is retried. Attempts are counted, so that an unusable
            cached reply is not used again.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.datasets.reading import open_atomically
from evalwright.datasets.rows import identify_rows
from evalwright.datasets.synthesizers.data_sources import (
    ID_COLUMN,
    SourceRows,
    number_ids,
    pass_rows,
)
from evalwright.datasets.synthesizers.synthesizer import Row, SynthesizerSpec
from evalwright.engine.redact import redact
from evalwright.engine.usage import UsageCounter, add_usage
from evalwright.errors import BadDataset, EvalwrightError, StageError, Stopped, boundary
from evalwright.generation.checkpoint import (
    Checkpoint,
    CheckpointRecord,
    checkpoint_path,
    explain_write_error,
    open_checkpoint,
)
from evalwright.generation.resources import MAX_ATTEMPTS, MAX_PARTS, GeneratorRuntime
from evalwright.ports import Case
from evalwright.secrets import Redactor
from evalwright.session.progress import Progress
from evalwright.types import NOTHING, Failure, Outcome, Sample, Trace, Usage

_MAX_SHOWN = 3
_MAX_FUTILE = 25
"""Number of failures without a success after which no more rows are tried."""
_Call = Callable[[], Awaitable[list[Row]]]


def to_json_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row without NaN values; ValueError if it cannot be written as JSON."""
    columns = {
        name: value
        for name, value in row.items()
        if not (isinstance(value, float) and math.isnan(value))
    }
    if not columns:
        raise ValueError("the row has no columns")
    try:
        json.dumps(columns, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("a string in the row contains a lone surrogate") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the row cannot be written as JSON: {error}") from error
    return columns


def write_lines(path: Path, lines: Iterator[bytes]) -> int:
    """Write a file that appears only when it is complete; return the number of lines."""
    count = 0
    try:
        with open_atomically(path) as file:
            for count, line in enumerate(lines, start=1):  # noqa: B007 - returned
                file.write(line + b"\n")
    except OSError as error:
        raise explain_write_error(path, error) from error
    return count


class GenerationJob(Struct, frozen=True, kw_only=True):
    """A file to generate."""

    dataset: str
    source: SourceRows
    synthesizers: Sequence[SynthesizerSpec]
    path: Path
    wanted: int | None = None
    """Number of rows to generate, in as many passes over the data source as needed; None: one
    pass."""
    again: bool = False
    """Whether to generate the file even if it exists."""

    @property
    def total(self) -> int:
        """Total for progress: the number of rows or, for a single pass, of source rows."""
        return self.source.total if self.wanted is None else self.wanted

    def count_done(self, checkpoint: "Checkpoint") -> int:
        """Return the finished part of the total."""
        if self.wanted is None:
            return checkpoint.n_done
        return min(checkpoint.n_rows, self.wanted)

    def is_complete(self, checkpoint: "Checkpoint") -> bool:
        """Whether all rows are generated, without gaps."""
        if self.wanted is None:
            return checkpoint.n_done >= self.source.total
        return checkpoint.count_leading_rows() >= self.wanted


async def generate_file(
    job: GenerationJob, runtime: GeneratorRuntime, progress: Progress
) -> tuple[int, int, dict[str, Usage]] | None:
    """Generate all rows and write the file; if a row fails, raise `BadDataset` without a file.

    Return the number of rows, the number of source rows, and the usage per model, including earlier
    attempts. Return None if another process has just generated the file.
    """
    with open_checkpoint(job.path) as checkpoint:
        if job.path.is_file() and not job.again:
            return None
        if job.again and job.is_complete(checkpoint):  # left over from an earlier command
            checkpoint.clear()
        if runtime.budget is not None:
            runtime.budget.add(sum(_sum_usage(checkpoint.usages).values(), NOTHING))
        failures: dict[int, StageError] = {}
        if not job.is_complete(checkpoint):
            progress.begin(job.total, job.count_done(checkpoint), runtime.counters)
            try:
                await _RowMaker(job, runtime, checkpoint, progress, failures).make_missing_rows()
            finally:
                progress.end(interrupted=False)
        if not job.is_complete(checkpoint) and (failures or checkpoint.n_rows):
            raise _incomplete_error(job, checkpoint, failures)
        rows = write_lines(job.path, _encode_rows(job, checkpoint))
        checkpoint_path(job.path).unlink(missing_ok=True)
        return rows, checkpoint.n_done, _sum_usage(checkpoint.usages)


def _encode_rows(job: GenerationJob, checkpoint: Checkpoint) -> Iterator[bytes]:
    """Yield the lines of the file; `BadDataset` if there are no rows or duplicate ids."""
    encode = msgspec.json.Encoder().encode
    if next(checkpoint.rows(), None) is None:
        raise BadDataset(f"dataset `{job.dataset}`: the synthesizers returned no rows")

    def read_rows() -> Iterator[Row]:
        return islice((row for _, row in checkpoint.rows()), job.wanted)

    try:
        for _, row in identify_rows(read_rows, name=f"dataset `{job.dataset}`"):
            yield encode(row)
    except BadDataset as error:
        remedy = error.hint or "make the synthesizers set a unique `sample_id` per row"
        command = f"`evalwright dataset generate {job.dataset} --again` generates the rows again"
        raise BadDataset(
            f"{error}{_describe_duplicate(checkpoint)}", hint=f"{remedy}; {command}"
        ) from error


def _describe_duplicate(checkpoint: Checkpoint) -> str:
    first_places: dict[str, int] = {}
    for place, row in checkpoint.rows():
        if row.get(ID_COLUMN) is not None:
            first = first_places.setdefault(str(row[ID_COLUMN]), place)
            if first != place:
                return f": they were generated from rows {first} and {place} of the data source"
    return ""


class _RowMaker:
    """Generates the missing rows of a file concurrently.

    If the number of rows is given, it is unknown in advance how many rows each source row yields.
    The first source row is therefore processed alone, and then as many concurrently as the average
    so far suggests, because unneeded requests would cost money.
    """

    def __init__(
        self,
        job: GenerationJob,
        runtime: GeneratorRuntime,
        checkpoint: Checkpoint,
        progress: Progress,
        failures: dict[int, StageError],
    ) -> None:
        self._job, self._runtime, self._checkpoint = job, runtime, checkpoint
        self._progress, self._failures = progress, failures
        self._done_before = checkpoint.n_done
        self._stops: list[Stopped] = []
        self._in_flight = 0
        self._known_places = checkpoint.last_place + 1
        """Positions below were tried before; missing rows there are always needed."""
        self._last_yield = checkpoint.last_place if checkpoint.n_rows else -1
        """Last position that yielded a row."""
        self._landed = asyncio.Condition()
        rows = job.source.rows() if job.wanted is None else pass_rows(job.source)
        self._places = (item for item in enumerate(rows) if not checkpoint.is_done(item[0]))
        self._next = next(self._places, None)

    async def make_missing_rows(self) -> None:
        """Generate the rows and collect failures; `Stopped` if the budget is spent."""
        await _run_in_group([self._work] * min(self._runtime.workers, self._job.total))
        if self._stops:
            raise self._stops[0]

    async def _work(self) -> None:
        while (next_row := await self._take()) is not None:
            try:
                await self._make(*next_row)
            finally:
                async with self._landed:
                    self._in_flight -= 1
                    self._landed.notify_all()

    async def _take(self) -> tuple[int, Row] | None:
        """Wait until the next source row is needed and return it; None if no more are needed."""
        async with self._landed:
            while self._must_wait():
                await self._landed.wait()
            if self._is_over() or not self._needs_more_rows():
                return None
            next_row, self._next = self._next, next(self._places, None)
            self._in_flight += next_row is not None
            return next_row

    def _must_wait(self) -> bool:
        """Whether it depends on rows in flight if another row is needed."""
        return self._in_flight > 0 and not self._is_over() and not self._needs_more_rows()

    def _needs_more_rows(self) -> bool:
        """Whether the next source row is needed, judging by the rows so far."""
        if self._job.wanted is None or self._next is None or self._next[0] < self._known_places:
            return True
        return self._estimate_row_count() < self._job.wanted and not self._has_run_dry(
            self._next[0]
        )

    def _has_run_dry(self, place: int) -> bool:
        """Whether a whole pass over the source yielded no row."""
        patience = self._job.source.total + (self._runtime.workers if self._last_yield >= 0 else 0)
        return place - self._last_yield > patience

    def _is_over(self) -> bool:
        n_done = self._checkpoint.n_done
        is_futile = len(self._failures) >= _MAX_FUTILE and n_done == self._done_before
        return bool(self._stops) or is_futile

    def _estimate_row_count(self) -> float:
        """Estimate the number of rows after rows in flight and retries have finished."""
        n_done, n_rows = self._checkpoint.n_done, self._checkpoint.n_rows
        if not n_done and not self._failures:
            return math.inf if self._in_flight else 0
        average = n_rows / n_done if n_done else 1
        return n_rows + (self._in_flight + len(self._failures)) * average

    async def _make(self, place: int, row: Row) -> None:
        job, checkpoint = self._job, self._checkpoint
        synthesis = RowSynthesis(place, job.synthesizers, self._runtime, checkpoint)
        made_rows = None
        try:
            made_rows = await synthesis.make_rows(row)
        except StageError as error:
            clean = self._runtime.redactor.clean  # a snippet's exception may contain secrets
            error.args, error.hint = (clean(str(error)),), clean(error.hint)
            self._failures[place] = error
        except Stopped as reason:  # not caused by the row; rows in flight are finished
            self._stops.append(reason)
            return
        remaining = job.total - job.count_done(checkpoint)
        checkpoint.append(
            CheckpointRecord(place=place, rows=made_rows, usage=synthesis.unrecorded_usage)
        )
        if made_rows:
            self._last_yield = max(self._last_yield, place)
        outcome = _build_outcome(job.dataset, place, synthesis.usage, self._failures.get(place))
        is_counted = job.wanted is None or made_rows is None
        others = 0 if is_counted else max(0, min(len(made_rows or ()), remaining) - 1)
        more = [_build_outcome(job.dataset, place, {}, None)] * others
        self._progress.on_commit([outcome, *more])


class RowSynthesis:
    """Generates the rows for one row of the data source."""

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
        """Usage per model for all steps."""
        self.unrecorded_usage: dict[str, Usage] = {}
        """The part of the usage that is not in the checkpoint yet."""

    async def make_rows(self, row: Row) -> list[Row]:
        """Return the rows generated from `row`; `StageError` if a step fails."""
        rows = [row]
        for step, synthesizer in enumerate(self._synthesizers):
            several = self._model_steps > 1 or len(rows) > 1
            apply = partial(self._apply, step, records=bool(synthesizer.model_keys) and several)
            calls = [partial(apply, number, part) for number, part in enumerate(rows)]
            rows = _flatten_rows(await _call_all(calls, self._runtime.workers))
        with boundary("dataset"):
            return clean_rows(rows, self._runtime.redactor)

    async def _apply(self, step: int, number: int, row: Row, *, records: bool) -> list[Row]:
        """Apply a synthesizer to a row; with `records`, reuse and record the result."""
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
    """Apply a synthesizer to rows from the same source row, in turn."""
    return _flatten_rows(
        [
            await synthesizer.synthesize(_set_row(case, number, row))
            for number, row in enumerate(rows)
        ]
    )


def clean_rows(rows: Sequence[Row], redactor: Redactor) -> list[Row]:
    """Redact the rows; ValueError if a row cannot be written as JSON."""
    return [to_json_row(redact(row, redactor)) for row in rows]


def _flatten_rows(row_lists: Sequence[list[Row]]) -> list[Row]:
    """Join the lists; if one row yields several rows, give each its own id."""
    return [row for rows in row_lists for row in (number_ids(rows) if len(rows) > 1 else rows)]


def _set_row(case: Case, number: int, row: Row) -> Case:
    """Return the case for one of several rows from a source row, with its own trial number."""
    return msgspec.structs.replace(
        case,
        sample=Sample(case.sample.id, row),
        trial=case.trial + min(number, MAX_PARTS - 1) * MAX_ATTEMPTS,
    )


def _digest_row(row: Row) -> str:
    return blake2b(json.dumps(row, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


async def _call_all(calls: Sequence[_Call], concurrency: int) -> list[list[Row]]:
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
    if stops or failures:  # an exhausted budget takes precedence: the row did not cause it
        raise [*stops, *failures][0]
    return results


async def _run_in_group(tasks: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            for task in tasks:
                group.create_task(task())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _build_outcome(
    dataset: str, place: int, usage: Mapping[str, Usage], error: StageError | None
) -> Outcome:
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
    if not failures:
        return BadDataset(
            f"dataset `{job.dataset}`: only {job.count_done(checkpoint):,} of {job.total:,} rows "
            "could be generated: another pass over the data source yields no rows",
            hint="request fewer rows with `num_samples`",
        )
    listed = sorted(failures)[:_MAX_SHOWN]
    reasons = "; ".join(f"row {place}: {failures[place]}" for place in listed)
    more = f"; and {len(failures) - len(listed)} more" if len(failures) > len(listed) else ""
    n_done, total = job.count_done(checkpoint), job.total
    untried = total - n_done - len(failures) if job.wanted is None else 0
    not_tried = f"; {untried:,} were not tried" if untried else ""
    hint = next((failures[place].hint for place in listed if failures[place].hint), "")
    resume = "finished rows are kept: run the command again to generate the others"
    return BadDataset(
        f"dataset `{job.dataset}`: {n_done:,} of {total:,} rows were generated, {len(failures):,} "
        f"failed: {reasons}{more}{not_tried}",
        hint=f"{hint}; {resume}" if hint else resume,
    )
