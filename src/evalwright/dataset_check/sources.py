"""Rows with their positions: of files, of datasets of a project, and from memory.

A position is a line number, from 1, or minus the number of the row if there are no lines. A file is
read to its end even if lines in it cannot be read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from evalwright.datasets.csv_file import CsvFile
from evalwright.datasets.faults import UnreadableLine, UnreadableLines
from evalwright.datasets.json_files import JsonFile, JsonLinesFile, to_json_row
from evalwright.datasets.reading import FileRows, ReadOptions, find_format, identify_file
from evalwright.datasets.rows import Rows
from evalwright.errors import BadDataset
from evalwright.lines import show_path

LocatedRow = tuple[int, Mapping[str, Any]]
_BOM = b"\xef\xbb\xbf"
_PLAIN_TEXT = (".csv", ".jsonl", ".ndjson", ".json")


class CheckedSource(Protocol):
    """A dataset that is checked."""

    name: str
    is_typed_text: bool
    """Whether the spelling of text determines its type."""

    def located_rows(self) -> Iterator[LocatedRow]:
        """Yield the rows with their positions."""

    @property
    def header(self) -> Sequence[str]:
        """The columns, if they are known without rows; after the first row was read."""

    @property
    def bad_rows(self) -> tuple[int, Sequence[UnreadableLine]]:
        """The number of rows that could not be read, and the first; after the last row."""

    @property
    def undecodable(self) -> int:
        """How many of them are not UTF-8 text."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes about the file as a whole; after the last row."""


class CheckedFile:
    """A .csv, .jsonl, .json or .parquet file."""

    def __init__(self, path: str) -> None:
        self.name = show_path(path)
        self._path = Path(path)
        self._ending = find_format(path)
        self.is_typed_text = self._ending == ".csv"
        identify_file(path)
        self.header: Sequence[str] = ()
        self._unreadable = UnreadableLines(path)

    def located_rows(self) -> Iterator[LocatedRow]:
        """Yield the rows; a CSV file's cells are text."""
        if self._ending == ".csv":
            yield from self._read_csv()
        elif self._ending == ".parquet":
            reader = FileRows(lambda: self._path, self._ending, options=ReadOptions())
            self.header = reader.header or ()
            yield from zip(count(0, -1), reader.rows(), strict=False)
        elif self._ending == ".json":
            json_file = JsonFile(self._path, skips_bad=True)
            # The rows come first: only they refuse a document without a list.
            yield from (
                (line, row) for row, line in zip(json_file.rows(), json_file.lines(), strict=False)
            )
            self._unreadable = json_file.unreadable
        else:
            lines = JsonLinesFile(self._path, skips_bad=True)
            yield from lines.located_rows()
            self._unreadable = lines.unreadable

    def _read_csv(self) -> Iterator[LocatedRow]:
        file = CsvFile(self._path, skips_bad=True)
        self._unreadable = file.unreadable
        records = file.cells()
        self.header = header = next(records, (0, ()))[1]
        for line, cells in records:
            yield line, dict(zip(header, cells, strict=True))

    @property
    def bad_rows(self) -> tuple[int, Sequence[UnreadableLine]]:
        """The lines that could not be read."""
        faults = self._unreadable
        return max(faults.rows, faults.count), faults.first

    @property
    def undecodable(self) -> int:
        """The number of lines that are not UTF-8 text."""
        return self._unreadable.encoding

    @property
    def notes(self) -> Sequence[str]:
        """Whether there is a byte order mark, and where the file cannot be read any further."""
        notes = []
        if self._ending in _PLAIN_TEXT and _starts_with_bom(self._path):
            notes.append(
                "the file starts with a byte order mark (BOM), which some tools read as part of "
                "the first column name"
            )
        if fatal := self._unreadable.fatal:
            notes.append(f"nothing after {self.name}:{fatal.line} was read: {fatal.detail}")
        return notes


class CheckedRowsSource:
    """A dataset of a project. Rows that do not fit its declared types are bad rows."""

    undecodable = 0
    notes: Sequence[str] = ()

    def __init__(self, rows: Rows, name: str, *, is_typed_text: bool = False) -> None:
        self._rows, self.name = rows, name
        self.is_typed_text = is_typed_text

    @property
    def header(self) -> Sequence[str]:
        """The columns; empty, because each row has its own."""
        return ()

    def located_rows(self) -> Iterator[LocatedRow]:
        """Yield the rows that tasks receive."""
        return self._rows.located_rows()

    @property
    def bad_rows(self) -> tuple[int, Sequence[UnreadableLine]]:
        """The rows that were left out."""
        bad = self._rows.bad_rows
        return sum(each.count for each in bad), [fault for each in bad for fault in each.first]


class RowsInMemory:
    """Rows that are already in memory."""

    is_typed_text = False
    undecodable = 0
    notes: Sequence[str] = ()
    bad_rows: tuple[int, Sequence[UnreadableLine]] = (0, ())
    header: Sequence[str] = ()

    def __init__(self, rows: Iterable[Any], name: str = "rows") -> None:
        self._source, self.name = rows, name

    def located_rows(self) -> Iterator[LocatedRow]:
        """Yield the rows; `BadDataset` for anything that is not a mapping."""
        for number, row in enumerate(self._source):
            if not isinstance(row, Mapping):
                what = f"expected a dict, got `{type(row).__name__}`"
                raise BadDataset(f"{self.name}: row {number}: {what}")
            try:
                yield -number, to_json_row(row)
            except ValueError as error:
                raise BadDataset(f"{self.name}: row {number}: {error}") from error


def _starts_with_bom(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_BOM)) == _BOM
    except OSError:
        return False
