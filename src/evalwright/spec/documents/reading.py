"""YAML to plain values, with the place of each, and every mistake on the way.

    document = read_document("task.yaml", environment=os.environ)
    document.data                  dicts, lists, scalars; every text an `Authored`
    document.marks.place(path)     file, line and column of the value at a path
    document.problems              all of them; empty if the file is as it should be

Holds:      the core schema of YAML 1.2; no key twice; `!include`, `$ref`, `$VARIABLE`, anchors and
            merge keys; a limit on size, on nesting, on what aliases and references repeat.
Does not:   raise for anything that a file may contain; know what the values mean; run anything:
            a tag that names a Python object is a mistake like any other.
"""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from evalwright.components import Authored
from evalwright.lines import shown as printable
from evalwright.spec.documents.composing import compose
from evalwright.spec.documents.files import MOST_PROBLEMS, Halt, Reading
from evalwright.spec.documents.marks import Mark, Marks, Place
from evalwright.spec.documents.problems import Path, Problem, dotted
from evalwright.spec.documents.texts import NoText, read_text, shown

MARKER = "((TODO))"
"""What a scaffold leaves where its author has to decide."""


class Document(Struct, frozen=True):
    """One file and those that it refers to."""

    file: str
    """As messages name it."""
    data: Any
    """Plain values; None if the file could not be read at all."""
    marks: Marks
    problems: list[Problem]
    files: list[str]
    """All that were read, this one first."""
    unread: frozenset[Path] = frozenset()
    """The paths whose values are missing because of a problem that is reported already: what is
    wrong at or below one of them is no news."""
    variables: frozenset[str] = frozenset()
    """The variables of the environment that were filled in."""

    @property
    def ok(self) -> bool:
        """Whether there are no errors (there may be warnings)."""
        return all(problem.level != "error" for problem in self.problems)


def read_document(path: str | os.PathLike[str], *, environment: Mapping[str, str]) -> Document:
    """The values of a YAML file; whatever is wrong with it is in `problems`."""
    file = os.fspath(path)
    name = printable(shown(file))
    reading = Reading(environment, compose)
    marks = Marks(Mark(Place(name, 1)))
    data: Any = None
    text = read_text(file)
    if isinstance(text, NoText):
        reading.report(Place(name, text.line), text, ())
        reading.unread.append(())
    else:
        try:
            built = reading.file(text, ())
        except Halt as halt:
            reading.problems.append(halt.problem)
            built = None
        if built is None:
            reading.unread.append(())
        else:
            data, marks = built.data, Marks(built.mark)
            reading.problems.extend(islice(_to_do(data, marks, ()), MOST_PROBLEMS))
    return Document(
        file=name,
        data=data,
        marks=marks,
        problems=reading.problems,
        files=reading.files or [name],
        unread=frozenset(reading.unread),
        variables=frozenset(reading.variables),
    )


def _to_do(value: Any, marks: Marks, path: Path) -> Iterator[Problem]:
    if isinstance(value, str):
        if MARKER in value:
            yield _left(_place(value, marks.place(path)), path)
    elif isinstance(value, dict):
        for key, one in value.items():
            below = (*path, key)
            if isinstance(key, str) and MARKER in key:
                yield _left(marks.key_place(below), below)
            yield from _to_do(one, marks, below)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _to_do(one, marks, (*path, number))


def _place(text: str, mark: Place) -> Place:
    """The line of the marker: in a long text it is not where the text begins."""
    if not isinstance(text, Authored) or not text.line:
        return mark
    line = text.line + text.count("\n", 0, text.index(MARKER))
    return mark if (text.file, line) == mark[:2] else Place(printable(text.file), line)


def _left(place: Place, path: Path) -> Problem:
    return Problem(
        file=place.file,
        line=place.line,
        column=place.column,
        rule="todo",
        field=dotted(path),
        detail=f"`{dotted(path)}` still says `{MARKER}`",
        hint="decide what belongs there",
    )
