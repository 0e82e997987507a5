"""A stored run, as `list` and `show` print it.

The manifest is printed whole, whatever is in it: a key that is added to it is shown without a
change here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.report.tables import align_rows, count_noun, visible
from evalwright.types import RunStatus

COLUMNS = ("run", "created (UTC)", "status", "tasks", "models", "done", "failed")
NUMERIC = frozenset({5, 6})
_NONE = "none"


class ListedRun(Struct, frozen=True, kw_only=True):
    """One line of `evalwright list`."""

    id: str
    created: str
    updated: str
    status: RunStatus
    parent: str | None
    """The run whose outputs this one has scored again."""
    tasks: list[str]
    models: list[str]
    done: int
    """Outcomes that are stored, failed ones among them."""
    total: int
    failed: int
    imported: bool = False
    """Whether its results were made elsewhere."""


class ShownRun(ListedRun, frozen=True, kw_only=True):
    """All that is known of a run beside its outcomes."""

    plan_key: str
    manifest: dict[str, Any]
    """`plan` in it is a `PlanOutline`."""


def list_cells(run: ListedRun) -> tuple[str, ...]:
    """Return a row under `COLUMNS`."""
    return (
        run.id,
        run.created.replace("T", " ").removesuffix("+00:00"),
        f"{run.status}, imported" if run.imported else run.status,
        visible(", ".join(run.tasks)),
        visible(", ".join(run.models)),
        f"{run.done}/{run.total}",
        str(run.failed),
    )


def run_lines(run: ShownRun) -> Iterator[str]:
    """Return one line per fact, its name first."""
    return align_rows(_facts(run))


def _facts(run: ShownRun) -> Iterator[tuple[str, str]]:
    yield "run", run.id
    yield "status", run.status
    yield "outcomes", f"{run.done} of {run.total}, {run.failed} failed"
    yield "created", run.created
    yield "updated", run.updated
    yield "parent", run.parent or _NONE
    yield "plan_key", run.plan_key
    for name, value in run.manifest.items():
        if name == "plan":
            yield from _plan_facts(msgspec.convert(value, PlanOutline))
        elif name in {"report", "results", "specifications"}:
            continue  # `evalwright report` prints it, `evalwright export --format logs` the rest
        else:
            yield from ((name, fact) for fact in _lines(value))


def _plan_facts(plan: PlanOutline) -> Iterator[tuple[str, str]]:
    for name, fact in (("evaluation", plan.evaluation), ("path", plan.path)):
        if fact:
            yield name, fact
    for task in plan.tasks:
        yield "task", _describe_file(task) if task.path else _describe_task(task)
    if any(task.path for task in plan.tasks):
        yield "limit", _NONE if plan.limit is None else str(plan.limit)
        yield "samples", _NONE if plan.trials is None else str(plan.trials)


def _describe_file(task: TaskOutline) -> str:
    """Describe a task that is a file of its own."""
    counts = [count_noun(task.records, "record")]
    if task.code_exec:
        counts.append(f"{task.code_exec} of them code_exec")
    if task.jobs != task.records:
        counts.append(f"{task.jobs} generations a model")
    if task.issues:
        counts.append(f"{count_noun(len(task.issues), 'bad record')} left out")
    return f"{task.path}: {', '.join(counts)}; content {task.digest}"


def _describe_task(task: TaskOutline) -> str:
    """Describe a task of a project."""
    models = ", ".join(model for model in task.models if model)
    parts = [f"{task.name}: {count_noun(task.records, 'sample')}"]
    parts += [f"{task.trials} trials of each"] if task.trials > 1 else []
    parts += [f"{task.repeats} runs"] if task.repeats > 1 else []
    parts += [f"with {models}"] if models else []
    parts += [f"{name} = {_words(value)}" for name, value in task.values.items()]
    return ", ".join(parts)


def _lines(value: Any) -> Iterator[str]:
    """Yield one line per item of a value."""
    if not value and (value is None or isinstance(value, Mapping | Sequence)):
        yield _NONE
    elif isinstance(value, Mapping):
        yield from (f"{name}: {_words(item)}" for name, item in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from map(_words, value)
    else:
        yield _words(value)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
