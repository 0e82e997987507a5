"""Which files contain tasks, and how their tasks are named in reports."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import msgspec

from evalwright.plan.options import RunOptions
from evalwright.plan.project import resolve_project
from evalwright.plan.records import name_tasks
from evalwright.session.stores import make_earlier_finder
from evalwright.spec.checking import is_project
from evalwright.spec.documents.resolve.layout import RUN_FILES, detect_kind, find_include_root
from evalwright.spec.documents.yaml.reader import read_document

_LINES_READ = 20
_RECORD_KEYS = {"task_id", "metric_name"}


def has_tasks(path: Path) -> bool:
    """Whether a file contains task records, a task or a run file, valid or not.

    The beginning of a file of records is enough. A file that is not valid YAML counts if its name
    or its folder says that it should contain tasks.
    """
    if is_project(str(path)):
        data = read_document(path, environment={}, root=find_include_root(path)).data
        is_expected = path.name in RUN_FILES or path.parent.name == "tasks"
        return detect_kind(data) in {"task", "run"} or (data is None and is_expected)
    with path.open("rb") as file:
        return any(map(_is_record, islice(file, _LINES_READ)))


def _is_record(line: bytes) -> bool:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(record, dict) and record.keys() >= _RECORD_KEYS


def list_tasks(path: Path, models: Sequence[str] = ()) -> list[str]:
    """Return the names of the tasks that a run of a file has, as in its report."""
    if not is_project(str(path)):
        return name_tasks([str(path)])
    finder = make_earlier_finder()
    resolved = resolve_project(str(path), models, RunOptions(), find_earlier=finder)
    return [spec.key for spec in resolved.specs]
