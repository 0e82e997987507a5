"""Check the local rows of a project, and what its tasks expect of them.

`validate` reports problems at the place where the author can fix them; `run` refuses. Both use
`unknown_in`, so they agree.

A column that some row has is known: rows of a JSONL file need not have the same columns. A template
does not need what it names with `| default` or `is defined`, nor does a filter that asks whether a
column exists. After a postprocessor, samples may have any columns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from unicodedata import normalize

from evalwright.components import Component, parts_in
from evalwright.datasets.faults import place_of
from evalwright.datasets.rows import Rows
from evalwright.errors import BadDataset, BadTasks, Unreadable, UsageError
from evalwright.nearest import nearest
from evalwright.plan.options import STATE
from evalwright.plan.rows import OpenedRows, join_datasets, scored_rows
from evalwright.rules.filters import FilterUnary
from evalwright.scorers.base import ScorerSpec
from evalwright.spec.documents.checks.build import DocumentPart
from evalwright.spec.documents.models.dataset import open_dataset
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.problems import Fault, FieldPath, Place, locate_fault
from evalwright.templates import Native, Template
from evalwright.types import Issue

_LOCAL_SOURCES = {"local", "folder", "inline"}
"""The sources that need no network."""
_MOST_LISTED = 12
LogCheck = Callable[[str], int]
"""Reads a result log and returns how many samples it has."""


class UnknownColumn(NamedTuple):
    """A required column that no row has."""

    file: str
    """The template's file; `""` if unknown."""
    line: int
    column: str
    text: str
    """One line: what is required, and what exists."""
    parameter: str = ""
    """The parameter whose value it is; `""` if a template names it."""

    def __str__(self) -> str:
        """Return the message with its place."""
        return f"{self.file}:{self.line}: {self.text}" if self.file else self.text


def unknown_in(spec: ResolvedSpec, rows: OpenedRows) -> Iterator[UnknownColumn]:
    """Return the columns that a specification needs and no row has; each fails every sample."""
    if not isinstance(rows, Rows) or spec.source != "dataset":
        return
    key = next(iter(spec.dataset_keys.values()))
    definition, column_values = spec.task.definition, _column_values(spec)
    if not column_values and not any(True for _ in unknown_columns(definition, (), dataset=key)):
        return  # no column is named, so the rows need not be read
    columns = rows.columns
    wrong = list(unknown_values(column_values, columns, dataset=key))
    yield from wrong
    reported = {problem.column for problem in wrong}
    for problem in unknown_columns(definition, columns, dataset=key):
        if problem.column not in reported:  # else the value of the parameter is to be fixed
            yield problem


def check_columns(specs: Sequence[ResolvedSpec], opened: Mapping[str, OpenedRows]) -> None:
    """Raise for columns that no row has: they would fail every sample."""
    problems = (problem for spec in specs for problem in unknown_in(spec, opened[spec.key]))
    unknown = dict.fromkeys(map(str, problems))
    if unknown:
        raise BadTasks(
            f"{len(unknown)} unknown column{'s' if len(unknown) > 1 else ''}; nothing was run: "
            + "; ".join(unknown),
            hint="for a column that only some rows have, use `| default(…)`",
        )


def _column_values(spec: ResolvedSpec) -> dict[str, Any]:
    return {
        parameter.key: spec.values.get(parameter.key)
        for parameter in spec.task.config_spec
        if parameter.type == "dataset_column"
    }


