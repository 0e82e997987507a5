"""A plan: what will be run, checked whole before the first model call.

A JSONL file is one task: its records are the samples, `record` is the solver and the scorer.
Planning reads every file once, to its end, and keeps only counts and issues; running reads it
again, a line at a time. So a file of a million records is a plan of a few hundred bytes.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, islice
from pathlib import Path

from msgspec import Struct, structs

from evalwright.errors import BadTasks, UsageError
from evalwright.lines import STDIN, read_batches
from evalwright.spec.records.check import check_batches, read_valid
from evalwright.types import Issue, Sample

_SHOWN = 5


class Job(Struct, frozen=True, kw_only=True):
    """One question for one model, once."""

    task: str
    model: str
    sample: Sample
    ordinal: int = 0
    """The place of the sample in its task, from 0."""
    trial: int = 0
    group: str = ""


class PlannedTask(Struct, frozen=True, kw_only=True):
    """One task file, and what checking it has shown."""

    name: str
    path: str
    records: int
    code_exec: int
    trials: int
    """All generations to draw from one model."""
    tries: tuple[tuple[int, int], ...] = ()
    """How many records in a row have how many generations each; empty where each has one."""
    digest: str = ""
    """Of the file's content."""
    issues: tuple[Issue, ...] = ()


class Plan(Struct, frozen=True, kw_only=True):
    """Every task with every model."""

    tasks: tuple[PlannedTask, ...]
    models: tuple[str, ...]
    limit: int | None = None
    samples: int | None = None
    """Generations to draw for each record; without it, as many as the record says."""

    @property
    def needs_sandbox(self) -> bool:
        """Whether any record has to run code."""
        return any(task.code_exec for task in self.tasks)

    @property
    def noun(self) -> str:
        """What a job is."""
        return "samples"

    @property
    def total(self) -> int:
        """How many jobs there are."""
        return sum(task.trials for task in self.tasks) * len(self.models)

    def jobs(self) -> Iterator[Job]:
        """Record by record, so that what is done early is comparable across models."""
        for task in self.tasks:
            bad = frozenset(issue.line for issue in task.issues)
            records = islice(read_valid(task.path, bad=bad), self.limit)
            for ordinal, record in enumerate(records):
                sample = Sample(record.task_id, record)
                for trial in range(self.samples or record.samples):
                    for model in self.models:
                        yield Job(
                            task=task.name,
                            model=model,
                            sample=sample,
                            ordinal=ordinal,
                            trial=trial,
                            group=record.category,
                        )


def make_plan(
    paths: Sequence[str],
    models: Sequence[str],
    *,
    limit: int | None = None,
    samples: int | None = None,
    allow_bad_tasks: bool = False,
) -> Plan:
    """Check every file; refuse while there is any error, unless told to run the good ones.

    A file named twice is one task: twice the same record would look like two trials of it.
    """
    paths = list(dict.fromkeys(paths))
    if any(path == STDIN or Path(path).is_fifo() for path in paths):
        raise UsageError(
            "tasks are read twice, so `run` cannot take them from standard input or a pipe",
            hint="write them to a file first",
        )
    tasks = tuple(
        _planned(name, path, limit=limit, samples=samples)
        for name, path in zip(_names(paths), paths, strict=True)
    )
    if not allow_bad_tasks:
        _refuse_errors(tasks)
    if not sum(task.records for task in tasks):
        where = ", ".join(paths)
        raise UsageError(f"{where}: no tasks", hint="`evalwright validate` says what is in there")
    return Plan(tasks=tasks, models=tuple(models), limit=limit, samples=samples)


def _planned(name: str, path: str, *, limit: int | None, samples: int | None) -> PlannedTask:
    code_exec = 0
    tries = array("i")
    issues: list[Issue] = []
    content = blake2b(digest_size=16)
    for _, item in check_batches(_digested(read_batches(path), content)):
        if isinstance(item, Issue):
            issues.append(structs.replace(item, raw=""))
        elif limit is None or len(tries) < limit:
            tries.append(samples or item.samples)
            code_exec += item.category == "code_exec"
    return PlannedTask(
        name=name,
        path=path,
        records=len(tries),
        code_exec=code_exec,
        trials=sum(tries),
        tries=_runs(tries) if sum(tries) > len(tries) else (),
        digest=content.hexdigest(),
        issues=tuple(issues),
    )


def _runs(tries: Iterable[int]) -> tuple[tuple[int, int], ...]:
    return tuple((sum(1 for _ in same), count) for count, same in groupby(tries))


def _digested(batches: Iterable[list[bytes]], content: blake2b) -> Iterator[list[bytes]]:
    for batch in batches:
        content.update(b"\n".join(batch) + b"\n")
        yield batch


def _refuse_errors(tasks: Iterable[PlannedTask]) -> None:
    bad = [task for task in tasks if task.issues]
    if not bad:
        return
    count = sum(len(task.issues) for task in bad)
    places = [f"{task.path}:{issue.line} ({issue.rule})" for task in bad for issue in task.issues]
    shown = ", ".join(places[:_SHOWN])
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    raise BadTasks(
        f"{count} bad record{'s' if count > 1 else ''}, nothing was run: {shown}{more}",
        hint=f"`evalwright validate {bad[0].path}` explains each; "
        "`--allow-bad-tasks` runs the valid ones and lists the rest in the report",
    )


def _names(paths: Sequence[str]) -> list[str]:
    """File names without their suffixes; whole paths where two would be the same."""
    short = [Path(path).name.partition(".")[0] or path for path in paths]
    return [
        path if short.count(name) > 1 else name for name, path in zip(short, paths, strict=True)
    ]
