"""Make rows: the rows of a data source, through synthesizers, with the engine's models.

Each row that lands is kept at once, in its part file; a row that fails is named at the end, and
costs no other. What is there already, of an earlier attempt, is not made again. Where several
things are asked for one row of the source, each answer is kept by itself: one that is no use, or
the end of the process, does not lose the others.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from evalwright.clients.placeholder import Placeholder
from evalwright.datasets.generating.base import Row, SynthesizerSpec
from evalwright.datasets.generating.kept import (
    Landed,
    Part,
    part_of,
    part_path,
    writable,
    write_whole,
)
from evalwright.datasets.generating.sources import ID, Taken, numbered
from evalwright.datasets.rows import identified
from evalwright.engine.clean import cleaned_value
from evalwright.engine.models.around import Around
from evalwright.engine.tally import Tally, merge, total
from evalwright.errors import BadDataset, EvalwrightError, StageError, Stopped, boundary
from evalwright.ports import Case
from evalwright.types import NOTHING, Completion, Failure, Outcome, Request, Sample, Trace, Usage

if TYPE_CHECKING:
    from evalwright.api.options import Watch
    from evalwright.engine.models.cap import Budget
    from evalwright.engine.models.count import Counters
    from evalwright.ports import Model, Snippets
    from evalwright.secrets import Redactor

_MOST_SHOWN = 3
_MOST_IN_VAIN = 25
"""Failures without a single row, after which nobody expects one any more."""
_PARTS, _ATTEMPTS = 10_000, 100
_Call = Callable[[], Awaitable[list[Row]]]


class Crew(Struct, frozen=True, kw_only=True):
    """Who makes rows."""

    models: "Mapping[str, Model]"
    """By the names that synthesizers call them."""
    called: Mapping[str, str]
    """What reports call each."""
    by_sample: frozenset[str]
    """Those that look at the sample."""
    snippets: "Snippets | None"
    redactor: "Redactor"
    counters: "Counters"
    budget: "Budget | None" = None
    workers: int = 1


class Work(Struct, frozen=True, kw_only=True):
    """What is to be made."""

    dataset: str
    taken: Taken
    synthesizers: Sequence[SynthesizerSpec]
    path: Path
    again: bool = False
    """Though the file is there."""


class Made(Struct, frozen=True, kw_only=True):
    """What was made."""

    rows: int
    usage: dict[str, Usage]
    """For all rows, earlier attempts included."""


async def make(work: Work, crew: Crew, watch: "Watch") -> Made | None:
    """All rows, in a file; `BadDataset` if one cannot be made, and then no file.

    None if another process has made them, just now.
    """
    with part_of(work.path) as part:
        if work.path.is_file() and not work.again:
            return None
        if work.again and part.done >= work.taken.total:  # left of the last time
            part.clear()
        if crew.budget is not None:
            crew.budget.add(total([NOTHING, *_sum(part.spent).values()]))
        failed: dict[int, StageError] = {}
        if part.done < work.taken.total:
            watch.begin(work.taken.total, part.done, crew.counters)
            try:
                await _work_off(work, crew, part, watch, failed)
            finally:
                watch.end(interrupted=False)
        if part.done < work.taken.total:
            raise _unmade(work, part, failed)
        rows = write_whole(work.path, _told_apart(work, part))
        if not rows:
            raise BadDataset(f"dataset `{work.dataset}`: the synthesizers make no rows of any")
        part_path(work.path).unlink(missing_ok=True)
        return Made(rows=rows, usage=_sum(part.spent))


def _told_apart(work: Work, part: Part) -> Iterator[bytes]:
    """The lines of the file; `BadDataset` if no task could read it."""
    encode = msgspec.json.Encoder().encode
    try:
        for _, row in identified(part.rows, name=f"dataset `{work.dataset}`"):
            yield encode(row)
    except BadDataset as error:
        own = error.hint or "let the synthesizers give each row a `sample_id` of its own"
        anew = f"`evalwright dataset generate {work.dataset} --again` makes the rows anew"
        raise BadDataset(f"{error}{_twice(part)}", hint=f"{own}; {anew}") from error


def _twice(part: Part) -> str:
    """Which rows have the same id, if any have."""
    first: dict[str, int] = {}
    for place, row in part.placed():
        if row.get(ID) is not None:
            before = first.setdefault(str(row[ID]), place)
            if before != place:
                return f": they were made of the rows {before} and {place} of the data source"
    return ""


async def _work_off(
    work: Work, crew: Crew, part: Part, watch: "Watch", failed: dict[int, StageError]
) -> None:
    todo = ((place, row) for place, row in enumerate(work.taken.rows()) if not part.has(place))
    made, stopped = part.done, list[Stopped]()

    async def one_after_another() -> None:
        for place, row in todo:  # shared: each worker takes the next row nobody has taken
            if stopped or (len(failed) >= _MOST_IN_VAIN and part.done == made):
                return
            making, rows = Making(place, work.synthesizers, crew, part), None
            try:
                rows = await making.of(row)
            except StageError as error:
                failed[place] = error
            except Stopped as reason:  # no fault of the row; others under way are let end
                stopped.append(reason)
                return
            part.add(Landed(place=place, rows=rows, usage=making.owed))
            watch.committed([_outcome(work.dataset, place, making.spent, failed.get(place))])

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(crew.workers, work.taken.total)):
                group.create_task(one_after_another())
    except ExceptionGroup as broken:  # one cause; the other workers were only told to stop
        raise broken.exceptions[0] from None
    if stopped:
        raise stopped[0]


class Making:
    """One row of the source, on its way."""

    def __init__(
        self, place: int, synthesizers: Sequence[SynthesizerSpec], crew: Crew, part: Part
    ) -> None:
        self._place, self._synthesizers = place, synthesizers
        self._crew, self._part = crew, part
        self._asking = sum(bool(one.model_keys) for one in synthesizers)
        self.spent: dict[str, Usage] = {}
        """What models took."""
        self.owed: dict[str, Usage] = {}
        """The part of it that stands in no line yet."""

    async def of(self, row: Row) -> list[Row]:
        """The rows that come of it; `StageError` if they cannot be made."""
        rows = [row]
        for step, one in enumerate(self._synthesizers):
            several = self._asking > 1 or len(rows) > 1
            take = self._kept if one.model_keys and several else self._asked
            calls = [partial(take, step, number, each) for number, each in enumerate(rows)]
            rows = joined(await _each(calls, self._crew.workers))
        with boundary("dataset"):
            return self._writable(rows)

    async def _asked(self, step: int, number: int, row: Row) -> list[Row]:
        """What a synthesizer makes of a row."""
        tally = Tally()
        try:
            return await self._made(step, number, row, tally)
        finally:
            merge(self.owed, tally.usage)

    async def _kept(self, step: int, number: int, row: Row) -> list[Row]:
        """The same, asked once: an answer stands in the part file, before its row is done."""
        name = f"{step}.{number}.{_digest(row)}"
        found = self._part.made(self._place, name)
        if found is not None:
            return found
        tally = Tally()
        try:
            found = await self._made(step, number, row, tally)
            with boundary("dataset"):
                found = self._writable(found)
        except StageError:
            merge(self.owed, tally.usage)
            raise
        self._part.add(Landed(place=self._place, rows=found, usage=tally.usage, step=name))
        return found

    async def _made(self, step: int, number: int, row: Row, tally: Tally) -> list[Row]:
        case = case_of(self._place, self._part.attempts.get(self._place, 0), self._crew, tally)
        try:
            with boundary("dataset"):
                return await self._synthesizers[step].synthesize(seeing(case, number, row))
        finally:
            merge(self.spent, tally.usage)

    def _writable(self, rows: Sequence[Row]) -> list[Row]:
        return [writable(cleaned_value(each, self._crew.redactor)) for each in rows]


def _digest(row: Row) -> str:
    return blake2b(json.dumps(row, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()


async def _each(calls: Sequence[_Call], most: int) -> list[list[Row]]:
    """What each gives, so many at once; if one breaks, the others are done all the same."""
    if len(calls) == 1:
        return [await calls[0]()]
    gate, made = asyncio.Semaphore(most), list[list[Row]]([[] for _ in calls])
    broken: list[StageError] = []
    stopped: list[Stopped] = []

    async def one(number: int, call: _Call) -> None:
        async with gate:
            if stopped or len(broken) >= _MOST_IN_VAIN:
                return
            try:
                made[number] = await call()
            except StageError as error:
                broken.append(error)
            except Stopped as reason:
                stopped.append(reason)

    try:
        async with asyncio.TaskGroup() as group:
            for number, call in enumerate(calls):
                group.create_task(one(number, call))
    except ExceptionGroup as group_of:  # one cause; the others were only told to stop
        raise group_of.exceptions[0] from None
    if stopped or broken:  # the end of a budget is no fault of the row
        raise [*stopped, *broken][0]
    return made


async def step(synthesizer: SynthesizerSpec, rows: Sequence[Row], case: Case) -> list[Row]:
    """What one synthesizer makes of all rows that came of one, one after another."""
    return joined(
        [await synthesizer.synthesize(seeing(case, number, row)) for number, row in enumerate(rows)]
    )


def joined(found: Sequence[list[Row]]) -> list[Row]:
    """All rows; those that came of one are told apart."""
    return [row for each in found for row in (numbered(each) if len(each) > 1 else each)]


def seeing(case: Case, number: int, row: Row) -> Case:
    """For one of the rows that came of one. The trial is its own, too."""
    return msgspec.structs.replace(
        case,
        sample=Sample(case.sample.id, row),
        trial=case.trial + min(number, _PARTS - 1) * _ATTEMPTS,
    )


def case_of(place: int, attempts: int, crew: Crew, tally: Tally) -> Case:
    """What a synthesizer may use. The trial is the row's own: a cache is asked about this one."""
    models = {
        name: tally.around(_Alone(model) if name in crew.by_sample else model, crew.called[name])
        for name, model in crew.models.items()
    }
    return Case(
        sample=Sample(str(place), {}),
        model=Placeholder(),
        models=models,
        snippets=crew.snippets,
        trial=place * _PARTS * _ATTEMPTS + min(attempts, _ATTEMPTS - 1),
    )


