"""Check the rows of a project on this machine, and what its tasks expect of them.

`validate` reports problems at the place where the author can fix them; `run` refuses. Both use
`unknown_in`, so they agree.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from evalwright.datasets.rows import Rows
from evalwright.errors import BadDataset, BadTasks, Unreadable, UsageError
from evalwright.plan.columns import UnknownColumn, unknown_columns, unknown_values
from evalwright.plan.options import STATE
from evalwright.plan.rows import OpenedRows, join_datasets, scored_rows
from evalwright.spec.documents.models.dataset import open_dataset
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.documents import DocumentPart
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, Place, locate_fault
from evalwright.types import Issue

_LOCAL_SOURCES = {"local", "folder", "inline"}
"""The sources that need no network."""
LogCheck = Callable[[str], int]
"""Reads a result log and returns how many samples it has."""


def unknown_in(spec: ResolvedSpec, rows: OpenedRows) -> Iterator[UnknownColumn]:
    """The columns that a specification needs and no row has; each would fail every sample."""
    if not isinstance(rows, Rows) or spec.source != "dataset":
        return
    key = next(iter(spec.dataset_keys.values()))
    definition, column_values = spec.task.definition, _column_values(spec)
    if not column_values and not any(True for _ in unknown_columns(definition, (), dataset=key)):
        return  # no column is named, so the rows need not be read
    columns = rows.columns()
    wrong = list(unknown_values(column_values, columns, dataset=key))
    yield from wrong
    reported = {problem.column for problem in wrong}
    for problem in unknown_columns(definition, columns, dataset=key):
        if problem.column not in reported:  # else the value of the parameter is to be fixed
            yield problem


def check_columns(specs: Sequence[ResolvedSpec], opened: Mapping[str, OpenedRows]) -> None:
    """Refuse a column that no row has: it would fail every sample."""
    problems = (problem for spec in specs for problem in unknown_in(spec, opened[spec.key]))
    unknown = dict.fromkeys(map(str, problems))
    if unknown:
        raise BadTasks(
            f"{len(unknown)} unknown column{'s' if len(unknown) > 1 else ''}, nothing was run: "
            + "; ".join(unknown),
            hint="a column that only some rows have is named with `| default(…)`",
        )


def _column_values(spec: ResolvedSpec) -> dict[str, Any]:
    """The values of parameters that name columns."""
    return {
        parameter.key: spec.values.get(parameter.key)
        for parameter in spec.task.config_spec
        if parameter.type == "dataset_column"
    }


def row_problems(project: Project, check_log: LogCheck) -> list[Issue]:
    """What is wrong with the rows on this machine, and with what tasks expect of them.

    Rows of a project whose documents have errors are not read.
    """
    return list(dict.fromkeys(_RowChecks(project, check_log).problems())) if project.ok else []


class _RowChecks:
    """Checks each dataset once, however many tasks use it."""

    def __init__(self, project: Project, check_log: LogCheck) -> None:
        self._project = project
        self._check_log = check_log
        self._rows = {
            key: open_dataset(entity.document, cache_dir=STATE)
            for key, entity in project.datasets.items()
            if entity.document is not None and entity.document.origin.type in _LOCAL_SOURCES
        }
        self._checked: dict[tuple[str, bool], list[Issue]] = {}

    def problems(self) -> Iterator[Issue]:
        for spec in self._project.settled():
            if recording := spec.recording:
                read = partial(self._check_log, recording.file)
                yield from _read_problems(spec.written, recording.path, read, rule="bad_log")
            elif spec.source == "dataset" and spec.dataset_keys:
                yield from self._check_spec(spec)
        used = {key for key, _ in self._checked}
        for key, entity in self._project.datasets.items():
            if key not in used and key in self._rows and entity.file in self._project.files:
                yield from self._check_dataset(key, leads=True)

    def _check_spec(self, spec: ResolvedSpec) -> Iterator[Issue]:
        keys = list(spec.dataset_keys.values())
        known = [key for key in keys if key in self._rows]
        broken = [
            problem for key in known for problem in self._check_dataset(key, leads=key == keys[0])
        ]
        yield from broken
        if broken or len(known) < len(keys):
            return
        rows = join_datasets(spec, self._rows.__getitem__)
        path: FieldPath = ("definition", "dataset", "keys")
        yield from _read_problems(spec.written, path, scored_rows(spec, rows).check)
        for column in unknown_in(spec, rows):
            yield _column_problem(spec, column)

    def _check_dataset(self, key: str, *, leads: bool) -> list[Issue]:
        """Check one dataset. One that does not lead gives the samples no ids."""
        if (key, leads) not in self._checked:
            rows, entity = self._rows[key], self._project.datasets[key]
            read = rows.check if leads else lambda: sum(1 for _ in rows.rows())
            self._checked[key, leads] = _read_problems(entity.part, _source_path(entity.part), read)
        return self._checked[key, leads]


def _source_path(part: DocumentPart) -> FieldPath:
    """Where a dataset document says which rows it has."""
    places: Iterable[FieldPath] = (
        ("source", "file_path"),
        ("source", "directory_path"),
        ("source",),
    )
    return next((path for path in places if part.raw.marks.has(path)), ("file_path",))


def _read_problems(
    part: DocumentPart, path: FieldPath, read: Callable[[], int], *, rule: str = "bad_rows"
) -> list[Issue]:
    """The errors of reading, at a place of a document."""
    try:
        read()
    except (BadDataset, Unreadable) as error:
        fault = Fault(path, rule, _one_line(str(error)), error.hint)
    except UsageError as error:
        # A library is missing here. That is not the document's fault.
        fault = Fault(path, "rows_not_read", _one_line(str(error)), error.hint, level="warning")
    else:
        return []
    return part.problems([fault])


def _column_problem(spec: ResolvedSpec, unknown: UnknownColumn) -> Issue:
    """The problem at the value of the parameter, or at the template."""
    given = spec.given.get(unknown.parameter)
    place, field = (
        (given.place, given.field) if given else spec.written.declaration(unknown.parameter)
    )
    if not unknown.parameter:
        field, own = "", (unknown.file, unknown.line) if unknown.file else spec.written.place[:2]
        place = Place(*own)
    return locate_fault(Fault((), "unknown_column", _one_line(unknown.text)), place, field)


def _one_line(text: str) -> str:
    """The text on one line: a name of the data may have any characters."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
