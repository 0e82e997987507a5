"""Decide which task and model of one run is compared with which of another, or in the same run."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from evalwright.errors import UsageError
from evalwright.nearest import suggest
from evalwright.plan.manifest import Manifest, read_manifest
from evalwright.plan.outline import TaskOutline
from evalwright.types import Run


class RunSide(Struct, frozen=True):
    """A stored run with its manifest."""

    run: Run
    manifest: Manifest

    @property
    def name(self) -> str:
        """The name that people gave it, or its id."""
        return self.manifest.name or self.run.id


class Side(NamedTuple):
    """One task with one model in one run."""

    run: RunSide
    task: TaskOutline
    model: str


class Matchup(NamedTuple):
    """Two sides that are compared."""

    a: Side
    b: Side


def read_side(run: Run) -> RunSide:
    """Return a run with its manifest; `Unreadable` if a different version wrote it."""
    return RunSide(run, read_manifest(run))


def match_runs(a: RunSide, b: RunSide, models: Sequence[str]) -> Iterator[Matchup]:
    """Yield the sides of two runs that belong together: the same task, the same model.

    If each run has only one model for a task, these two are compared whatever their names are.
    With `models`, only they are compared; the first is of A and the second of B if no run has both.
    """
    for task_a, task_b in _match_tasks(a, b):
        for model_a, model_b in _match_models(task_a, task_b, models):
            yield Matchup(Side(a, task_a, model_a), Side(b, task_b, model_b))


def _match_tasks(a: RunSide, b: RunSide) -> Iterator[tuple[TaskOutline, TaskOutline]]:
    tasks_a, tasks_b = a.manifest.plan.tasks, b.manifest.plan.tasks
    names = {task.name: task for task in tasks_b}
    keys = [task.task_key for task in tasks_b]
    for task in tasks_a:
        if task.name in names:
            yield task, names[task.name]
        elif task.task_key and keys.count(task.task_key) == 1:
            yield task, tasks_b[keys.index(task.task_key)]
        elif len(tasks_a) == len(tasks_b) == 1:
            yield task, tasks_b[0]


def _match_models(
    a: TaskOutline, b: TaskOutline, models: Sequence[str]
) -> Iterator[tuple[str, str]]:
    if len(models) == 2 and models[0] in a.models and models[1] in b.models:  # noqa: PLR2004 - a pair
        yield models[0], models[1]
        return
    wanted_a = [model for model in a.models if not models or model in models]
    wanted_b = [model for model in b.models if not models or model in models]
    shared = [model for model in wanted_a if model in wanted_b]
    if shared:
        yield from ((model, model) for model in shared)
    elif len(wanted_a) == len(wanted_b) == 1:
        yield wanted_a[0], wanted_b[0]


def match_within(side: RunSide, models: Sequence[str]) -> Iterator[Matchup]:
    """Yield all pairs of models and variants that ran on the same samples in one run."""
    groups: dict[tuple[str, str], list[Side]] = {}
    for task in side.manifest.plan.tasks:
        is_shared = bool(task.samples_digest and task.task_key)
        key = (task.task_key, task.samples_digest) if is_shared else (task.name, "")
        groups.setdefault(key, []).extend(
            Side(side, task, model) for model in task.models if not models or model in models
        )
    for group in groups.values():
        ordered = sorted(group, key=lambda each: _position(each.model, models))
        yield from (Matchup(a, b) for a, b in combinations(ordered, 2))


def _position(model: str, models: Sequence[str]) -> int:
    return list(models).index(model) if model in models else len(models)


def check_models(sides: Sequence[RunSide], models: Sequence[str]) -> None:
    """Refuse models that no run has."""
    known = {model: None for side in sides for model in side.manifest.plan.models if model}
    for model in models:
        if model not in known:
            raise UsageError(
                f"no compared run has a model `{model}`; they have "
                f"{', '.join(f'`{name}`' for name in known)}",
                hint=suggest(model, list(known)),
            )


def explain_no_match(a: RunSide, b: RunSide) -> UsageError:
    """Return the error for two runs without a common task and model."""
    tasks_a, tasks_b = (
        {task.name for task in side.manifest.plan.tasks if task.name} for side in (a, b)
    )
    if tasks_a & tasks_b:
        models_a, models_b = (
            ", ".join(f"`{model}`" for model in side.manifest.plan.models) for side in (a, b)
        )
        return UsageError(
            f"the runs have no model in common: {a.name} has {models_a}, {b.name} has {models_b}",
            hint="choose a model of each run: -m MODEL_OF_A -m MODEL_OF_B",
        )
    names_a, names_b = (", ".join(sorted(names)[:5]) for names in (tasks_a, tasks_b))
    return UsageError(
        f"the runs have no task in common: {a.name} has {names_a}; {b.name} has {names_b}"
    )
