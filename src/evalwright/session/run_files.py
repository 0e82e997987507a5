"""Find the files of a run again, whatever the current folder is.

A run stores its paths as typed, and the folder that they were typed in. In another
folder the same paths may mean other files, or none.
"""

from collections.abc import Iterable
from pathlib import Path

from evalwright.errors import Unreadable, UsageError
from evalwright.plan.manifest import read_manifest
from evalwright.plan.outline import TaskOutline
from evalwright.session.stores import DEFAULT_STORE, store_name
from evalwright.types import Run


def find_folder(run: Run, store: str | None) -> Path:
    """Return the folder that the paths of a run's command are relative to now.

    A run in the store of the current folder was started here, or the folder is a copy: its files
    are those here. Otherwise they are in the run's own folder; if nothing is left there, here.
    """
    manifest = read_manifest(run)
    paths = manifest.plan.sources
    current = Path.cwd()
    own = Path(manifest.folder or current)
    is_local = Path(store_name(store)) == DEFAULT_STORE
    candidates = dict.fromkeys([current, own] if is_local else [own, current])
    for folder in candidates:
        if all((folder / path).exists() for path in paths):
            return folder
    looked = " and ".join(str(folder / paths[0]) for folder in candidates)
    raise Unreadable(
        f"the files of run {run.id} no longer exist: looked at {looked}",
        hint="its task files are needed; restore them, or run this command in their folder",
    )


def relative_to(folder: Path, typed: str) -> str:
    """Return a path as typed, if it was typed in the current folder; otherwise where it leads."""
    return typed if folder == Path.cwd() else str(folder / typed)


def refuse_other_project(parent: Run, tasks: Iterable[TaskOutline], path: str) -> None:
    """Refuse a project that shares no task with a run: no stored answer could be scored."""
    before = read_manifest(parent).plan.tasks
    known = {task.name for task in before} | {task.digest for task in before}
    current = list(tasks)
    if any(task.name in known or task.digest in known for task in current):
        return
    raise UsageError(
        f"{path}: not the project of run {parent.id}: it has {_quote_names(current)}, "
        f"the run has {_quote_names(before)}",
        hint="run the command in the folder of the run's project",
    )


def _quote_names(tasks: Iterable[TaskOutline]) -> str:
    return ", ".join(f"`{task.name}`" for task in tasks) or "no task"
