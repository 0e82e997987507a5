"""`empty`: leaves the row as it is.

    synthesizers:
      - type: empty

For a generator whose data source already gives what is wanted: a sample of a dataset, or rows of
several side by side.
"""

from typing import Literal

from evalwright.datasets.generating.base import Row, SynthesizerSpec
from evalwright.ports import Case


class Empty(SynthesizerSpec):
    """Changes nothing."""

    type: Literal["empty"]
    """The kind of synthesizer."""

    async def synthesize(self, case: Case) -> list[Row]:
        """The same row."""
        return [case.sample.data]
