"""Read CSV files with a header; a first pass over the file determines the column types.

    cells of a column, except empty ones            become
    all `true` or `false`, ignoring case            booleans
    all JSON numbers, ≤ 18 digits                   numbers: `3` an integer, `2.5` a float
    anything else: `007`, `1,5`, `3 km`, `n/a`      text, unchanged
    `sample_id`, and columns that a caller names    always text

A file has at most 10,000 columns, and a cell at most 16 MiB.

An empty cell is a missing value: the row does not have the key. A column has one type for the whole
file, which is known before the first row is returned.

With `skips_bad`, lines that are not UTF-8 and rows with a wrong number of cells are skipped and
counted in `unreadable`.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evalwright.datasets.faults import UnreadableLine, UnreadableLines, explain_bytes
from evalwright.errors import BadDataset
from evalwright.lines import BadLine, read_batches, show_path
from evalwright.vocabulary import MAX_LINE_BYTES

if TYPE_CHECKING:
    import _csv

MOST_COLUMNS = 10_000
_AT_A_TIME = 1000
"""Number of rows per batch when types are determined."""
_CELLS_AT_A_TIME = 100_000
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?")
_TRUTH = re.compile("true|false", re.IGNORECASE)
_QUOTED = "unclosed quote in this row"
_EXPLANATIONS = (
    ("unexpected end", _QUOTED),
    ("larger than field limit", _QUOTED),
    ("expected after", "text after a closing quote: write a quote inside quotes twice"),
    (
        "new-line character",
        "a carriage return outside quotes: save the file with Unix line endings",
    ),
)

Convert = Callable[[str], Any]


_KINDS: tuple[tuple[re.Pattern[str], Convert], ...] = (
    (_TRUTH, lambda cell: cell.lower() == "true"),
    (_NUMBER, msgspec.json.Decoder().decode),
)


class CsvFile:
    """The rows of a `.csv` file."""

    def __init__(self, path: Path, texts: Iterable[str] = (), *, skips_bad: bool = False) -> None:
        """`texts` names columns that are always read as text."""
        self._path = str(path)
        self._texts = {"sample_id", *texts}
        self._skips_bad = skips_bad
        self.unreadable = UnreadableLines(self._path)
        """The skipped lines, complete after the first row."""
        self._bad_lines: set[int] = set()

    @property
    def header(self) -> tuple[str, ...]:
        """The columns, in order."""
        return self._columns[0]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row per record; if any is bad, raise `BadDataset` before the first row."""
        names, converters = self._columns
        for _, cells in self._records(len(names)):
            row: dict[str, Any] = dict(zip(names, cells, strict=True))
            for name, convert in converters:
                if cell := row[name]:
                    row[name] = convert(cell)
            if "" in cells:
                row = {name: cell for name, cell in row.items() if cell != ""}
            yield row

    def lines(self) -> Iterator[int]:
        """Yield the line in which each row starts."""
        return (line for line, _ in self._records(len(self.header)))

    def cells(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the header, and then the cells of each row as text; the file is read once.

        Bad rows are skipped and counted in `unreadable`. Nothing is yielded after a fatal problem.
        """
        faults, bad_lines = self.unreadable, self._bad_lines
        lines = _lines(self._path, faults, bad_lines)
        reader = _reader(lines)
        try:
            first = next(reader, None)
        except csv.Error as error:
            faults.fatal = _explain_error(1, error)
            faults.add(faults.fatal)
            return
        if first is None:  # an empty file
            return
        if not bad_lines.isdisjoint(range(1, reader.line_num + 1)):
            faults.fatal = faults.first[0]
            return
        header = _check_header(show_path(self._path), first)
        yield 1, header
        yield from _good_rows(reader, len(header), faults, bad_lines)

    def _records(self, width: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each row, with its first line; without skipped rows and the header."""
        reader = _reader(_lines(self._path, UnreadableLines(self._path), set()))
        next(reader)
        end = reader.line_num
        for cells in reader:
            start, end = end + 1, reader.line_num
            if not cells:  # a blank line
                continue
            if self._skips_bad and self._is_bad(cells, width, range(start, end + 1)):
                continue
            yield start, cells

    def _is_bad(self, cells: Sequence[str], width: int, lines: range) -> bool:
        return len(cells) != width or not self._bad_lines.isdisjoint(lines)

    @cached_property
    def _columns(self) -> tuple[tuple[str, ...], list[tuple[str, Convert]]]:
        """Read the file once; return the column names, and the converters of non-text columns."""
        faults = self.unreadable
        lines = _lines(self._path, faults, self._bad_lines)
        reader = _reader(lines)
        try:
            first = next(reader, None)
        except csv.Error as error:
            faults.fatal = _explain_error(1, error)
            faults.add(faults.fatal)
            first = None
        header_lines = range(1, reader.line_num + 1)
        is_header_bad = bool(faults.fatal) or not self._bad_lines.isdisjoint(header_lines)
        if faults.count and (is_header_bad or not self._skips_bad):
            # Lines are checked in batches, so some of these lines may come after the header.
            raise faults.error(reader.line_num + sum(1 for _ in lines))
        names = _check_header(show_path(self._path), first)
        rows = _good_rows(reader, len(names), faults, self._bad_lines)
        types = _find_types(names, self._texts, _batches(rows, len(names)))
        if faults.fatal and self._skips_bad:
            faults = UnreadableLines(self._path)  # without the lines that can be skipped
            faults.add(self.unreadable.fatal)
        if faults.count and (self.unreadable.fatal or not self._skips_bad):
            raise faults.error(reader.line_num + sum(1 for _ in lines))
        return names, types


def _find_types(
    names: Sequence[str], texts: set[str], batches: Iterable[list[list[str]]]
) -> list[tuple[str, Convert]]:
    kinds = {name: () if name in texts else _KINDS for name in names}
    filled: set[str] = set()
    for batch in batches:
        for place, name in enumerate(names):
            if kinds[name]:
                cells = {row[place] for row in batch} - {""}
                filled |= {name} if cells else set()
                kinds[name] = tuple(k for k in kinds[name] if all(map(k[0].fullmatch, cells)))
    return [(name, kinds[name][0][1]) for name in names if kinds[name] and name in filled]


def _reader(lines: Iterator[str]) -> "_csv.Reader":
    if csv.field_size_limit() < MAX_LINE_BYTES:  # the limit can be set only for the whole process
        csv.field_size_limit(MAX_LINE_BYTES)
    return csv.reader(lines, strict=True)


def _lines(path: str, faults: UnreadableLines, bad_lines: set[int]) -> Iterator[str]:
    """Yield lines of text with their line endings, because a quoted cell may span lines.

    Lines that are not valid text are counted, added to `bad_lines`, and still yielded, so that
    later problems are found.
    """
    number = 0
    for batch in read_batches(path):
        text = b"\n".join(batch).decode(errors="replace")
        if "\ufffd" in text or BadLine in map(type, batch):
            for place, raw in enumerate(batch, start=number + 1):
                if fault := explain_bytes(place, raw):
                    faults.add(fault)
                    bad_lines.add(place)
        number += len(batch)
        for line in text.split("\n"):
            yield line + "\n"


def _batches(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[list[list[str]]]:
    most = min(_AT_A_TIME, _CELLS_AT_A_TIME // width + 1)
    while batch := [cells for _, cells in islice(rows, most)]:
        yield batch


def _good_rows(
    reader: "_csv.Reader", width: int, faults: UnreadableLines, bad_lines: set[int]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the cells of each good row; add the others to `faults`."""
    line = reader.line_num
    try:
        for cells in reader:
            start, line = line + 1, reader.line_num
            if bad_lines and not bad_lines.isdisjoint(range(start, line + 1)):
                faults.rows += 1
            elif len(cells) == width:
                yield start, cells
            elif cells:
                faults.rows += 1
                detail = f"expected {width} cells as in the header, got {len(cells)}"
                hint = "put a cell that contains a comma in quotes" if len(cells) > width else ""
                faults.add(UnreadableLine(start, None, detail, hint))
    except csv.Error as error:
        faults.fatal = _explain_error(line + 1, error)
        faults.add(faults.fatal)


def _explain_error(line: int, error: csv.Error) -> UnreadableLine:
    message = str(error)
    details = (detail for sign, detail in _EXPLANATIONS if sign in message)
    return UnreadableLine(line, None, next(details, message))


def _check_header(path: str, cells: Sequence[str] | None) -> tuple[str, ...]:
    """Return the column names; `BadDataset` for an empty or duplicate name."""
    if not cells:
        raise BadDataset(f"{path}:1: expected a header with the column names, got nothing")
    if len(cells) > MOST_COLUMNS:
        raise BadDataset(
            f"{path}:1: {len(cells):,} columns, more than {MOST_COLUMNS:,}",
            hint="use a .jsonl file with one row per line, and lists for repeated columns",
        )
    names = [cell.strip() for cell in cells]
    first: dict[str, int] = {}
    if len(names) == 1 and (sign := next((sign for sign in ";\t|" if sign in names[0]), "")):
        raise BadDataset(
            f"{path}:1: expected columns separated by `,`, got one column `{names[0]}`",
            hint=f"the separator seems to be {sign!r}: save the file with commas",
        )
    for place, name in enumerate(names):
        if not name:
            raise BadDataset(
                f"{path}:1: column {place + 1} has no name",
                hint="pandas may have written an index: use to_csv(…, index=False)",
            )
        if (before := first.setdefault(name, place)) < place:
            raise BadDataset(
                f"{path}:1: columns {before + 1} and {place + 1} are both named `{name}`"
            )
    return tuple(names)
