"""Base class of synthesizers.

    synthesizers:
      - type: template
        template: "What is the {thing} of {{ source.country }}?"
        fields: { thing: [capital, currency] }
      - type: drop_columns
        columns: [thing]

Each synthesizer receives a row from the previous synthesizer and returns one row, several rows or
no row. If it raises an exception, the row fails.

Some synthesizers have an old syntax, which still works. A definition that uses it anywhere keeps
its old behaviour: `num_samples` counts the rows of the data source, and a combination of rows has
one column per dataset.
"""

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

from evalwright.components import Component, ComponentUnion, parts_in
from evalwright.ports import Case
from evalwright.templates import Template

Row = dict[str, Any]
Columns = frozenset[str] | None
"""Column names; None if they are known only from the rows."""
ROW_NAMES = ("source", "sample")
"""Names of the row in templates: current and deprecated."""


class SynthesizerSpec(Component):
    """A synthesizer in a document."""

    type: str
    """The kind of synthesizer."""

    version: ClassVar[int] = 1
    """Increase it with every change that could change rows."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """Keys of the queried models."""
        return ()

    @property
    def uses_earlier_spelling(self) -> bool:
        """Whether the definition uses the old syntax."""
        return any("sample" in template.names() for template in parts_in(self, Template))

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the rows generated from `case.sample`."""
        raise NotImplementedError

    def columns_after(self, columns: Columns) -> Columns:
        """Return the columns of the new rows; ValueError if a required column is missing."""
        needed = {
            str(path[1])
            for template in parts_in(self, Template)
            for path in template.variables()
            if path[0] in ROW_NAMES and len(path) > 1
        }
        self._require_columns(needed, columns)
        return columns

    def _require_columns(self, needed: Iterable[str], columns: Columns) -> None:
        if columns is None:
            return
        for name in sorted(needed):
            if name not in columns:
                known = ", ".join(f"`{column}`" for column in sorted(columns)) or "none"
                raise ValueError(
                    f"`{self.type}`: no row has a column `{name}`; the columns are {known}"
                )


AnySynthesizer = Annotated[SynthesizerSpec, ComponentUnion("synthesizers")]
"""One synthesizer of a generator."""


def template_variables(case: Case) -> dict[str, Any]:
    """Return the current row and the index of its source row, from 0."""
    row = case.sample.data
    return {**dict.fromkeys(ROW_NAMES, row), "index": int(case.sample.id)}
