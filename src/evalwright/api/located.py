"""Where the project of a run lies, wherever the command that asks for it is given.

A run keeps its paths as they were typed, and the folder that they were typed in. From another
folder the same words may mean another project, or none.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from evalwright.errors import Unreadable, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evalwright.plan.documents import PlannedSpec
    from evalwright.types import Run

FOLDER = "folder"
"""Where the manifest keeps it; no plan is another one for it, and no report prints it."""


def folder_of(run: "Run") -> Path:
    """The folder that the paths of a run's command are relative to, as things lie now.

    That of the run, and where nothing is left there, this one: a project may have been moved.
    """
    written = str(run.manifest["plan"]["path"])
    here = Path.cwd()
    tried = dict.fromkeys([Path(run.manifest.get(FOLDER) or here), here])
    for folder in tried:
        if (folder / written).exists():
            return folder
    looked = " and ".join(str(folder / written) for folder in tried)
    raise Unreadable(
        f"the project of run {run.id} is not there any more: looked at {looked}",
        hint="its documents are needed, as they are now; put them back, or give this command in "
        "the folder that they are in",
    )


def at(folder: Path, written: str) -> str:
    """A path as it was typed, if it was typed here; else where it leads."""
    return written if folder == Path.cwd() else str(folder / written)


def refuse_others(parent: "Run", tasks: "Iterable[PlannedSpec]", path: str) -> None:
    """Nothing of a project that shares no task with a run could be scored with its answers."""
    before = parent.manifest["plan"]["tasks"]
    known = {one["name"] for one in before} | {one["digest"] for one in before}
    now = list(tasks)
    if any(one.name in known or one.digest in known for one in now):
        return
    raise UsageError(
        f"{path}: this is not the project of run {parent.id}: it has "
        f"{_named(one.name for one in now)}, the run has {_named(one['name'] for one in before)}",
        hint="give the command in the folder of the run's project",
    )


def _named(names: "Iterable[str]") -> str:
    return ", ".join(f"`{name}`" for name in names) or "no task"