def row_problems(project: Project, check_log: LogCheck) -> list[Issue]:
    """Yield problems of the local rows, and of what tasks expect of them.

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
        for spec in self._project.runnable_specs():
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
        """Check one dataset. Only the leading dataset provides the ids of the samples."""
        if (key, leads) not in self._checked:
            rows, entity = self._rows[key], self._project.datasets[key]
            read = rows.check if leads else lambda: sum(1 for _ in rows.rows())
            path = _source_path(entity.part)
            problems = _read_problems(entity.part, path, read)
            self._checked[key, leads] = problems or _warn_bad_rows(entity.part, path, rows)
        return self._checked[key, leads]


def _source_path(part: DocumentPart) -> FieldPath:
    places: Iterable[FieldPath] = (
        ("source", "file_path"),
        ("source", "directory_path"),
        ("source",),
    )
    return next((path for path in places if part.raw.marks.has(path)), ("file_path",))


def _warn_bad_rows(part: DocumentPart, path: FieldPath, rows: Rows) -> list[Issue]:
    """Return a warning about the bad rows that `on_bad_rows` excludes or keeps."""
    verbs = {"exclude": "left out", "keep": "kept as they are"}
    faults = []
    for bad in rows.bad_rows:
        first = bad.first[0]
        where = f"the first: {place_of(bad.file, first.line)}: {first.detail}"
        detail = f"{bad.count} bad row{'s' * (bad.count > 1)} will be {verbs[bad.policy]}; {where}"
        faults.append(Fault(path, "bad_rows", _one_line(detail), first.hint, "warning"))
    return part.problems(faults)


def _read_problems(
    part: DocumentPart, path: FieldPath, read: Callable[[], int], *, rule: str = "bad_rows"
) -> list[Issue]:
    try:
        read()
    except (BadDataset, Unreadable) as error:
        fault = Fault(path, rule, _one_line(error.message), error.hint)
    except UsageError as error:
        # A library is missing here. That is not the document's fault.
        fault = Fault(path, "rows_not_read", _one_line(error.message), error.hint, level="warning")
    else:
        return []
    return part.problems([fault])


def _column_problem(spec: ResolvedSpec, unknown: UnknownColumn) -> Issue:
    assignment = spec.given_values.get(unknown.parameter)
    place, field = (
        (assignment.place, assignment.field)
        if assignment
        else spec.written.declaration(unknown.parameter)
    )
    if not unknown.parameter:
        field, own = "", (unknown.file, unknown.line) if unknown.file else spec.written.place()[:2]
        place = Place(*own)
    return locate_fault(Fault((), "unknown_column", _one_line(unknown.text)), place, field)


def _one_line(text: str) -> str:
    """Return the text on one line: a name in the data may have any characters."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def unknown_columns(
    definition: Component, columns: Iterable[str], *, dataset: str
) -> Iterator[UnknownColumn]:
    """Yield each column that a template or a scorer of a task needs and no row has."""
    known = list(columns)
    reported: set[tuple[str, int, str]] = set()
    for template in _asking(definition):
        for path in sorted(template.variables()):
            name = path[1] if len(path) > 1 and path[0] == "sample" else None
            place = (template.file, template.line, str(name))
            if isinstance(name, str) and name not in known and place not in reported:
                reported.add(place)
                text = _unknown(name, known, dataset)
                yield UnknownColumn(template.file, template.line, name, text)
    for scorer in parts_in(_seeing(definition), ScorerSpec):
        for name in scorer.required_columns:
            if name not in known:
                file, line = getattr(name, "file", ""), getattr(name, "line", 0)
                text = f"`{scorer.key or scorer.type}`: {_unknown(name, known, dataset)}"
                yield UnknownColumn(file, line, str(name), text)


def _seeing(definition: Component) -> Any:
    solver = getattr(definition, "solver", None)
    return solver if getattr(solver, "postprocessor", None) else definition


def _asking(definition: Component) -> Iterator[Template | Native]:
    """Return the templates that read the rows of the dataset, and require what they name."""
    seen = _seeing(definition)
    unsure = {
        id(part.expression)
        for part in parts_in(seen, FilterUnary)
        if part.op in {"exists", "not_exists"}
    }
    yield from parts_in(seen, Template)
    yield from (part for part in parts_in(seen, Native) if id(part) not in unsure)


def unknown_values(
    chosen: Mapping[str, Any], columns: Iterable[str], *, dataset: str
) -> Iterator[UnknownColumn]:
    """Yield each parameter whose value should be a column but is not."""
    known = list(columns)
    for parameter, value in chosen.items():
        if isinstance(value, str) and value not in known:
            text = f"parameter `{parameter}`: {_unknown(value, known, dataset)}"
            yield UnknownColumn("", 0, value, text, parameter)


def _unknown(name: str, known: list[str], dataset: str) -> str:
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    has = ", ".join(f"`{column}`" for column in known[:_MOST_LISTED])
    why = _explain_unknown(name, known)
    return f"dataset `{dataset}` has no column `{name}`; it has {has}{more}{why}"


def _explain_unknown(name: str, known: list[str]) -> str:
    for column in known:
        if normalize("NFC", column) == normalize("NFC", name):
            # On a screen the two are the same: a file from a Mac has `u` and two dots, not `ü`.
            asked, there = (ascii(each)[1:-1] for each in (name, column))
            return (
                f"; it has different code points (`{asked}`, in the data `{there}`): "
                "copy the name from the data"
            )
    suggestion = nearest(name, known)
    return f"; did you mean `{suggestion}`?" if suggestion else ""