class _Alone(Around):
    """For a model that tells rows apart by the sample, and not by the trial."""

    async def complete(self, request: Request) -> Completion:
        """As the first trial."""
        return await self._ask(msgspec.structs.replace(request, trial=0))


def _outcome(
    dataset: str, place: int, spent: Mapping[str, Usage], error: StageError | None
) -> Outcome:
    """For those who watch."""
    failure = None
    if error is not None:
        failure = Failure(stage=error.stage, type=error.type, message=str(error), hint=error.hint)
    taken = total([NOTHING, *spent.values()])
    trace = Trace(input="", output="", post_processed="", usage=taken)
    id_ = str(place)
    return Outcome(
        task=dataset, model="", sample_id=id_, ordinal=place, trace=trace, failure=failure
    )


def _sum(usages: Sequence[Mapping[str, Usage]]) -> dict[str, Usage]:
    whole: dict[str, Usage] = {}
    for one in usages:
        merge(whole, one)
    return whole


def _unmade(work: Work, part: Part, failed: Mapping[int, StageError]) -> EvalwrightError:
    """How many could be made, and why the others could not."""
    some = sorted(failed)[:_MOST_SHOWN]
    why = "; ".join(f"row {place}: {failed[place]}" for place in some)
    more = f"; and {len(failed) - len(some)} more" if len(failed) > len(some) else ""
    left = work.taken.total - part.done - len(failed)
    untried = f"; {left:,} were not tried" if left else ""
    hint = next((failed[place].hint for place in some if failed[place].hint), "")
    kept = "what is made is kept: run again, and only the others are made"
    return BadDataset(
        f"dataset `{work.dataset}`: {part.done:,} of {work.taken.total:,} rows could be made, "
        f"{len(failed):,} failed: {why}{more}{untried}",
        hint=f"{hint}; {kept}" if hint else kept,
    )
