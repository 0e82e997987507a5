"""Results of tasks as rows: of earlier runs, and of earlier tasks of the current run.

Rows that are results of several models or trials on the same samples depend on each other. Taken as
independent they would look too certain, so nothing computed from them has an interval.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from evalwright.datasets.reading import LazyRows
from evalwright.datasets.task_result import COLUMNS
from evalwright.errors import BadDataset
from evalwright.nearest import suggest
from evalwright.objects import SolverTrace
from evalwright.plan.manifest import read_manifest, read_manifest_if_readable
from evalwright.plan.outline import TaskOutline
from evalwright.plan.plan import CurrentRun
from evalwright.ports import Store
from evalwright.types import Outcome, Run, without_self_report

ENDED = frozenset({"finished", "finished_with_failures"})
"""Statuses of runs whose results are complete."""


def result_of(key: str, *, store: Store, current_run: CurrentRun | None = None) -> LazyRows:
    """The result of a task specification in the newest ended run that has it.

    With `current_run`, that is the run about to start, which has no result yet.
    """

    def rows() -> Iterator[dict[str, Any]]:
        source = (current_run and current_run.store) or store
        run = (
            newest_run_with(key, source, current_run.run_id)
            if current_run
            else ended_run_with(key, source)
        )
        task = _task_of(run, key) if run else None
        if run is None or task is None:
            return
        for model in task.models:
            prefix = f"{model}/" if len(task.models) > 1 else ""
            for outcome in source.outcomes(run.id, task=key, model=model):
                suffix = f"#{outcome.trial + 1}" if task.tries > 1 else ""
                yield _result_row(outcome, f"{prefix}{outcome.sample_id}{suffix}")

    digest = f"the result of {key}" if current_run else ""
    return LazyRows(rows, header=COLUMNS, digest=digest)


def ended_run_with(key: str, store: Store) -> Run:
    """Return the newest ended run with a task specification; `BadDataset` if there is none."""
    newest = newest_run_with(key, store)
    if newest is None:
        raise _unknown_result(key, store)
    run = newest if newest.status in ENDED else newest_run_with(key, store, statuses=ENDED)
    if run is None:
        imported = read_manifest(newest).imported is not None
        raise BadDataset(
            f"the result of `{key}` is not complete: run {newest.id} is {newest.status}",
            hint="it was imported from a log of a run that did not finish"
            if imported
            else "resume that run with the command that started it",
        )
    return run


def newest_run_with(
    key: str, store: Store, run_id: str = "", *, statuses: Collection[str] = ()
) -> Run | None:
    """Return the newest run with a task of this name, or the run with that id if it has one.

    With `statuses`, only runs with one of them.
    """
    for run in store.runs():
        wanted = run_id in {"", run.id} and (not statuses or run.status in statuses)
        if wanted and _task_of(run, key) is not None:
            return run
    return None


def result_note(key: str, store: Store) -> str:
    """Return a note for the report: which run's result the rows come from."""
    run = ended_run_with(key, store)
    rows = [row for row in store.rows(run.id) if row.task == key]
    failed = sum(row.failure_type is not None for row in rows)
    part = f"; {failed:,} of its {len(rows):,} samples failed" if failed else ""
    newest = newest_run_with(key, store)
    later = "" if newest is None or newest.id == run.id else f", as {newest.id} is {newest.status}"
    return f"the result of `{key}` is read from run {run.id}{later}{part}"


def dependent_tasks(
    waves: Sequence[Sequence[TaskOutline]], sources: Mapping[str, Sequence[str]], store: Store
) -> frozenset[str]:
    """Return the tasks that read results of several models or trials on the same samples.

    `sources` has, per task, the tasks whose results it reads.
    """
    planned = {task.name: task for wave in waves for task in wave}
    dependent: set[str] = set()
    for wave in waves:
        for task in wave:
            for key in sources.get(task.name, ()):
                source = planned.get(key)
                if (
                    _has_several_rows(source) or key in dependent
                    if source
                    else _was_dependent(key, store)
                ):
                    dependent.add(task.name)
    return frozenset(dependent)


def _has_several_rows(task: TaskOutline) -> bool:
    return len(task.models) * task.tries > 1


def _was_dependent(key: str, store: Store) -> bool:
    """Whether the newest ended run with this result has several rows per sample."""
    run = newest_run_with(key, store, statuses=ENDED)
    task = _task_of(run, key) if run else None
    if run is None or task is None:
        return False
    return key in read_manifest(run).dependent_tasks or _has_several_rows(task)


def _task_of(run: Run, key: str) -> TaskOutline | None:
    manifest = read_manifest_if_readable(run)
    return manifest.plan.task(key) if manifest else None


def _unknown_result(key: str, store: Store) -> BadDataset:
    manifests = filter(None, map(read_manifest_if_readable, store.runs()))
    known = [task.name for manifest in manifests for task in manifest.plan.tasks]
    return BadDataset(
        f"no task specification of this run or an earlier one has the key `{key}`",
        hint=suggest(key, list(dict.fromkeys(known))),
    )


def _result_row(outcome: Outcome, id_: str) -> dict[str, Any]:
    failure = outcome.failure
    return {
        "sample": outcome.sample,
        "sample_id": id_,
        "solver_output": _solver_output(outcome.trace.conversation) if outcome.trace else None,
        "scores": {
            name: {"values": score.values, "metadata": score.metadata}
            for name, score in without_self_report(outcome.scores).items()
        },
        "errors": [{"stage": failure.stage, "error_type": failure.type, "message": failure.message}]
        if failure
        else [],
    }


def _solver_output(conversation: dict[str, Any]) -> dict[str, Any]:
    """Return a conversation as plain data: the documented field is `output.trace.items`.

    The last output of the model and the fields of the older format are included.
    """
    solved = SolverTrace.from_json(conversation)
    messages = [
        {"role": message.role, "content": str(message.content)} for message in solved.messages
    ]
    outputs = conversation.get("raw_outputs") or []
    trace = {name: value for name, value in conversation.items() if name not in _NOT_OF_A_TRACE}
    last = outputs[-1] if outputs and isinstance(outputs[-1], dict) else {}
    output = {
        **last,
        "trace": trace,
        "raw_outputs": outputs,
        "direct_ios": conversation.get("direct_ios") or [],
    }
    return {**conversation, "trace": trace, "messages": messages, "output": output}


_NOT_OF_A_TRACE = frozenset({"raw_outputs", "direct_ios", "solver_outputs"})
