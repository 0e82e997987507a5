"""The rows of a dataset: filtered, identified, and checked to be non-empty.

    rows = Rows(reader, name="qa.csv", filters=(…,))
    rows.check()          # reads all rows once: finds bad lines, duplicate ids, no rows
    for sample_id, row in rows.identify(): ...

Memory: one number per row that has a `sample_id`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import count, islice, zip_longest
from operator import itemgetter
from typing import Any, Literal

import msgspec

from evalwright.datasets.faults import place_of
from evalwright.datasets.reading import Reader
from evalwright.datasets.typed_rows import BadRows, read_lines
from evalwright.errors import BadDataset, StageError, boundary
from evalwright.rules.filters import AnyFilter

Row = dict[str, Any]
Missing = Literal["absent", "nan"]
_VERSION = 1
"""Part of every digest. Increase it when the same bytes are read as different rows."""
_EXISTENCE = ("exists", "not_exists")


class CheckedRows:
    """Base class of datasets that can be checked. Subclasses implement `rows`."""

    name: str
    """Name of the dataset in messages."""
    _find_bearer: Callable[[Row], Row] | None = None
    """Returns the part of a row that contains the id."""

    @abstractmethod
    def rows(self) -> Iterator[Row]:
        """Yield the rows; each call starts from the first row."""

    def identify(self) -> Iterator[tuple[str, Row]]:
        """Yield each row with its id: the `sample_id`, or the position, from 0."""
        return identify_rows(self.rows, name=self.name, of=self._find_bearer, place=self.place)

    @abstractmethod
    def place(self, number: int) -> str:
        """Return where a row is, for messages: `qa.csv:7`, or `qa.parquet: row 7`."""

    @property
    @abstractmethod
    def bad_rows(self) -> Sequence[BadRows]:
        """The bad rows that `on_bad_rows` excluded or kept, after all rows have been read."""

    def check(self) -> int:
        """Read and count all rows; raise `BadDataset` if any is invalid."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self.identify())


