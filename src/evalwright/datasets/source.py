"""The base class of the sources of rows."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from evalwright.components import Component, ComponentUnion
from evalwright.datasets.reading import Reader
from evalwright.datasets.rows import Missing, Rows
from evalwright.rules.filters import AnyFilter


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a source may use from its project."""

    cache_dir: Path
    """The folder for downloads: `.evalwright` of the project."""
    task_results: Mapping[str, Reader] | Callable[[str], Reader] | None = None
    """The results of other tasks, by the keys of their specifications."""
    generated: Mapping[str, Path] = {}
    """The files of generated rows, by the keys of their datasets."""


class SourceSpec(Component):
    """A source of rows in a document."""

    type: str
    """The kind of source."""
    filters: tuple[AnyFilter, ...] = ()
    """Filters that a row must pass to be used. Expressions may refer to `sample` and to any
    column."""
    missing: Missing = "absent"
    """Representation of missing values. `absent`: the key is omitted. `nan`: NaN, as in a data
    frame."""

    def rows(self, surroundings: Surroundings) -> Rows:
        """Return the rows, ready to be read; reading them raises errors."""
        return Rows(
            self.reader(surroundings), name=self.label(), filters=self.filters, missing=self.missing
        )

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of all rows."""
        raise NotImplementedError

    def label(self) -> str:
        """Return its name in messages."""
        raise NotImplementedError


AnySource = Annotated[SourceSpec, ComponentUnion("datasets")]
"""Where the rows of a dataset come from."""
