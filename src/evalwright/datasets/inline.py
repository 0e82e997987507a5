"""`inline`: rows in the document itself.

    source:
      type: inline
      samples:
        - { question: "What is 2 + 2?", target: "4" }

Use this source for a few rows, such as an example or a smoke test.
"""

from copy import deepcopy
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.reading import LazyRows, Reader
from evalwright.datasets.source import SourceSpec, Surroundings


class Inline(SourceSpec):
    """The rows of a list in the document."""

    type: Literal["inline"]
    samples: Annotated[
        list[Annotated[dict[str, Any], AfterValidator(to_json_row)]], Field(min_length=1)
    ]
    """One mapping of columns to values per row."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of copies, so that the list cannot be changed."""
        del surroundings
        return LazyRows(lambda: map(deepcopy, self.samples))

    def label(self) -> str:
        """Return the key of the list, for messages."""
        return "source.samples"
