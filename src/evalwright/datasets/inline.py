"""`inline`: rows that stand in the document itself.

    source:
      type: inline
      samples:
        - { question: "What is 2 + 2?", target: "4" }

For a handful of rows: an example, a test, a smoke check.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.source import SourceSpec, Surroundings


class InlineRows:
    """Rows that are here already."""

    header: tuple[str, ...] | None = None
    """Only the rows know which columns there are."""

    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self._samples = samples

    @cached_property
    def digest(self) -> str:
        """Of the rows."""
        return digest_of(self._samples)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Copies: who gets a row may do with it as they like."""
        return map(deepcopy, self._samples)


class Inline(SourceSpec):
    """The rows of a list in the document."""

    type: Literal["inline"]
    samples: Annotated[
        list[Annotated[dict[str, Any], AfterValidator(to_json_row)]], Field(min_length=1)
    ]
    """One mapping of columns to values a row."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """The list."""
        del surroundings
        return InlineRows(self.samples)

    def label(self) -> str:
        """There is no name but the key it stands under."""
        return "source.samples"
