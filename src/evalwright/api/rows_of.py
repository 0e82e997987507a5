"""The rows that tasks are given: how they are put together, read, and found wanting.

`run` reads all of them before the first model is asked. `validate` reads those that lie on this
machine, and says what is wrong where the author can mend it. Both do it here, so that they agree.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalwright.api.assembly import STATE
from evalwright.datasets.aligned import Aligned
from evalwright.datasets.rows import Rows
from evalwright.errors import BadDataset, BadTasks, Unreadable, UsageError
from evalwright.plan.columns import UnknownColumn, unknown_columns, unknown_values
from evalwright.plan.documents import Leading
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.spec.documents.dataset import open_dataset
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.problems import Path, Problem

if TYPE_CHECKING:
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.recorded import Recording
    from evalwright.spec.documents.resolving import Part
    from evalwright.spec.documents.specs import ResolvedSpec

_HERE = {"local", "folder", "inline"}
"""The sources that ask nobody else."""


def joined(spec: "ResolvedSpec", rows_of: Callable[[str], Rows]) -> Rows | Aligned:
    """The rows of a specification: of one dataset, or of several side by side."""
    rows = {name: rows_of(key) for name, key in spec.dataset_keys.items()}
    return rows[""] if "" in rows else Aligned(rows)


def scored(spec: "ResolvedSpec", rows: Rows | Aligned) -> Rows | Aligned | Leading:
    """Those of them that are samples: where nothing looks at one at a time, the first dataset's."""
    return Leading(rows) if isinstance(rows, Aligned) and not _each(spec) else rows


def _each(spec: "ResolvedSpec") -> bool:
    """Whether anything looks at one sample at a time."""
    definition: Any = spec.task.definition
    one_by_one = [one for one in definition.scorers if not isinstance(one, PythonAllSamples)]
    return bool(definition.solver or one_by_one or definition.actions)


def sources_first(specs: "Sequence[ResolvedSpec]") -> "list[ResolvedSpec]":
    """Each after the one whose results it reads; those of a circle come last, and are refused."""
    ordered: dict[str, ResolvedSpec] = {}
    left = list(specs)
    names = {one.key for one in specs}
    while left:
        ready = [
            one
            for one in left
            if one.source != "task_result" or one.dataset_keys.get("") not in names - ordered.keys()
        ]
        for one in ready or left:
            ordered[one.key] = one
        left = [one for one in left if one.key not in ordered]
    return list(ordered.values())


def unknown_in(spec: "ResolvedSpec", rows: Rows | Aligned | None) -> Iterator[UnknownColumn]:
    """The columns that a specification needs and no row has; each would fail every sample."""
    if not isinstance(rows, Rows) or spec.source != "dataset":
        return
    key = next(iter(spec.dataset_keys.values()))
    definition, chosen = spec.task.definition, _column_values(spec)
    if not chosen and not any(True for _ in unknown_columns(definition, (), dataset=key)):
        return  # nobody asks, so the rows need not be read for it
    columns = rows.columns()
    wrong = list(unknown_values(chosen, columns, dataset=key))
    yield from wrong
    said = {one.column for one in wrong}
    for one in unknown_columns(definition, columns, dataset=key):
        if one.column not in said:  # else it is the value that is to be mended
            yield one


def check_columns(
    specs: "Sequence[ResolvedSpec]", opened: Mapping[str, Rows | Aligned | None]
) -> None:
    """A column that no row has would fail every sample."""
    found = (one for spec in specs for one in unknown_in(spec, opened[spec.key]))
    unknown = dict.fromkeys(map(str, found))
    if unknown:
        raise BadTasks(
            f"{len(unknown)} unknown column{'s' if len(unknown) > 1 else ''}, nothing was run: "
            + "; ".join(unknown),
            hint="a column that only some rows have is named with `| default(…)`",
        )