class Rows(CheckedRows):
    """A dataset with its filters. Each call of `rows()` starts from the first row."""

    def __init__(
        self,
        reader: Reader,
        *,
        name: str,
        filters: Sequence[AnyFilter] = (),
        missing: Missing = "absent",
    ) -> None:
        self.name = name
        self._reader = reader
        self._filters = tuple(filters)
        self._missing = missing

    @cached_property
    def digest(self) -> str:
        """Hash of the content, the filters and the options: equal digests mean equal rows."""
        filters = [condition.model_dump(mode="json") for condition in self._filters]
        parts = [_VERSION, self._reader.digest, filters, self._missing]
        return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def place(self, number: int) -> str:
        """Return where a row is, for messages; the file is read again up to this row."""
        numbers: Iterable[int] = (
            (place for place, _ in self._filter()) if self._filters else count()
        )
        lines = read_lines(self._reader)
        line, before = 0, -1
        for place in islice(numbers, number + 1):
            line = next(islice(lines, place - before - 1, None), -place)
            before = place
        return place_of(self.name, line)

    @property
    def bad_rows(self) -> Sequence[BadRows]:
        """The bad rows that `on_bad_rows` excluded or kept, after all rows have been read."""
        bad: BadRows | None = getattr(self._reader, "bad", None)
        return (bad,) if bad and bad.count else ()

    def rows(self) -> Iterator[Row]:
        """Yield the rows that pass all filters; raise `BadDataset` if there are none."""
        filtered = (row for _, row in self._filter())
        rows: Iterable[Row] = filtered if self._filters else self._reader.rows()
        if self._missing == "nan":
            rows = self._fill(rows)
        empty = True
        for row in rows:
            empty = False
            yield row
        if empty and not self._filters:
            raise BadDataset(f"{self.name}: no rows{self._explain_excluded()}")

    def _explain_excluded(self) -> str:
        excluded = sum(bad.left_out_count for bad in self.bad_rows)
        return f"; `on_bad_rows: exclude` left out {excluded}" if excluded else ""

    def located_rows(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows that pass all filters, each with its line, or minus its number."""
        lines = read_lines(self._reader)
        rows = self._filter() if self._filters else enumerate(self._reader.rows())
        before = -1
        for number, row in rows:
            yield next(islice(lines, number - before - 1, None), -number), row
            before = number

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns of all rows, in order of first appearance."""
        if (header := self._reader.header) is not None:
            return header
        columns: dict[str, None] = {}
        for row in self._reader.rows():
            if row.keys() != columns.keys():
                columns.update(dict.fromkeys(row))
        return tuple(columns)

    @property
    def leaves_out(self) -> bool:
        """Whether bad rows are left out."""
        bad: BadRows | None = getattr(self._reader, "bad", None)
        return bad is not None and bad.policy == "exclude"

    def _fill(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Set missing values to NaN, as in data frames."""
        blank = dict.fromkeys(self.columns, math.nan)
        width = len(blank)
        for row in rows:
            yield row if len(row) == width else {**blank, **row}

    def _filter(self) -> Iterator[tuple[int, Row]]:
        """Yield the rows that pass all filters, with their numbers before filtering."""
        header = self._reader.header
        dropped = [0] * len(self._filters)
        is_empty = True
        for number, row in enumerate(self._reader.rows()):
            if (place := self._failed_filter(number, row, header)) is None:
                is_empty = False
                yield number, row
            else:
                dropped[place] += 1
        if is_empty:
            raise BadDataset(f"{self.name}: {_explain_empty(dropped)}", hint="relax a filter")

    def _failed_filter(self, number: int, row: Row, header: tuple[str, ...] | None) -> int | None:
        original = row
        if header and len(row) < len(header):
            # In a comparison, an empty cell is an empty string, not a missing column.
            row = {**dict.fromkeys(header, ""), **row}
        place = 0
        try:
            with boundary("dataset"):
                for place, condition in enumerate(self._filters):
                    seen = original if condition.op in _EXISTENCE else row
                    if not condition.matches({**seen, "sample": seen}):
                        return place
        except StageError as error:
            line = next(islice(read_lines(self._reader), number, None), -number)
            where = f"{place_of(self.name, line)}: filters[{place}]"
            raise BadDataset(f"{where}: {error.message}", hint=error.hint) from error
        return None


class AlignedRows(CheckedRows):
    """Datasets joined row by row, with one key per dataset parameter.

    dataset: {keys: ["<< config.questions >>", "<< config.answers >>"]}
    sample = {"questions": {…}, "answers": {…}}
    """

    def __init__(self, parts: Mapping[str, Rows]) -> None:
        if not parts:
            raise ValueError("expected at least one dataset, got none")
        self.parts = dict(parts)
        """The datasets, by parameter name."""
        self.name = " + ".join(part.name for part in self.parts.values())
        self._first = next(iter(self.parts))
        self._find_bearer = itemgetter(self._first)

    @cached_property
    def digest(self) -> str:
        """Hash of all datasets and their names."""
        parts = [[name, part.digest] for name, part in self.parts.items()]
        return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def rows(self) -> Iterator[Row]:
        """Yield joined rows; raise `BadDataset` if the datasets differ in length."""
        names = list(self.parts)
        self._refuse_excluded()
        for rows in zip_longest(*(part.rows() for part in self.parts.values())):
            if None in rows:
                parts = self.parts.items()
                lengths = ", ".join(f"`{name}` has {part.check()}" for name, part in parts)
                raise BadDataset(
                    f"joined datasets must have the same number of rows: {lengths}",
                    hint="row 0 is joined with row 0, row 1 with row 1, and so on",
                )
            yield dict(zip(names, rows, strict=True))

    def place(self, number: int) -> str:
        """Return where a row of the first dataset is."""
        return self.parts[self._first].place(number)

    @property
    def bad_rows(self) -> Sequence[BadRows]:
        """The bad rows of all datasets."""
        return [bad for part in self.parts.values() for bad in part.bad_rows]

    def _refuse_excluded(self) -> None:
        """Raise if rows were left out: the others would be joined with the wrong rows."""
        if len(self.parts) == 1:
            return
        for name, part in self.parts.items():
            if part.leaves_out:
                part.check()
            if excluded := sum(bad.left_out_count for bad in part.bad_rows):
                raise BadDataset(
                    f"`{name}` leaves out {excluded} bad rows, so it cannot be joined by position",
                    hint="correct these rows, or use `on_bad_rows: fail` or `keep`",
                )

    def together(self, places: Sequence[int], numbers: Sequence[int]) -> dict[str, list[Row]]:
        """Return the rows of each dataset, for a scorer that reads all samples.

        `places` are the positions of the selected rows, and `numbers` selects some of these. If the
        result contains all rows of the first dataset, the other datasets are returned in full,
        whatever their length. Otherwise each dataset has the rows at the same positions, as far as
        they exist.
        """
        whole = {name: list(part.rows()) for name, part in self.parts.items()}
        selected = [places[number] for number in numbers]
        first = next(iter(whole.values()))
        if selected == list(range(len(first))):
            return whole
        return {
            name: [rows[place] for place in selected if place < len(rows)]
            for name, rows in whole.items()
        }


def identify_rows(
    rows: Callable[[], Iterable[Row]],
    *,
    name: str,
    of: Callable[[Row], Row] | None = None,
    place: Callable[[int], str] | None = None,
) -> Iterator[tuple[str, Row]]:
    """Yield each row with its id; `BadDataset` if ids are duplicate or missing in some rows.

    Only hashes of the ids are kept. If two hashes are equal, the rows are read again to compare the
    ids, so each call of `rows` must start from the first row. `of` returns the part of a row that
    contains the id, and `place` returns where a row is.
    """
    locate = place or (lambda number: f"{name}: row {number}")
    seen: set[int] = set()
    named = None
    for number, row in enumerate(rows()):
        bearer = of(row) if of else row
        sample_id = _parse_id(bearer, locate, number)
        if named is None:
            named = sample_id is not None
        elif named is (sample_id is None):
            has, have = ("no", "one") if named else ("a", "none")
            raise BadDataset(
                f"{locate(number)}: this row has {has} `sample_id`, "
                f"but the rows before it have {have}",
                hint="set it in every row or in none",
            )
        if sample_id is None:
            yield str(number), row
            continue
        mark = hash(sample_id)
        if mark in seen:
            before = islice(rows(), number)
            _refuse_duplicate_id(
                map(of, before) if of else before, bearer, sample_id, (name, locate, number)
            )
        seen.add(mark)
        yield sample_id, row


def _parse_id(row: Row, locate: Callable[[int], str], number: int) -> str | None:
    value = row.get("sample_id")
    if type(value) is str and value:
        return value
    if value is None or (type(value) is float and math.isnan(value)):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    got = "an empty string" if value == "" else f"a `{type(value).__name__}`"
    raise BadDataset(f"{locate(number)}: `sample_id` must be a string or a number, got {got}")


def _refuse_duplicate_id(
    before: Iterable[Row],
    row: Row,
    sample_id: str,
    where: tuple[str, Callable[[int], str], int],
) -> None:
    name, locate, number = where
    for place, other in enumerate(before):
        if str(other.get("sample_id")) == sample_id:
            files = [str(each["file_name"]) for each in (other, row) if "file_name" in each]
            both = " and ".join(files or (locate(place), locate(number)))
            raise BadDataset(f"{name}: two rows have the `sample_id` `{sample_id}` ({both})")


def _explain_empty(dropped: Sequence[int]) -> str:
    total = sum(dropped)
    if not total:
        return "no rows"
    each = ", ".join(f"filters[{place}] dropped {count}" for place, count in enumerate(dropped))
    s = "s" if len(dropped) > 1 else ""
    return f"none of the {total} rows passed {len(dropped)} filter{s}: {each}"
