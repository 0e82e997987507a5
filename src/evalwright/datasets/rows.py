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
from itertools import islice, zip_longest
from operator import itemgetter
from typing import Any, Literal

import msgspec

from evalwright.datasets.reading import Reader
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
        return identify_rows(self.rows, name=self.name, of=self._find_bearer)

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

    def rows(self) -> Iterator[Row]:
        """Yield the rows that pass all filters; raise `BadDataset` if there are none."""
        rows: Iterable[Row] = self._filter() if self._filters else self._reader.rows()
        if self._missing == "nan":
            rows = self._fill(rows)
        empty = True
        for row in rows:
            empty = False
            yield row
        if empty and not self._filters:
            raise BadDataset(f"{self.name}: no rows")

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

    def _fill(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Set missing values to NaN, as in data frames."""
        blank = dict.fromkeys(self.columns, math.nan)
        width = len(blank)
        for row in rows:
            yield row if len(row) == width else {**blank, **row}

    def _filter(self) -> Iterator[Row]:
        header = self._reader.header
        dropped = [0] * len(self._filters)
        is_empty = True
        for number, row in enumerate(self._reader.rows()):
            if (place := self._failed_filter(number, row, header)) is None:
                is_empty = False
                yield row
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
            where = f"{self.name}: row {number}: filters[{place}]"
            raise BadDataset(f"{where}: {error}", hint=error.hint) from error
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
        self._find_bearer = itemgetter(next(iter(self.parts)))

    @cached_property
    def digest(self) -> str:
        """Hash of all datasets and their names."""
        parts = [[name, part.digest] for name, part in self.parts.items()]
        return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def rows(self) -> Iterator[Row]:
        """Yield joined rows; raise `BadDataset` if the datasets differ in length."""
        names = list(self.parts)
        for rows in zip_longest(*(part.rows() for part in self.parts.values())):
            if None in rows:
                parts = self.parts.items()
                lengths = ", ".join(f"`{name}` has {part.check()}" for name, part in parts)
                raise BadDataset(
                    f"joined datasets must have the same number of rows: {lengths}",
                    hint="row 0 is joined with row 0, row 1 with row 1, and so on",
                )
            yield dict(zip(names, rows, strict=True))

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
    rows: Callable[[], Iterable[Row]], *, name: str, of: Callable[[Row], Row] | None = None
) -> Iterator[tuple[str, Row]]:
    """Yield each row with its id; `BadDataset` if ids are duplicate or missing in some rows.

    Only hashes of the ids are kept. If two hashes are equal, the rows are read again to compare the
    ids, so each call of `rows` must start from the first row. `of` returns the part of a row that
    contains the id.
    """
    seen: set[int] = set()
    named = None
    for number, row in enumerate(rows()):
        bearer = of(row) if of else row
        sample_id = _parse_id(bearer, name, number)
        if named is None:
            named = sample_id is not None
        elif named is (sample_id is None):
            has, have = ("no", "one") if named else ("a", "none")
            raise BadDataset(
                f"{name}: row {number} has {has} `sample_id`, but the rows before it have {have}",
                hint="set it in every row or in none",
            )
        if sample_id is None:
            yield str(number), row
            continue
        mark = hash(sample_id)
        if mark in seen:
            before = islice(rows(), number)
            _refuse_duplicate_id(map(of, before) if of else before, bearer, sample_id, name)
        seen.add(mark)
        yield sample_id, row


def _parse_id(row: Row, name: str, number: int) -> str | None:
    value = row.get("sample_id")
    if type(value) is str and value:
        return value
    if value is None or (type(value) is float and math.isnan(value)):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    got = "an empty string" if value == "" else f"a `{type(value).__name__}`"
    raise BadDataset(f"{name}: row {number}: `sample_id` must be a string or a number, got {got}")


def _refuse_duplicate_id(before: Iterable[Row], row: Row, sample_id: str, name: str) -> None:
    for other in before:
        if str(other.get("sample_id")) == sample_id:
            files = [str(each["file_name"]) for each in (other, row) if "file_name" in each]
            where = f" ({' and '.join(files)})" if files else ""
            raise BadDataset(f"{name}: two rows have the `sample_id` `{sample_id}`{where}")


def _explain_empty(dropped: Sequence[int]) -> str:
    total = sum(dropped)
    if not total:
        return "no rows"
    each = ", ".join(f"filters[{place}] dropped {count}" for place, count in enumerate(dropped))
    s = "s" if len(dropped) > 1 else ""
    return f"none of the {total} rows passed {len(dropped)} filter{s}: {each}"
