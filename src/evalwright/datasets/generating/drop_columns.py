"""`drop_columns`: takes columns away.

    synthesizers:
      - type: drop_columns
        columns: [draft, notes]

What was only needed on the way should not be in the dataset. A row that has no value in one of the
columns is as it is; a column that no row has is a mistake, and said before the first row is made
where the columns are known.
"""

from typing import Annotated, Literal

from pydantic import Field

from evalwright.components import Title
from evalwright.datasets.generating.base import Columns, Row, SynthesizerSpec
from evalwright.ports import Case


class DropColumns(SynthesizerSpec):
    """Leaves columns out of the rows."""

    type: Literal["drop_columns"]
    """The kind of synthesizer."""
    columns: Annotated[tuple[Title, ...], Field(min_length=1)]
    """The columns that go."""

    async def synthesize(self, case: Case) -> list[Row]:
        """The row without them; ValueError if nothing is left."""
        row: Row = case.sample.data
        left = {name: value for name, value in row.items() if name not in self.columns}
        if not left:
            raise ValueError("`drop_columns` leaves no column of the row")
        return [left]

    def after(self, columns: Columns) -> Columns:
        """The others."""
        self._refuse_unknown(self.columns, columns)
        return None if columns is None else columns - {*self.columns}
