"""Make the rows of one file: the rows of a data source, through the synthesizers.

    quiz-3f2a….jsonl         all rows, in order; exists only when all are made
    quiz-3f2a….jsonl.part    the checkpoint: one line per finished row of the data source, written
                             as it finishes, and one line per reply, where a row takes several

Holds:      a finished row, or reply, survives the death of the process and is not made again; a
            failed row does not stop the others, and is named at the end; a last line that was cut
            is dropped; two processes never make the same rows at once.
Does not:   record a failed row as done: it is tried again. Its attempts are counted, so that a
            cached reply that was unusable is not used again.
"""

import asyncio
import fcntl
import json
import math
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import ENOSPC
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from evalwright.datasets.reading import open_atomically
from evalwright.datasets.rows import identify_rows
from evalwright.datasets.synthesizers.data_sources import ID_COLUMN, SourceRows, number_ids
from evalwright.datasets.synthesizers.synthesizer import Row, SynthesizerSpec
from evalwright.engine.redact import redact
from evalwright.engine.usage import UsageCounter, add_usage
from evalwright.errors import BadDataset, EvalwrightError, StageError, Stopped, boundary
from evalwright.generation.resources import MAX_ATTEMPTS, MAX_PARTS, GeneratorRuntime
from evalwright.ports import Case
from evalwright.secrets import Redactor
from evalwright.session.progress import Progress
from evalwright.types import NOTHING, Failure, Outcome, Sample, Trace, Usage

_SYNC_EVERY = 64
_MAX_SHOWN = 3
_MAX_FUTILE = 25
"""Failures without a single success, after which no more rows are tried."""
_Call = Callable[[], Awaitable[list[Row]]]


class CheckpointRecord(Struct, frozen=True, omit_defaults=True):
    """A line of the checkpoint: the rows made from one row of the data source."""

    place: int
    rows: list[dict[str, Any]] | None = None
    """None for a failure."""
    usage: dict[str, Usage] = {}
    """Per model, failed or not."""
    step: str = ""
    """For an intermediate reply: which synthesizer made these rows, and from which row."""


class Checkpoint:
    """The rows of the data source that are finished so far."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._offsets: dict[int, int] = {}
        self._steps: dict[int, dict[str, int]] = {}
        """Intermediate replies of rows that are not finished."""
        self.attempts: dict[int, int] = {}
        """How often each row has failed."""
        self.usages: list[dict[str, Usage]] = []
        self._unsynced = 0
        self._load()

    @property
    def n_done(self) -> int:
        """The number of finished rows of the data source."""
        return len(self._offsets)

    def is_done(self, place: int) -> bool:
        """Tell whether a row of the data source is finished."""
        return place in self._offsets

    def find_step(self, place: int, step: str) -> list[dict[str, Any]] | None:
        """Return the rows of an intermediate step; None if it was not recorded."""
        offset = self._steps.get(place, {}).get(step)
        if offset is None:
            return None
        with self._path.open("rb") as reader:
            reader.seek(offset)
            return msgspec.json.decode(reader.readline(), type=CheckpointRecord).rows

    def append(self, record: CheckpointRecord) -> None:
        """Write a record; `EvalwrightError` if the disk does not take it."""
        offset = self._file.seek(0, os.SEEK_END)
        line = msgspec.json.encode(record) + b"\n"
        try:
            if self._file.write(line) < len(line):
                raise OSError(ENOSPC, os.strerror(ENOSPC))  # noqa: TRY301 - a full disk
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                os.fsync(self._file.fileno())
                self._unsynced = 0
        except OSError as error:
            self._truncate(offset)
            raise _write_error(self._path, error) from error
        self._index(record, offset)

    def clear(self) -> None:
        """Remove all records."""
        self._truncate(0)
        self._offsets.clear()
        self._steps.clear()
        self.attempts.clear()
        self.usages.clear()

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row with the place of the row of the data source that it was made from."""
        with self._path.open("rb") as reader:  # a new reader: the file may have been truncated
            for place in sorted(self._offsets):
                reader.seek(self._offsets[place])
                record = msgspec.json.decode(reader.readline(), type=CheckpointRecord)
                yield from ((place, row) for row in record.rows or ())

    def _load(self) -> None:
        offset = 0
        with self._path.open("rb") as reader:
            for line in reader:
                try:
                    record = msgspec.json.decode(line, type=CheckpointRecord)
                except msgspec.MsgspecError:
                    break
                if not line.endswith(b"\n"):
                    break
                self._index(record, offset)
                offset += len(line)
        self._truncate(offset)  # drop a line that was cut

    def _index(self, record: CheckpointRecord, offset: int) -> None:
        self.usages.append(record.usage)
        if record.step:
            self._steps.setdefault(record.place, {})[record.step] = offset
        elif record.rows is None:
            self.attempts[record.place] = self.attempts.get(record.place, 0) + 1
        else:
            self._offsets[record.place] = offset
            self._steps.pop(record.place, None)

    def _truncate(self, offset: int) -> None:
        os.ftruncate(self._file.fileno(), offset)


