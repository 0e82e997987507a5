"""Whether the columns that templates and scorers name are there, before any of them is used.

A column that some row has is there: rows of a JSONL file need not have the same. What a template
asks for only if it is defined (`| default`, `is defined`) it does not need, and neither does a
filter that asks whether it exists. Behind a postprocessor the samples are the author's own.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from unicodedata import normalize

from evalwright.components import Component, parts_in
from evalwright.nearest import nearest
from evalwright.rules.filters import FilterUnary
from evalwright.scorers.base import ScorerSpec
from evalwright.templates import Native, Template

_MOST_LISTED = 12


class UnknownColumn(NamedTuple):
    """A column that is asked for, and that no row has."""

    file: str
    """Of the template; `""` where that is not known."""
    line: int
    column: str
    text: str
    """One line: what is asked for, and what there is."""
    parameter: str = ""
    """The parameter whose value it is; `""` where a template names it."""

    def __str__(self) -> str:
        """With its place."""
        return f"{self.file}:{self.line}: {self.text}" if self.file else self.text


def unknown_columns(
    definition: Component, columns: Iterable[str], *, dataset: str
) -> Iterator[UnknownColumn]:
    """One for each column that a template or a scorer of a task needs and no row has."""
    known = list(columns)
    said: set[tuple[str, int, str]] = set()
    for template in _asking(definition):
        for path in sorted(template.variables()):
            name = path[1] if len(path) > 1 and path[0] == "sample" else None
            place = (template.file, template.line, str(name))
            if isinstance(name, str) and name not in known and place not in said:
                said.add(place)
                text = _unknown(name, known, dataset)
                yield UnknownColumn(template.file, template.line, name, text)
    for scorer in parts_in(_seeing(definition), ScorerSpec):
        for name in scorer.required_columns:
            if name not in known:
                file, line = getattr(name, "file", ""), getattr(name, "line", 0)
                text = f"`{scorer.key or scorer.type}`: {_unknown(name, known, dataset)}"
                yield UnknownColumn(file, line, str(name), text)


def _seeing(definition: Component) -> Any:
    """The part of a task that sees the rows of the dataset."""
    solver = getattr(definition, "solver", None)
    return solver if getattr(solver, "postprocessor", None) else definition


def _asking(definition: Component) -> Iterator[Template | Native]:
    """The templates that see the rows of the dataset, and need what they name."""
    seen = _seeing(definition)
    unsure = {
        id(one.expression)
        for one in parts_in(seen, FilterUnary)
        if one.op in {"exists", "not_exists"}
    }
    yield from parts_in(seen, Template)
    yield from (one for one in parts_in(seen, Native) if id(one) not in unsure)


def unknown_values(
    chosen: Mapping[str, Any], columns: Iterable[str], *, dataset: str
) -> Iterator[UnknownColumn]:
    """One for each parameter whose value is to be a column, and is none."""
    known = list(columns)
    for parameter, value in chosen.items():
        if isinstance(value, str) and value not in known:
            text = f"parameter `{parameter}`: {_unknown(value, known, dataset)}"
            yield UnknownColumn("", 0, value, text, parameter)


def _unknown(name: str, known: list[str], dataset: str) -> str:
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    has = ", ".join(f"`{one}`" for one in known[:_MOST_LISTED])
    return f"dataset `{dataset}` has no column `{name}`; it has {has}{more}{_meant(name, known)}"


def _meant(name: str, known: list[str]) -> str:
    for one in known:
        if normalize("NFC", one) == normalize("NFC", name):
            # On a screen the two are the same: a file from a Mac has `u` and two dots, not `ü`.
            asked, there = (ascii(each)[1:-1] for each in (name, one))
            return (
                f"; it is written with other code points (`{asked}`, there `{there}`): "
                "copy the name from the data"
            )
    suggestion = nearest(name, known)
    return f"; did you mean `{suggestion}`?" if suggestion else ""
