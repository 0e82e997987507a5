"""Tasks whose outcomes and metrics are read from a result log instead of being run.

The whole log is checked before the run starts, so that a run uses all of it or nothing. Its samples
become outcomes unchanged, and nothing is scored again. Information that the log lacks, such as
intervals, is computed from its samples if they give the same value.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from evalwright.engine.results import FinalResult
from evalwright.errors import BadLog, EvalwrightError
from evalwright.plan.keys import key_of
from evalwright.plan.outline import NO_MODEL, TaskOutline
from evalwright.plan.plan import StopSignal
from evalwright.report.judges import VERDICT_SCORES
from evalwright.result_logs.log_outcomes import read_task_facts
from evalwright.result_logs.read_log import ResultLog, read_log, text_field
from evalwright.types import Outcome

if TYPE_CHECKING:
    from evalwright.spec.documents.resolve.specifications import ResolvedSpec

_BATCH = 500
_MOST_NAMES = 3
_MOST_NOTES = 20
_JUDGE_SCORERS = (*VERDICT_SCORES, "rag_checker")


class LoggedTask(Struct, frozen=True, kw_only=True):
    """A task that is read from a log."""

    log: ResultLog
    outline: TaskOutline

    @property
    def specification(self) -> dict[str, Any]:
        """The specification in the log, with the keys of the task in this run."""
        keys = {"key": self.outline.name, "task_key": self.outline.task_key}
        return {**self.log.specification, **keys}

    @property
    def outcome_count(self) -> int:
        """Number of outcomes in the log."""
        return self.log.landed

    async def finalize(self, model: str, *, seed: int) -> FinalResult:
        """Return the result of the task from the log."""
        return await self.log.end(model, seed=seed)

    async def outcomes(self, stop: StopSignal) -> AsyncIterator[list[Outcome]]:
        """Yield all outcomes in batches. Between batches, the event loop can handle Ctrl-C."""
        for model in self.outline.models:
            outcomes = self.log.outcomes(self.outline.name, model)
            while not stop.is_stopping and (batch := list(islice(outcomes, _BATCH))):
                yield batch
                await asyncio.sleep(0)


def read_recorded_tasks(specs: "Sequence[ResolvedSpec]") -> dict[str, LoggedTask]:
    """Read the logs of specifications, by task key; raise one error for all bad logs."""
    tasks: dict[str, LoggedTask] = {}
    errors: list[str] = []
    for spec in specs:
        if spec.recording is None:
            continue
        try:
            tasks[spec.key] = make_recorded_task(
                read_log(spec.recording.file),
                name=spec.key,
                task_key=spec.task.key,
                display_name=spec.display_name,
                model=next(iter(spec.model_keys), None),
            )
        except EvalwrightError as error:
            errors.append(f"{spec.key}: {error.message}")
    if errors:
        raise BadLog(
            "; ".join(errors), hint="`task_result_log_path` must be the path of a result log"
        )
    return tasks


def make_recorded_task(
    log: ResultLog, *, name: str, task_key: str, display_name: str = "", model: str | None = None
) -> LoggedTask:
    """Plan the task of a log with this name."""
    specification = log.specification
    model = model or log.model or NO_MODEL
    values = specification.get("task_config")
    reads_rows = specification.get("dataset_keys") != {}
    outline = TaskOutline(
        name=name,
        task_key=task_key,
        display_name=display_name or text_field(specification, "display_name") or task_key,
        kind="model" if model else "dataset" if reads_rows else "system",
        models=(model,),
        records=log.samples,
        trials=max(1, log.trials // log.runs),
        repeats=log.runs,
        landed=log.landed if log.has_unequal_trials else 0,
        values=values if isinstance(values, dict) else {},
        digest=key_of("log", log.digest),
        finalized=True,
    )
    try:
        read_task_facts(specification)
    except msgspec.ValidationError as error:
        raise BadLog(f"{log.path}: {error} - at `$.specification.evalwright`") from error
    return LoggedTask(log=log, outline=outline)


def describe_recorded_tasks(tasks: Iterable[LoggedTask]) -> list[str]:
    """Return report notes about the tasks that were read from logs."""
    by_version: dict[str, list[LoggedTask]] = {}
    for task in tasks:
        by_version.setdefault(task.log.app_version, []).append(task)
    notes = [_origin_note(version, listed) for version, listed in by_version.items()]
    ordered = [task for listed in by_version.values() for task in listed]
    for task in ordered:
        notes += [f"`{task.outline.name}`: {note}" for note in task.log.notes]
        notes += [note for note in _notes_in_log(task.log) if note not in notes]
    judged = [name for task in ordered for name in _judge_scorers(task)]
    if judged:
        notes.append(
            f"the judges of {', '.join(judged)} are unknown, because logs do not describe them"
        )
    return notes


def _origin_note(version: str, tasks: list[LoggedTask]) -> str:
    names = ", ".join(f"`{task.outline.name}`" for task in tasks[:_MOST_NAMES])
    more = f" and {len(tasks) - _MOST_NAMES} more" if len(tasks) > _MOST_NAMES else ""
    were = "was not run: its result was" if len(tasks) == 1 else "were not run: their results were"
    logs = tasks[0].log.path if len(tasks) == 1 else f"{len(tasks)} logs"
    return f"{names}{more} {were} read from {logs}, written by {version}"


def _notes_in_log(log: ResultLog) -> list[str]:
    written = log.execution.get("notes")
    notes = [note for note in written if isinstance(note, str)] if isinstance(written, list) else []
    more = [f"and {len(notes) - _MOST_NOTES} more notes"] if len(notes) > _MOST_NOTES else []
    return [*notes[:_MOST_NOTES], *more]


def _judge_scorers(task: LoggedTask) -> list[str]:
    scorers = task.log.specification.get("scorers")
    return [
        f"`{task.outline.name}/{scorer.get('key')}`"
        for scorer in (scorers if isinstance(scorers, list) else ())
        if isinstance(scorer, dict) and scorer.get("type") in _JUDGE_SCORERS
    ]
