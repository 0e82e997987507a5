"""`drop_columns`: remove columns.

    synthesizers:
      - type: drop_columns
        columns: [draft, notes]

Use this synthesizer to remove columns that are needed only by other synthesizers. Some rows may
lack some of the columns. A column that no row has is an error, which is reported before the first
row is generated if possible.
"""

from typing import Annotated, Literal

from pydantic import Field

from evalwright.components import Title
from evalwright.datasets.synthesizers.synthesizer import Columns, Row, SynthesizerSpec
from evalwright.ports import Case


class DropColumns(SynthesizerSpec):
    """Removes columns from the rows."""

    type: Literal["drop_columns"]
    """The kind of synthesizer."""
    columns: Annotated[tuple[Title, ...], Field(min_length=1)]
    """Columns to remove."""

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the row without these columns; ValueError if no column is left."""
        row: Row = case.sample.data
        remaining = {name: value for name, value in row.items() if name not in self.columns}
        if not remaining:
            raise ValueError("`drop_columns` removes all columns of the row")
        return [remaining]

    def columns_after(self, columns: Columns) -> Columns:
        """Return the other columns."""
        self._require_columns(self.columns, columns)
        return None if columns is None else columns - {*self.columns}
