"""Compile files of task records (contract A) into a plan.

A JSONL file is one task: its records are the samples, `record` is the solver and the scorer.
Compiling reads every file once, to its end, and keeps only counts and issues; running reads it
again, line by line. So a file of a million records is a plan of a few hundred bytes.

The store of a run has no records. `StoredRecords` reads them from the files again. A file that has
changed since the run is not used: its records are not what was scored.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby, islice
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct, structs

from evalwright.errors import BadTasks, FileChanged, NoInput, UsageError
from evalwright.lines import STDIN, read_batches
from evalwright.metrics.terms import SampleTerms
from evalwright.plan.input_files import InputFile, identify_file, watch_files
from evalwright.plan.manifest import Manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.outline import MetricOutline, PrimaryMetric, TaskOutline
from evalwright.plan.plan import Plan, PlannedSample, TaskPlan, TaskRuntime
from evalwright.scorers.record import RecordScorer
from evalwright.scorers.self_report import SelfReport
from evalwright.solvers.record import RecordSolver
from evalwright.spec.records.check import check_batches, read_valid
from evalwright.types import Issue, Outcome, Sample, TaskSpec

SCORER = "record"
"""The name of a record's scorer in outcomes."""
PRIMARY = PrimaryMetric(scorer=SCORER, field="score", metric="mean")
METRICS = (MetricOutline(scorer=SCORER, metric="mean", terms=SampleTerms(fields=("score",))),)
_MAX_ISSUES_SHOWN = 5
_LOOK_S = 0.02
"""Seconds between two checks whether the file has changed."""


class RecordSamples(Struct, frozen=True, kw_only=True):
    """The valid records of one file, as samples."""

    path: str
    bad_lines: frozenset[int] = frozenset()
    limit: int | None = None
    trials: int | None = None
    """Trials per record. Default: the record's setting."""
    identity: tuple[int, ...] = ()
    """What `identify_file` returned when the file was checked; empty to accept any content."""

    def planned_samples(self) -> Iterator[PlannedSample]:
        """Yield the samples in the order of the file; `FileChanged` if it has changed since."""
        self._refuse_changes()
        seen = monotonic()
        last: PlannedSample | None = None
        for record in islice(read_valid(self.path, bad=self.bad_lines), self.limit):
            if (now := monotonic()) - seen > _LOOK_S:
                self._refuse_changes()
                seen = now
            if last is not None:
                yield last
            trials = self.trials or record.samples
            last = PlannedSample(Sample(record.task_id, record), trials, record.category)
        self._refuse_changes()
        if last is not None:  # after this one, the file may change
            yield last

    def _refuse_changes(self) -> None:
        current = identify_file(self.path)
        if self.identity and current and current != self.identity:
            raise FileChanged(
                f"{self.path}: the file changed while it was in use",
                hint="run again: samples whose record is unchanged are reused",
            )


def compile_records(paths: Sequence[str], models: Sequence[str], options: RunOptions) -> Plan:
    """Check every file; refuse if there is any error, unless the valid records should be run.

    A file named twice is one task: the same record twice would look like two trials of it.
    """
    paths = list(dict.fromkeys(paths))
    if not paths:
        raise NoInput("no task file was given")
    if any(path == STDIN or Path(path).is_fifo() for path in paths):
        raise UsageError(
            "task files are read twice, so `run` cannot read standard input or a pipe",
            hint="write them to a file first",
        )
    files = watch_files(paths)  # before their content is read
    outlines = [
        _check_file(name, path, tuple(models), options)
        for name, path in zip(name_tasks(paths), paths, strict=True)
    ]
    if not options.allow_bad_tasks:
        _refuse_bad_records(outlines)
    if not sum(outline.records for outline in outlines):
        where = ", ".join(paths)
        raise NoInput(f"{where}: no tasks", hint="`evalwright validate` shows what is wrong")
    runtime = _runtime(options)
    return Plan(
        tasks=tuple(
            _task_plan(outline, runtime, options, file)
            for outline, file in zip(outlines, files, strict=True)
        ),
        files=files,
        models=tuple(models),
        limit=options.limit,
        trials=options.trials,
        ranking="all_tasks",
        needs_sandbox=any(outline.code_exec for outline in outlines),
    )


def _runtime(options: RunOptions) -> TaskRuntime:
    asks_confidence = options.confidence == "self"
    return TaskRuntime(
        solver=RecordSolver(weighs=options.mcq == "loglikelihood"),
        scorers={
            SCORER: RecordScorer(),
            **({SelfReport.name: SelfReport()} if asks_confidence else {}),
        },
        counts_other_usage=asks_confidence,
    )


