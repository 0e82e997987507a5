"""Base class of dataset sources."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from evalwright.components import Component, ComponentUnion, Location
from evalwright.datasets.column_types import ColumnType
from evalwright.datasets.reading import Reader, ReadOptions
from evalwright.datasets.rows import Missing, Rows
from evalwright.datasets.typed_rows import BadRowPolicy, TypedRows
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
    columns: dict[str, ColumnType] = Field(default_factory=dict)
    """Types of columns, such as `{age: int, joined: date}`. Columns that are not listed keep the
    types that they have in the file."""
    on_bad_rows: BadRowPolicy = "fail"
    """What to do with a row whose values do not fit the types, or that cannot be read. `fail`:
    report all of them and stop. `exclude`: leave them out and count them in the report. `keep`:
    keep the values as they are."""

    def rows(self, surroundings: Surroundings) -> Rows:
        """Return the filtered rows. Errors are raised when the rows are read."""
        reader = self.reader(surroundings)
        if self.columns or self.on_bad_rows != "fail":
            reader = TypedRows(
                reader, name=self.label(), columns=self.columns, policy=self.on_bad_rows
            )
        return Rows(reader, name=self.label(), filters=self.filters, missing=self.missing)

    @property
    def is_unchanged(self) -> bool:
        """Whether the rows are used as the reader returns them."""
        return (
            not self.filters
            and self.missing == "absent"
            and not self.columns
            and self.on_bad_rows == "fail"
        )

    def read_options(self, records: str | None = None) -> ReadOptions:
        """Return how to read a file with these types and this policy."""
        return ReadOptions(
            texts=tuple(self.columns),
            records=records or "",
            skips_bad=self.on_bad_rows == "exclude",
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
