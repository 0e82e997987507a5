"""Base class of dataset sources."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from evalwright.components import Component, ComponentUnion, Location
from evalwright.datasets.reading import Reader
from evalwright.datasets.rows import Missing, Rows
from evalwright.rules.filters import AnyFilter


class Surroundings(Struct, frozen=True, kw_only=True):
    """The parts of a project that a source may use."""

    cache_dir: Path
    """Parent folder of downloads: the project's `.evalwright` folder."""
    task_results: Mapping[str, Reader] | Callable[[str], Reader] | None = None
    """Results of other tasks, by task specification key."""
    generated: Mapping[str, Path] = {}
    """Files with generated rows, by dataset key."""


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
        """Return the filtered rows. Errors are raised when the rows are read."""
        return Rows(
            self.reader(surroundings), name=self.label(), filters=self.filters, missing=self.missing
        )

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader of all rows."""
        raise NotImplementedError

    def files(self) -> Iterator[str]:
        """Yield the files that the fields name, and those in the folders that they name."""
        for value in vars(self).values():
            for location in value if isinstance(value, list | tuple) else [value]:
                if isinstance(location, Location):
                    yield from _list_files(location.path)

    def label(self) -> str:
        """Return the name of the source, for messages."""
        raise NotImplementedError


def _list_files(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield str(path)
        return
    for folder, _, names in os.walk(path):
        yield from (str(Path(folder) / name) for name in sorted(names))


AnySource = Annotated[SourceSpec, ComponentUnion("datasets")]
"""Source of a dataset's rows."""