def _column_values(spec: "ResolvedSpec") -> dict[str, Any]:
    """The values that name columns."""
    return {
        one.key: spec.values.get(one.key)
        for one in spec.task.config_spec
        if one.type == "dataset_column"
    }


def row_problems(project: "Project") -> list[Problem]:
    """What is wrong with the rows on this machine, and with what tasks expect of them.

    Of a project whose documents have errors, no rows are read.
    """
    return list(dict.fromkeys(_Looking(project).problems())) if project.ok else []


class _Looking:
    """At each dataset once, however many tasks use it."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self._rows = {
            key: open_dataset(one.document, cache_dir=STATE)
            for key, one in project.datasets.items()
            if one.document is not None and one.document.origin.type in _HERE
        }
        self._seen: dict[tuple[str, bool], list[Problem]] = {}

    def problems(self) -> Iterator[Problem]:
        for spec in self._project.settled():
            if spec.recording is not None:
                yield from _of_log(spec.written, spec.recording)
            elif spec.source == "dataset" and spec.dataset_keys:
                yield from self._of_spec(spec)
        used = {key for key, _ in self._seen}
        for key, entity in self._project.datasets.items():
            if key not in used and key in self._rows and entity.file in self._project.files:
                yield from self._of_dataset(key, leads=True)

    def _of_spec(self, spec: "ResolvedSpec") -> Iterator[Problem]:
        keys = list(spec.dataset_keys.values())
        known = [key for key in keys if key in self._rows]
        broken = [
            problem for key in known for problem in self._of_dataset(key, leads=key == keys[0])
        ]
        yield from broken
        if broken or len(known) < len(keys):
            return
        rows = joined(spec, self._rows.__getitem__)
        path: Path = ("definition", "dataset", "keys")
        yield from _raised(spec.written, path, scored(spec, rows).check)
        for one in unknown_in(spec, rows):
            yield _unknown(spec, one)

    def _of_dataset(self, key: str, *, leads: bool) -> list[Problem]:
        """Of a dataset. Where it does not lead, others give the samples their ids."""
        if (key, leads) not in self._seen:
            rows, entity = self._rows[key], self._project.datasets[key]
            read = rows.check if leads else lambda: sum(1 for _ in rows.rows())
            self._seen[key, leads] = _raised(entity.part, _source_in(entity.part), read)
        return self._seen[key, leads]


def _of_log(part: "Part", recording: "Recording") -> list[Problem]:
    """What is wrong with a result log, at the field that names it."""
    from evalwright.report.logs.reading import read_log

    return _raised(part, recording.path, lambda: read_log(recording.file).samples, rule="bad_log")


def _source_in(part: "Part") -> Path:
    """Where a dataset says which rows it has."""
    places: Iterable[Path] = (("source", "file_path"), ("source", "directory_path"), ("source",))
    return next((path for path in places if part.raw.marks.has(path)), ("file_path",))


def _raised(
    part: "Part", path: Path, read: Callable[[], int], *, rule: str = "bad_rows"
) -> list[Problem]:
    """What reading says, at a place of a document."""
    try:
        read()
    except (BadDataset, Unreadable) as error:
        fault = Fault(path, rule, _line(str(error)), error.hint)
    except UsageError as error:
        # A library is missing here. That is not the document's fault.
        fault = Fault(path, "rows_not_read", _line(str(error)), error.hint, level="warning")
    else:
        return []
    return part.problems([fault])


def _unknown(spec: "ResolvedSpec", one: UnknownColumn) -> Problem:
    """At the value of the parameter, or at the template."""
    given = spec.given.get(one.parameter)
    place, field = (given.place, given.field) if given else spec.written.declaration(one.parameter)
    file, line, column = place
    if not one.parameter:
        field, column = "", None
        file, line = (one.file, one.line) if one.file else spec.written.place[:2]
    return Problem(
        file=file,
        line=line,
        column=column,
        rule="unknown_column",
        field=field,
        detail=_line(one.text),
    )


def _line(text: str) -> str:
    """On one line: a name of the data may have any characters."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
