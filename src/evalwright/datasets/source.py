"""What every source of rows has in common."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from evalwright.components import Component, ComponentUnion
from evalwright.datasets.reading import Reader
from evalwright.datasets.rows import Missing, Rows
from evalwright.rules.filters import AnyFilter


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a source may use of the project that it stands in."""

    cache_dir: Path
    """Where what came from elsewhere is kept: `.evalwright` of the project."""
    task_results: Mapping[str, Reader] | Callable[[str], Reader] | None = None
    """The results of other tasks, by the keys of their specifications."""
    generated: Mapping[str, Path] = {}
    """The files of rows that generators have made, by the keys of their datasets."""


class SourceSpec(Component):
    """A source of rows, as a document writes it."""

    type: str
    """The kind of source."""
    filters: tuple[AnyFilter, ...] = ()
    """A row must pass all of them. Expressions see `sample` and every column by its own name."""
    missing: Missing = "absent"
    """What a row has in a column that it has no value for: no key (`absent`), or the number NaN
    (`nan`) as where rows pass through data frames."""

    def rows(self, surroundings: Surroundings) -> Rows:
        """The rows, ready to be read; what is wrong with them is raised when they are."""
        return Rows(
            self.reader(surroundings),
            name=self.label(),
            filters=self.filters,
            missing=self.missing,
        )

    def reader(self, surroundings: Surroundings) -> Reader:
        """The rows as they lie there."""
        raise NotImplementedError

    def label(self) -> str:
        """What messages call it."""
        raise NotImplementedError


AnySource = Annotated[SourceSpec, ComponentUnion("datasets")]
"""Where the rows of a dataset come from."""
