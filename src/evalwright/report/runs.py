"""A stored run, as `list` and `show` print it.

The manifest is printed whole, whatever is in it: a key that is added to it is shown without a
change here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.report.samples import visible
from evalwright.types import RunStatus

COLUMNS = ("run", "created (UTC)", "status", "tasks", "models", "done", "failed")
NUMERIC = frozenset({5, 6})
_NONE = "none"


class Listed(Struct, frozen=True, kw_only=True):
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


class Shown(Listed, frozen=True, kw_only=True):
    """All that is known of a run beside its outcomes."""

    plan_key: str
    manifest: dict[str, Any]


def cells(run: Listed) -> tuple[str, ...]:
    """A row under `COLUMNS`."""
    return (
        run.id,
        run.created.replace("T", " ").removesuffix("+00:00"),
        f"{run.status}, imported" if run.imported else run.status,
        visible(", ".join(run.tasks)),
        visible(", ".join(run.models)),
        f"{run.done}/{run.total}",
        str(run.failed),
    )


def run_lines(run: Shown) -> Iterator[str]:
    """A fact a line, its name first."""
    facts = list(_facts(run))
    width = max(len(name) for name, _ in facts)
    for name, fact in facts:
        yield f"{name:<{width}}  {visible(fact)}"


def _facts(run: Shown) -> Iterator[tuple[str, str]]:
    yield "run", run.id
    yield "status", run.status
    yield "outcomes", f"{run.done} of {run.total}, {run.failed} failed"
    yield "created", run.created
    yield "updated", run.updated
    yield "parent", run.parent or _NONE
    yield "plan_key", run.plan_key
    for name, value in run.manifest.items():
        if name == "plan" and value.get("kind") == "documents":
            yield from _evaluation(value)
        elif name == "plan":
            yield from _plan(value)
        elif name in {"report", "results", "specifications"}:
            continue  # `evalwright report` prints it, `evalwright export --format logs` the rest
        else:
            yield from ((name, fact) for fact in _each(value))


def _plan(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for task in plan["tasks"]:
        counts = [_counted(task["records"], "record")]
        if task["code_exec"]:
            counts.append(f"{task['code_exec']} of them code_exec")
        if task["trials"] != task["records"]:
            counts.append(f"{task['trials']} generations a model")
        if task["issues"]:
            counts.append(f"{_counted(len(task['issues']), 'bad record')} left out")
        yield "task", f"{task['path']}: {', '.join(counts)}; content {task['digest']}"
    for name in ("limit", "samples"):
        value = plan.get(name)
        yield name, _NONE if value is None else str(value)


def _evaluation(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("evaluation", "path"):
        if plan[name]:
            yield name, plan[name]
    for task in plan["tasks"]:
        models = ", ".join(one for one in task["models"] if one)
        parts = [f"{task['name']}: {_counted(task['records'], 'sample')}"]
        parts += [f"{task['trials']} trials of each"] if task.get("trials", 1) > 1 else []
        parts += [f"{task['repeats']} runs"] if task.get("repeats", 1) > 1 else []
        parts += [f"with {models}"] if models else []
        parts += [f"{name} = {_words(value)}" for name, value in task["values"].items()]
        yield "task", ", ".join(parts)


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _each(value: Any) -> Iterator[str]:
    """A line for each thing in it."""
    if not value and (value is None or isinstance(value, Mapping | Sequence)):
        yield _NONE
    elif isinstance(value, Mapping):
        yield from (f"{name}: {_words(one)}" for name, one in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from map(_words, value)
    else:
        yield _words(value)


def _words(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
