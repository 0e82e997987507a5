"""`empty`: leave the row unchanged.

    synthesizers:
      - type: empty

Use this synthesizer if the data source already provides the rows you need, such as a subset of a
dataset or combinations of rows from several datasets.
"""

from typing import Literal

from evalwright.datasets.synthesizers.synthesizer import Row, SynthesizerSpec
from evalwright.ports import Case


class Empty(SynthesizerSpec):
    """Leaves rows unchanged."""

    type: Literal["empty"]
    """The kind of synthesizer."""

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the row unchanged."""
        return [case.sample.data]
