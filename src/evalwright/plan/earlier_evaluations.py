"""Find the evaluations of earlier runs in a store, for a repeatability that names one."""

from collections.abc import Iterator
from typing import Any

from evalwright.plan.manifest import Manifest, read_manifest_if_readable
from evalwright.plan.outline import NO_MODEL, TaskOutline
from evalwright.plan.task_results import ENDED
from evalwright.ports import Store
from evalwright.spec.documents.resolve.earlier import EarlierEvaluation
from evalwright.types import Run

_KEPT = ("num_samples", "subsampling", "trials", "repeatability")
"""What a specification of an earlier run says about its samples."""


def find_earlier_evaluation(key: str, *, store: Store, name: str) -> EarlierEvaluation:
    """Return the newest finished evaluation with this key; `name` is that of the store."""
    unfinished, known = "", {}
    for run, manifest in _read_runs(store):
        tasks = {task.name: _evaluation_key(manifest, task) for task in manifest.plan.tasks}
        known.update(dict.fromkeys(filter(None, tasks.values())))
        chosen = [task for task in manifest.plan.tasks if tasks[task.name] == key]
        if not chosen:
            continue
        if run.status in ENDED:
            specifications = tuple(_describe(manifest, task) for task in chosen)
            return EarlierEvaluation(key, name, run.id, specifications)
        unfinished = unfinished or f"run {run.id}"
    return EarlierEvaluation(key, name, unfinished=unfinished, known=tuple(known))


def _read_runs(store: Store) -> Iterator[tuple[Run, Manifest]]:
    for run in store.runs():
        manifest = read_manifest_if_readable(run)
        if manifest is not None:
            yield run, manifest


def _evaluation_key(manifest: Manifest, task: TaskOutline) -> str:
    """The evaluation of a task: a plan has several. Runs of older versions name only the first."""
    specification = manifest.specifications.get(task.name, {})
    return str(specification.get("evaluation_key") or manifest.plan.evaluation)


def _describe(manifest: Manifest, task: TaskOutline) -> dict[str, Any]:
    """Return a task specification that runs what ran."""
    stored = manifest.specifications.get(task.name, {})
    values = dict(stored.get("given_config", stored.get("task_config", task.values)))
    dataset_key = values.pop("dataset_key", None)
    models = [model for model in task.models if model != NO_MODEL]
    specification = {
        "key": task.name,
        "task_key": task.task_key,
        "display_name": task.display_name,
        "task_config": values,
        "dataset_key": dataset_key,
        "model_key": models[0] if len(models) == 1 else None,
        "models": models if len(models) > 1 else None,
        **{name: stored.get(name) for name in _KEPT},
    }
    return {name: value for name, value in specification.items() if value is not None}
