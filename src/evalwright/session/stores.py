"""Open the store of runs, and find the evaluations of earlier runs in it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from evalwright.errors import EvalwrightError, UsageError
from evalwright.lines import show_path
from evalwright.plan.manifest import Manifest, read_manifest_if_readable
from evalwright.plan.options import STATE
from evalwright.plan.outline import NO_MODEL, TaskOutline
from evalwright.plan.task_results import ENDED
from evalwright.ports import ReplyCache, Store
from evalwright.spec.documents.resolve.earlier import EarlierEvaluation, FindEarlier
from evalwright.store.memory import MemoryStore
from evalwright.store.reply_cache import SqliteReplyCache
from evalwright.store.sqlite import SqliteStore
from evalwright.types import Run

DEFAULT_STORE = STATE / "runs.db"
MEMORY = "memory:"
"""The name of a store in memory."""
_KEPT = ("num_samples", "subsampling", "trials", "repeatability")
"""What a specification of an earlier run says about its samples."""


def store_name(name: str | Path | None = None) -> str:
    """Return the name, or `EVALWRIGHT_STORE`, or `.evalwright/runs.db` in the current folder."""
    return str(name or os.environ.get("EVALWRIGHT_STORE") or DEFAULT_STORE)


def open_store(
    name: str | Path | None = None, *, durable: bool = False, create: bool = True
) -> Store:
    """Open the store with this name; see `store_name`."""
    name = store_name(name)
    if name == MEMORY:
        return MemoryStore()
    if "://" in name:
        raise UsageError(f"{name}: a store must be a file", hint="give the path of a file")
    return SqliteStore(name, durable=durable, create=create)


def find_store_problem(path: str | Path) -> str:
    """Read a whole store, and return what is wrong with it; empty for a sound one."""
    try:
        with closing(SqliteStore(path, create=False)) as store:
            damage = store.find_damage()
    except EvalwrightError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return f"{show_path(path)}: the database is damaged ({damage})" if damage else ""


def make_earlier_finder(name: str | Path | None = None) -> FindEarlier:
    """Return a function that finds evaluations in a store, which is opened only when needed."""

    def find(key: str) -> EarlierEvaluation:
        opened_name = store_name(name)
        if opened_name == MEMORY or not Path(opened_name).exists():
            return EarlierEvaluation(key, opened_name)
        with closing(open_store(opened_name, create=False)) as store:
            return _find_earlier_evaluation(key, store=store, name=opened_name)

    return find


def open_reply_cache(exit_stack: ExitStack) -> ReplyCache:
    """Open the cache of replies until `exit_stack` closes."""
    reply_cache = SqliteReplyCache(STATE / "cache.db")
    exit_stack.callback(reply_cache.close)
    return reply_cache


def _find_earlier_evaluation(key: str, *, store: Store, name: str) -> EarlierEvaluation:
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
