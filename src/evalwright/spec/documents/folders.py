"""Which files a project has, from any one of them or from its folder.

    project/
    ├── run.yaml          what to run; may also hold entities itself
    ├── tasks/            and below: one task a file
    ├── datasets/
    ├── dataset_generators/
    ├── models/
    ├── model_adapters/   or adapters/
    └── evaluations/

A file in one of these folders belongs to the project around it, any other file to the project of
the folder that it lies in.
"""

import os
from pathlib import Path
from typing import NamedTuple

from evalwright.spec.documents.kinds import ENDINGS, FOLDERS, RUN_FILES


class Found(NamedTuple):
    """A file of a project."""

    path: Path
    folder: str
    """The project's folder that it is in: `tasks`, … or `""`."""


def root_of(file: Path) -> Path:
    """The folder of the project that a file belongs to."""
    for parent in file.parents:
        if parent.name in FOLDERS:
            return parent.parent
    return file.parent


def folder_of(file: Path, root: Path) -> str:
    """The project's folder that a file is in; `""` for none."""
    parts = file.relative_to(root).parts if file.is_relative_to(root) else ()
    return parts[0] if len(parts) > 1 and parts[0] in FOLDERS else ""


def files_in(root: Path) -> list[Found]:
    """Every document of a project, the run file last; in an order that does not change."""
    found = [Found(path, folder) for folder in FOLDERS for path in yaml_in(root / folder)]
    found += [Found(root / name, "") for name in RUN_FILES if (root / name).is_file()]
    return found


def files_of(path: Path, root: Path) -> list[Found]:
    """Every document that a path stands for."""
    if path.is_file() or not path.is_dir():
        return [Found(path, folder_of(path.absolute(), root.absolute()))]
    if path.absolute() != root.absolute():  # a folder of a project
        folder = folder_of(path.absolute() / "any", root.absolute())
        return [Found(one, folder) for one in yaml_in(path)]
    return files_in(root) or [Found(one, "") for one in yaml_in(path) if one.parent == path]


def project_of(path: Path) -> Path:
    """The folder of the project that a file or a folder belongs to."""
    if not path.is_dir():
        root = root_of(path.absolute())
        return path.parent if root == path.absolute().parent else root
    own = any((path / name).exists() for name in (*FOLDERS, *RUN_FILES))
    root = root_of(path.absolute() / "any")
    return path if own or root == path.absolute() else root


def yaml_in(folder: Path) -> list[Path]:
    """The documents in a folder and in those below it, in the order of their paths."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith((".", "__"))]
        names = [one for one in files if one.endswith(ENDINGS) and not one.startswith(".")]
        found += [Path(place) / one for one in names]
    return sorted(found)
