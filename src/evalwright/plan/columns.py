"""Whether the columns that templates name are there, before any of them is rendered.

A column that some row has is there: rows of a JSONL file need not have the same. What a template
asks for only if it is defined (`| default`, `is defined`) it does not need, and neither does a
filter that asks whether it exists. Behind a postprocessor the samples are the author's own.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalwright.components import Component, parts_in
from evalwright.nearest import nearest
from evalwright.rules.filters import FilterUnary
from evalwright.templates import Native, Template

_MOST_LISTED = 12


def unknown_columns(
    definition: Component, columns: Iterable[str], *, dataset: str
) -> Iterator[str]:
    """One line for each column that a template of a task needs and no row has."""
    known = list(columns)
    said: set[tuple[str, int, str]] = set()
    for template in _asking(definition):
        for path in sorted(template.variables()):
            name = path[1] if len(path) > 1 and path[0] == "sample" else None
            place = (template.file, template.line, str(name))
            if isinstance(name, str) and name not in known and place not in said:
                said.add(place)
                yield f"{_place(template)}{_unknown(name, known, dataset)}"


def _asking(definition: Component) -> Iterator[Template | Native]:
    """The templates that see the rows of the dataset, and need what they name."""
    solver = getattr(definition, "solver", None)
    seen = solver if getattr(solver, "postprocessor", None) else definition
    unsure = {
        id(one.expression)
        for one in parts_in(seen, FilterUnary)
        if one.op in {"exists", "not_exists"}
    }
    yield from parts_in(seen, Template)
    yield from (one for one in parts_in(seen, Native) if id(one) not in unsure)


def unknown_values(
    chosen: Mapping[str, Any], columns: Iterable[str], *, dataset: str
) -> Iterator[str]:
    """One line for each parameter whose value is to be a column, and is none."""
    known = list(columns)
    for parameter, value in chosen.items():
        if isinstance(value, str) and value not in known:
            yield f"parameter `{parameter}`: {_unknown(value, known, dataset)}"


def _unknown(name: str, known: list[str], dataset: str) -> str:
    more = f" and {len(known) - _MOST_LISTED} more" if len(known) > _MOST_LISTED else ""
    has = ", ".join(f"`{one}`" for one in known[:_MOST_LISTED])
    suggestion = nearest(name, known)
    told = f"; did you mean `{suggestion}`?" if suggestion else ""
    return f"dataset `{dataset}` has no column `{name}`; it has {has}{more}{told}"


def _place(template: Template | Native) -> str:
    return f"{template.file}:{template.line}: " if template.file else ""
