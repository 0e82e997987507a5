"""Read a YAML file into plain values, with the places of values and all problems.

    document = read_document("task.yaml", environment=os.environ)
    document.data                  dicts, lists and scalars; every string is an `Authored`
    document.marks.place(path)     file, line and column of the value at a path
    document.problems              all problems; empty if the file is valid

Supports:   the core schema of YAML 1.2, `!include`, `$ref`, `$VARIABLE`, anchors and merge keys;
            limits on size, nesting and repetition; errors for duplicate keys.
Does not:   raise exceptions for the content of a file, or run code: tags for Python objects are
            reported as errors.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalwright.components import Authored
from evalwright.lines import show_path
from evalwright.spec.documents.yaml.compose import (
    MAX_PROBLEMS,
    ComposedFiles,
    ComposedValue,
    ReadingState,
    StopReading,
)
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Marks,
    Place,
    format_path,
    locate_fault,
)
from evalwright.spec.documents.yaml.text_files import Mistake, display_path, list_include_roots
from evalwright.types import Issue

TODO_MARKER = "((TODO))"
"""Marker in a scaffold for values that the author must set."""


class YamlDocument(Struct, frozen=True):
    """A file and the files that it refers to."""

    file: str
    """Name of the file in messages."""
    data: Any
    """Plain values; None if the file could not be read."""
    marks: Marks
    problems: list[Issue]
    files: list[str]
    """All files that were read, starting with this one."""
    unread: frozenset[FieldPath] = frozenset()
    """Paths whose values are missing because of an already reported problem. Problems at or below
    these paths are not reported again."""
    variables: frozenset[str] = frozenset()
    """Environment variables that were expanded."""

    @property
    def ok(self) -> bool:
        """Whether there are no errors. There may be warnings."""
        return all(problem.level != "error" for problem in self.problems)


def read_document(
    path: str | os.PathLike[str],
    *,
    environment: Mapping[str, str],
    root: str | os.PathLike[str] | None = None,
    composed: ComposedFiles | None = None,
    takes_pipes: bool = False,
) -> YamlDocument:
    """Read a YAML file; all errors are in `problems`.

    The file may include files below `root`, by default its own folder. It may be a pipe if
    `takes_pipes` is true. `composed` caches the valid files of a project, so that shared files are
    read only once.
    """
    file = os.fspath(path)
    name = show_path(display_path(file))
    roots = list_include_roots(Path(file).parent if root is None else root)
    reading = ReadingState(environment, roots, composed, takes_pipes=takes_pipes)
    marks = Marks(Place(name, 1))
    data: Any = None
    value: ComposedValue | None = None
    try:
        result = reading.read(file, ())
        if isinstance(result, Mistake):
            reading.report(Place(name, result.line), result, ())
        else:
            value = result.value
    except StopReading as stop:
        reading.problems.append(stop.problem)
    if value is None:
        reading.unread.append(())
    else:
        data, marks = value.data, value.marks
        reading.problems.extend(islice(_find_markers(data, marks, ()), MAX_PROBLEMS))
    return YamlDocument(
        file=name,
        data=data,
        marks=marks,
        problems=reading.problems,
        files=reading.current.files or [name],
        unread=frozenset(reading.unread),
        variables=frozenset(reading.current.variables),
    )


def _find_markers(value: Any, marks: Marks, path: FieldPath) -> Iterator[Issue]:
    if isinstance(value, str):
        if TODO_MARKER in value:
            yield _report_marker(_place(value, marks.place(path)), path)
    elif isinstance(value, dict):
        for key, item in value.items():
            below = (*path, key)
            if isinstance(key, str) and TODO_MARKER in key:
                yield _report_marker(marks.key_place(below), below)
            yield from _find_markers(item, marks, below)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _find_markers(item, marks, (*path, number))


def _place(text: str, mark: Place) -> Place:
    """Return the line of the marker, which may be inside a long text."""
    if not isinstance(text, Authored) or not text.line:
        return mark
    line = text.line + text.count("\n", 0, text.index(TODO_MARKER))
    return mark if (text.file, line) == mark[:2] else Place(show_path(text.file), line)


def _report_marker(place: Place, path: FieldPath) -> Issue:
    detail = f"`{format_path(path)}` still contains `{TODO_MARKER}`"
    return locate_fault(Fault(path, "todo", detail, "replace it with a value"), place)
