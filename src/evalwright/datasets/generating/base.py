"""What all synthesizers of a generator have in common.

    synthesizers:
      - type: template
        columns: { question: "What is the capital of {{ sample.country }}?" }
      - type: drop_columns
        columns: [country]

Each gets the row that the one before it made, and gives one row, several, or none. A row that it
cannot make is a failure of that row: it raises, and no row is made up in its place.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from evalwright.components import Component, parts_in
from evalwright.ports import Case
from evalwright.templates import Template

Row = dict[str, Any]
Columns = frozenset[str] | None
"""The names of the columns; None where only the rows will show."""


class SynthesizerSpec(Component):
    """A synthesizer, as a document writes it."""

    type: str
    """The kind of synthesizer."""

    version: ClassVar[int] = 1
    """Grows with every change that could make other rows."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The models that it asks."""
        return ()

    async def synthesize(self, case: Case) -> list[Row]:
        """The rows that come of `case.sample`."""
        raise NotImplementedError

    def after(self, columns: Columns) -> Columns:
        """The columns of its rows; ValueError if it needs one that no row has."""
        needed = {
            str(path[1])
            for template in parts_in(self, Template)
            for path in template.variables()
            if path[0] == "sample" and len(path) > 1
        }
        self._refuse_unknown(needed, columns)
        return columns

    def _refuse_unknown(self, needed: Iterable[str], columns: Columns) -> None:
        if columns is None:
            return
        for name in sorted(needed):
            if name not in columns:
                has = ", ".join(f"`{one}`" for one in sorted(columns)) or "none"
                raise ValueError(f"`{self.type}`: no row has a column `{name}`; there are {has}")


def seen_by(case: Case) -> dict[str, Any]:
    """What a template knows: the row so far, and its place among the rows of the source, from 0."""
    return {"sample": case.sample.data, "index": int(case.sample.id)}


def merged(row: Row, more: Row) -> Row:
    """The row with other values, or more of them."""
    return {**row, **more}
