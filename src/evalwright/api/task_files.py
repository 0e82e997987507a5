"""Which files contain tasks, and how their tasks are named in reports."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from evalwright.plan.options import RunOptions
from evalwright.plan.project import resolve_project
from evalwright.plan.records import name_tasks
from evalwright.session.stores import make_earlier_finder
from evalwright.spec.checking import is_project
from evalwright.spec.documents.resolve.layout import (
    RUN_FILES,
    detect_kind,
    find_file_root,
    find_include_root,
)
from evalwright.spec.documents.yaml.reader import read_document

_LINES_READ = 20
_RECORD_KEYS = {"task_id", "metric_name"}


def has_tasks(path: Path) -> bool:
    """Whether a file contains tasks that can be run: task records, a task or a run file.

    The file may be invalid: the beginning of a file of records is enough, and a file that is not
    valid YAML counts if its name or its folder says that it should contain tasks. A task with
    parameters that need values cannot be run by itself.
    """
    if not is_project(str(path)):
        with path.open("rb") as file:
            return any(map(_is_record, islice(file, _LINES_READ)))
    data = read_document(path, environment={}, root=find_include_root(path)).data
    if data is None:
        return path.name in RUN_FILES or path.parent.name == "tasks"
    kind = detect_kind(data)
    return kind == "run" or (kind == "task" and not _needs_values(data))


def _needs_values(task: dict[str, Any]) -> bool:
    parameters = task.get("config_spec")
    return isinstance(parameters, list) and any(
        isinstance(each, dict) and "default" not in each and not each.get("nullable")
        for each in parameters
    )


def find_run_file(path: Path) -> Path | None:
    """Return the run file of the project in which a task is; None for a run file."""
    files = [find_file_root(path) / name for name in RUN_FILES if path.name not in RUN_FILES]
    return next((file for file in files if file.is_file()), None)


def _is_record(line: bytes) -> bool:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(record, dict) and record.keys() >= _RECORD_KEYS


class ListedTask(NamedTuple):
    """A task of a file."""

    name: str
    """Its name in reports."""
    calls_model: bool


def list_tasks(path: Path, models: Sequence[str] = ()) -> list[ListedTask]:
    """Return the tasks that a run of a file has."""
    if not is_project(str(path)):
        return [ListedTask(name, calls_model=True) for name in name_tasks([str(path)])]
    finder = make_earlier_finder()
    resolved = resolve_project(str(path), models, RunOptions(), find_earlier=finder)
    return [ListedTask(spec.key, spec.task.evaluates == "model") for spec in resolved.specs]