def _task_plan(
    outline: TaskOutline, runtime: TaskRuntime, options: RunOptions, file: InputFile
) -> TaskPlan:
    samples = RecordSamples(
        path=outline.path,
        bad_lines=frozenset(issue.line for issue in outline.issues),
        limit=options.limit,
        trials=options.trials,
        identity=file.identity,
    )
    return TaskPlan(outline=outline, samples=samples, runtime=runtime)


def _check_file(name: str, path: str, models: tuple[str, ...], options: RunOptions) -> TaskOutline:
    code_exec = 0
    trials = array("i")
    issues: list[Issue] = []
    content = blake2b(digest_size=16)
    for _, item in check_batches(digest_batches(read_batches(path), content)):
        if isinstance(item, Issue):
            issues.append(structs.replace(item, raw="", also=()))
        elif options.limit is None or len(trials) < options.limit:
            trials.append(options.trials or item.samples)
            code_exec += item.category == "code_exec"
    counts = tuple((sum(1 for _ in same), count) for count, same in groupby(trials))
    return TaskOutline(
        name=name,
        path=path,
        models=models,
        records=len(trials),
        trials=max((count for _, count in counts), default=1),
        trial_counts=counts if len(counts) > 1 else (),
        code_exec=code_exec,
        digest=content.hexdigest(),
        issues=tuple(issues),
        primary=PRIMARY,
        metrics=METRICS,
    )


def digest_batches(batches: Iterable[list[bytes]], content: blake2b) -> Iterator[list[bytes]]:
    """Yield batches of lines, and add each to the digest of the file."""
    for batch in batches:
        content.update(b"\n".join(batch) + b"\n")
        yield batch


def _refuse_bad_records(tasks: Iterable[TaskOutline]) -> None:
    bad = [task for task in tasks if task.issues]
    if not bad:
        return
    count = sum(len(task.issues) for task in bad)
    places = [f"{task.path}:{issue.line} ({issue.rule})" for task in bad for issue in task.issues]
    shown = ", ".join(places[:_MAX_ISSUES_SHOWN])
    more = f" and {count - _MAX_ISSUES_SHOWN} more" if count > _MAX_ISSUES_SHOWN else ""
    raise BadTasks(
        f"{count} invalid record{'s' if count > 1 else ''}; nothing was run: {shown}{more}",
        hint=f"`evalwright validate {bad[0].path}` explains each; `--allow-bad-tasks` runs the "
        "valid records and lists the others in the report",
    )


def name_tasks(paths: Sequence[str]) -> list[str]:
    """Return file names without suffixes; full paths if two would be equal."""
    short = [Path(path).name.partition(".")[0] or path for path in paths]
    return [
        path if short.count(name) > 1 else name for name, path in zip(short, paths, strict=True)
    ]


class StoredRecords:
    """The unchanged task files of a run."""

    def __init__(self, manifest: Manifest) -> None:
        self.changed: list[str] = []
        """The other files, as the command named them."""
        self._samples: dict[str, RecordSamples] = {}
        for task in manifest.plan.tasks:
            if task.path and task.digest and not task.finalized:
                path = Path(manifest.folder, task.path)
                if _has_same_content(path, task):
                    bad = frozenset(issue.line for issue in task.issues)
                    self._samples[task.name] = RecordSamples(path=str(path), bad_lines=bad)
                else:
                    self.changed.append(task.path)

    def attach(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """Yield each outcome, with its record as sample if the file is unchanged.

        Outcomes must be ordered by task and sample, so that a file is read once.
        """
        task, place = "", -1
        records: Iterator[TaskSpec] = iter(())
        sample: dict[str, Any] = {}
        for outcome in outcomes:
            if outcome.task not in self._samples:
                yield outcome
                continue
            if outcome.task != task or outcome.ordinal < place:
                task, place = outcome.task, -1
                planned = self._samples[task].planned_samples()
                records = (sample.sample.data for sample in planned)
            while place < outcome.ordinal:
                record, place = next(records, None), place + 1
                sample = msgspec.to_builtins(record) if record else {}
            yield structs.replace(outcome, sample=sample)


def _has_same_content(path: Path, task: TaskOutline) -> bool:
    content = blake2b(digest_size=16)
    try:
        for _ in digest_batches(read_batches(str(path)), content):
            pass
    except (OSError, ValueError, EOFError):
        return False
    return content.hexdigest() == task.digest
