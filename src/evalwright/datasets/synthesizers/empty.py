"""`empty`: returns the row unchanged.

    synthesizers:
      - type: empty

For a generator whose data source already has the right rows: a sample of a dataset, or
combinations of the rows of several.
"""

from typing import Literal

from evalwright.datasets.synthesizers.synthesizer import Row, SynthesizerSpec
from evalwright.ports import Case


class Empty(SynthesizerSpec):
    """Changes nothing."""

    type: Literal["empty"]
    """The kind of synthesizer."""

    async def synthesize(self, case: Case) -> list[Row]:
        """Return the row unchanged."""
        return [case.sample.data]
