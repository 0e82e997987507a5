"""Parquet, a thousand rows at a time, through pyarrow: the extra `parquet`.

Nulls stay null. Dates and times become ISO 8601 texts, decimals numbers, bytes the text they hold.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from evalwright.datasets.json_files import to_json_row
from evalwright.errors import BadDataset, Unreadable, UsageError
from evalwright.lines import show_path

_AT_A_TIME = 1000


class ParquetFile:
    """The rows of a `.parquet` file."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The columns, in their order."""
        with self._open() as file:
            return tuple(file.schema_arrow.names)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row per row of the table."""
        number = 0
        with self._open() as file:
            try:
                for batch in file.iter_batches(batch_size=_AT_A_TIME):
                    for row in batch.to_pylist():
                        yield to_json_row(row)
                        number += 1
            except (self._library.lib.ArrowException, ValueError, OSError) as error:
                reason = " ".join(str(error).split())
                raise BadDataset(f"{show_path(self._path)}: row {number}: {reason}") from error

    def _open(self) -> Any:
        library = self._library
        try:
            return library.parquet.ParquetFile(self._path)
        except (library.lib.ArrowException, ValueError, OSError) as error:
            reason = " ".join(str(error).split())
            raise Unreadable(f"{show_path(self._path)}: no Parquet file: {reason}") from error

    @property
    def _library(self) -> Any:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise UsageError(
                f"{show_path(self._path)}: Parquet needs pyarrow",
                hint="pip install 'evalwright[parquet]'",
            ) from error
        return pyarrow
