"""Build typed documents from plain data, and locate what is wrong with it.

build_typed(TaskDocument, data)      the document or None, and all faults at once
locate_faults(faults, marks, data)   the faults as problems with file, line and column
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from evalwright.components import Authored
from evalwright.spec.documents.checks.content import check_scores, check_snippets, check_variables
from evalwright.spec.documents.checks.explain import explain_validation_error
from evalwright.spec.documents.yaml.problems import (
    Fault,
    FieldPath,
    Marks,
    Place,
    format_path,
    locate_fault,
)
from evalwright.spec.documents.yaml.reader import TODO_MARKER
from evalwright.types import Issue

T = TypeVar("T")
_adapters: dict[Any, TypeAdapter[Any]] = {}


def build_typed(kind: type[T], data: Any) -> tuple[T | None, list[Fault]]:
    """The typed value, or None where it has not the shape; and what is wrong with the data."""
    adapter = _adapters.get(kind)
    if adapter is None:
        adapter = _adapters[kind] = TypeAdapter(kind)
    try:
        made = adapter.validate_python(data)
    except ValidationError as error:
        return None, explain_validation_error(error, kind, data)
    return made, [*check_snippets(made), *check_variables(made), *check_scores(made)]


def locate_faults(
    faults: Iterable[Fault],
    marks: Marks,
    data: Any,
    *,
    below: FieldPath = (),
    unread: Iterable[FieldPath] = (),
) -> list[Issue]:
    """Problems with file, line and column; `data` is what the paths of the faults lead through.

    `below` stands before each path in the problem's field: where the document is a part of a
    larger one. What is at, or below, a value that could not be read is no news, nor is what is
    wrong with a value that its author has still to write.
    """
    hidden = list(unread)
    problems: dict[Issue, None] = {}
    for fault in faults:
        value = _at(data, fault.path)
        if (isinstance(value, str) and TODO_MARKER in value) or _below(fault.path, hidden):
            continue
        problems[_problem(fault, marks, value, below)] = None
    return list(problems)


def _problem(fault: Fault, marks: Marks, value: Any, below: FieldPath) -> Issue:
    file, line, column = marks.key_place(fault.path) if fault.at_key else marks.place(fault.path)
    if fault.line:
        line, column = fault.line, None
        if isinstance(value, Authored) and value.file:
            file = value.file
    return locate_fault(fault, Place(file, line, column), format_path((*below, *fault.path)))


def _below(path: FieldPath, hidden: list[FieldPath]) -> bool:
    return any(path[: len(one)] == one for one in hidden)


def _at(data: Any, path: FieldPath) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data
