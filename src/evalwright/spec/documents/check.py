"""From plain data to a typed document, and to problems with their places.

built(TaskDocument, data, marks)   the document or None, and every problem at once
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from evalwright.components import Authored
from evalwright.spec.documents.explain import explain
from evalwright.spec.documents.faults import Fault
from evalwright.spec.documents.functions import missing_functions
from evalwright.spec.documents.marks import Marks
from evalwright.spec.documents.names import unknown_variables
from evalwright.spec.documents.problems import Path, Problem, dotted
from evalwright.spec.documents.reading import MARKER
from evalwright.spec.documents.scores import unknown_scores

T = TypeVar("T")
_adapters: dict[Any, TypeAdapter[Any]] = {}


def built(kind: type[T], data: Any) -> tuple[T | None, list[Fault]]:
    """The typed value, or None where it has not the shape; and what is wrong with the data."""
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _adapters[kind] = TypeAdapter(kind)
    try:
        made = adapter.validate_python(data)
    except ValidationError as error:
        return None, explain(error, kind, data)
    return made, [*missing_functions(made), *unknown_variables(made), *unknown_scores(made)]


def placed(
    faults: Iterable[Fault],
    marks: Marks,
    data: Any,
    *,
    below: Path = (),
    unread: Iterable[Path] = (),
) -> list[Problem]:
    """Problems with file, line and column; `data` is what the paths of the faults lead through.

    `below` stands before each path in the problem's field: where the document is a part of a
    larger one. What is at, or below, a value that could not be read is no news, nor is what is
    wrong with a value that its author has still to write.
    """
    hidden = list(unread)
    problems: dict[Problem, None] = {}
    for fault in faults:
        value = _at(data, fault.path)
        if (isinstance(value, str) and MARKER in value) or _below(fault.path, hidden):
            continue
        problems[_problem(fault, marks, value, below)] = None
    return list(problems)


def _problem(fault: Fault, marks: Marks, value: Any, below: Path) -> Problem:
    file, line, column = marks.key_place(fault.path) if fault.at_key else marks.place(fault.path)
    if fault.line:
        line, column = fault.line, None
        if isinstance(value, Authored) and value.file:
            file = value.file
    return Problem(
        file=file,
        line=line,
        column=column,
        rule=fault.rule,
        field=dotted((*below, *fault.path)),
        detail=fault.detail,
        hint=fault.hint,
        level=fault.level,
    )


def _below(path: Path, hidden: list[Path]) -> bool:
    return any(path[: len(one)] == one for one in hidden)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data