def to_json_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row without NaN columns; ValueError if it is not JSON."""
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
        raise ValueError("a text of the row contains a lone surrogate") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the row cannot be written as JSON: {error}") from error
    return columns


@contextmanager
def open_checkpoint(path: Path) -> Iterator[Checkpoint]:
    """Open and lock the checkpoint of `path`; `EvalwrightError` if another process has it."""
    checkpoint_file = checkpoint_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = checkpoint_file.open("ab", buffering=0)
    except OSError as error:
        raise _write_error(checkpoint_file, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise EvalwrightError(
                f"{path}: another process is generating these rows",
                hint="wait for it, then run again",
            ) from error
        yield Checkpoint(checkpoint_file, file)


def checkpoint_path(path: Path) -> Path:
    """Return the path of the checkpoint of a file of rows."""
    return path.with_name(f"{path.name}.part")


def write_lines(path: Path, lines: Iterator[bytes]) -> int:
    """Write a file that exists only when it is complete; return its number of lines."""
    count = 0
    try:
        with open_atomically(path) as file:
            for count, line in enumerate(lines, start=1):  # noqa: B007 - returned
                file.write(line + b"\n")
    except OSError as error:
        raise _write_error(path, error) from error
    return count


def _write_error(path: Path, error: OSError) -> EvalwrightError:
    reason = error.strerror or str(error)
    return EvalwrightError(
        f"{path}: cannot be written: {reason}",
        hint="finished rows are kept: free some space, and run again",
    )


class GenerationJob(Struct, frozen=True, kw_only=True):
    """One file to generate."""

    dataset: str
    source: SourceRows
    synthesizers: Sequence[SynthesizerSpec]
    path: Path
    again: bool = False
    """Generate it even if it exists."""


async def generate_file(
    job: GenerationJob, runtime: GeneratorRuntime, progress: Progress
) -> tuple[int, dict[str, Usage]] | None:
    """Make all rows and write the file; `BadDataset`, and no file, if a row cannot be made.

    Return the number of rows and the usage per model, earlier attempts included; None if another
    process has just generated it.
    """
    with open_checkpoint(job.path) as checkpoint:
        if job.path.is_file() and not job.again:
            return None
        if job.again and checkpoint.n_done >= job.source.total:  # left over from the last time
            checkpoint.clear()
        if runtime.budget is not None:
            runtime.budget.add(sum(_sum_usage(checkpoint.usages).values(), NOTHING))
        failures: dict[int, StageError] = {}
        if checkpoint.n_done < job.source.total:
            progress.begin(job.source.total, checkpoint.n_done, runtime.counters)
            try:
                await _make_missing_rows(job, runtime, checkpoint, progress, failures)
            finally:
                progress.end(interrupted=False)
        if checkpoint.n_done < job.source.total:
            raise _incomplete_error(job, checkpoint, failures)
        rows = write_lines(job.path, _encode_rows(job, checkpoint))
        checkpoint_path(job.path).unlink(missing_ok=True)
        return rows, _sum_usage(checkpoint.usages)


def _encode_rows(job: GenerationJob, checkpoint: Checkpoint) -> Iterator[bytes]:
    """Yield the lines of the file; `BadDataset` if there are none, or their ids are not unique."""
    encode = msgspec.json.Encoder().encode
    if next(checkpoint.rows(), None) is None:
        raise BadDataset(f"dataset `{job.dataset}`: the synthesizers returned no rows")

    def read_rows() -> Iterator[Row]:
        return (row for _, row in checkpoint.rows())

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
                return f": they come from the rows {first} and {place} of the data source"
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
    done_before, stops = checkpoint.n_done, list[Stopped]()

    async def work() -> None:
        for place, row in todo:  # shared: each worker takes the next row nobody has taken
            if stops or (len(failures) >= _MAX_FUTILE and checkpoint.n_done == done_before):
                return
            synthesis, made_rows = RowSynthesis(place, job.synthesizers, runtime, checkpoint), None
            try:
                made_rows = await synthesis.make_rows(row)
            except StageError as error:
                failures[place] = error
            except Stopped as reason:  # not the row's fault; rows in flight are finished
                stops.append(reason)
                return
            checkpoint.append(
                CheckpointRecord(place=place, rows=made_rows, usage=synthesis.unrecorded_usage)
            )
            progress.on_commit(
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
    return [to_json_row(redact(row, redactor)) for row in rows]


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
    shown = sorted(failures)[:_MAX_SHOWN]
    reasons = "; ".join(f"row {place}: {failures[place]}" for place in shown)
    more = f"; and {len(failures) - len(shown)} more" if len(failures) > len(shown) else ""
    done, total = checkpoint.n_done, job.source.total
    untried = total - done - len(failures)
    not_tried = f"; {untried:,} were not tried" if untried else ""
    hint = next((failures[place].hint for place in shown if failures[place].hint), "")
    resume = "finished rows are kept: run again to generate only the others"
    return BadDataset(
        f"dataset `{job.dataset}`: {done:,} of {total:,} rows were generated, {len(failures):,} "
        f"failed: {reasons}{more}{not_tried}",
        hint=f"{hint}; {resume}" if hint else resume,
    )
