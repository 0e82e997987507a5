"""The rows of a dataset: filtered, identified, and never none.

    rows = Rows(reader, name="qa.csv", filters=(…,))
    rows.check()          # reads all of it once: bad lines, ids given twice, nothing left
    for sample_id, row in rows.identified(): ...

Nothing is kept but, where rows have a `sample_id`, a number for each of them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, Protocol

import msgspec

from evalwright.datasets.reading import Reader
from evalwright.errors import BadDataset, StageError, boundary

Row = dict[str, Any]
Missing = Literal["absent", "nan"]
_VERSION = 1
"""Grows when the same bytes become other rows: it is part of every digest."""
_ASKS_WHETHER = ("exists", "not_exists")


class Filter(Protocol):
    """What a row must satisfy; `rules.filters` has them."""

    op: Any

    def matches(self, variables: Any) -> bool:
        """Whether these variables satisfy it."""
        ...

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """As it was written."""
        ...


class Rows:
    """A dataset, ready to be read. Each `rows()` begins again."""

    def __init__(
        self,
        reader: Reader,
        *,
        name: str,
        filters: Sequence[Filter] = (),
        missing: Missing = "absent",
    ) -> None:
        self.name = name
        """What messages call it."""
        self._reader = reader
        self._filters = tuple(filters)
        self._missing = missing

    @cached_property
    def digest(self) -> str:
        """Of the content, the filters and the options: the same digest, the same rows."""
        filters = [one.model_dump(mode="json") for one in self._filters]
        parts = [_VERSION, self._reader.digest, filters, self._missing]
        return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def rows(self) -> Iterator[Row]:
        """Those that pass all filters; `BadDataset` at the end if there was none."""
        rows: Iterable[Row] = self._filtered() if self._filters else self._reader.rows()
        if self._missing == "nan":
            rows = self._filled(rows)
        empty = True
        for row in rows:
            empty = False
            yield row
        if empty and not self._filters:
            raise BadDataset(f"{self.name}: no rows")

    def identified(self) -> Iterator[tuple[str, Row]]:
        """Each row with its id: its `sample_id`, or its place among the rows, from 0."""
        return identified(self.rows, name=self.name)

    def check(self) -> int:
        """Read all of it once; how many rows there are, or `BadDataset` says what is wrong."""
        return self._count

    @cached_property
    def _count(self) -> int:
        return sum(1 for _ in self.identified())

    def first_rows(self, count: int) -> list[Row]:
        """The first few, to look at."""
        return list(islice(self.rows(), count))

    def columns(self) -> tuple[str, ...]:
        """Every column that some row has, in the order of their first rows."""
        return self._columns

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        if (header := self._reader.header) is not None:
            return header
        found: dict[str, None] = {}
        known = found.keys()
        for row in self._reader.rows():
            if row.keys() != known:
                found.update(dict.fromkeys(row))
        return tuple(found)

    def _filled(self, rows: Iterable[Row]) -> Iterator[Row]:
        """What a row has not is NaN, as where tables are data frames."""
        blank = dict.fromkeys(self.columns(), math.nan)
        width = len(blank)
        for row in rows:
            yield row if len(row) == width else {**blank, **row}

    def _filtered(self) -> Iterator[Row]:
        header = self._reader.header
        dropped = [0] * len(self._filters)
        kept = 0
        for number, row in enumerate(self._reader.rows()):
            if (place := self._refused(number, row, header)) is None:
                kept += 1
                yield row
            else:
                dropped[place] += 1
        if not kept:
            raise BadDataset(f"{self.name}: {_none_left(dropped)}", hint="loosen a filter")

    def _refused(self, number: int, row: Row, header: tuple[str, ...] | None) -> int | None:
        """The place of the first filter that the row does not pass."""
        bare = row
        if header and len(row) < len(header):
            # To a comparison an empty cell is an empty text, not a column that is not there.
            row = {**dict.fromkeys(header, ""), **row}
        place = 0
        try:
            with boundary("dataset"):
                for place, one in enumerate(self._filters):
                    seen = bare if one.op in _ASKS_WHETHER else row
                    if not one.matches({**seen, "sample": seen}):
                        return place
        except StageError as error:
            where = f"{self.name}: row {number}: filters[{place}]"
            raise BadDataset(f"{where}: {error}", hint=error.hint) from error
        return None


def identified(
    rows: Callable[[], Iterable[Row]], *, name: str, of: Callable[[Row], Row] | None = None
) -> Iterator[tuple[str, Row]]:
    """Each row with its id; `BadDataset` if two have the same, or only some have one.

    Of the ids only hashes are kept. Where two are equal, the rows are read again to see whether
    the ids are: `rows` begins again each time it is called. `of` says where in a row its id is,
    where that is not the row itself.
    """
    seen: set[int] = set()
    named = None
    for number, row in enumerate(rows()):
        bearer = of(row) if of else row
        given = _given(bearer, name, number)
        if named is None:
            named = given is not None
        elif named is (given is None):
            has, have = ("no", "one") if named else ("a", "none")
            raise BadDataset(
                f"{name}: row {number} has {has} `sample_id`, the rows before it have {have}",
                hint="give one to every row or to none",
            )
        if given is None:
            yield str(number), row
            continue
        mark = hash(given)
        if mark in seen:
            before = islice(rows(), number)
            _refuse_twice(map(of, before) if of else before, bearer, given, name)
        seen.add(mark)
        yield given, row


def _given(row: Row, name: str, number: int) -> str | None:
    """The id that a row brings, as text."""
    found = row.get("sample_id")
    if type(found) is str and found:
        return found
    if found is None or (type(found) is float and math.isnan(found)):
        return None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return str(found)
    got = "an empty text" if found == "" else f"a `{type(found).__name__}`"
    raise BadDataset(f"{name}: row {number}: `sample_id` must be a text or a number, got {got}")


def _refuse_twice(before: Iterable[Row], row: Row, given: str, name: str) -> None:
    for other in before:
        if str(other.get("sample_id")) == given:
            files = [str(one["file_name"]) for one in (other, row) if "file_name" in one]
            where = f" ({' and '.join(files)})" if files else ""
            raise BadDataset(f"{name}: two rows have the `sample_id` `{given}`{where}")


def _none_left(dropped: Sequence[int]) -> str:
    total = sum(dropped)
    if not total:
        return "no rows"
    each = ", ".join(f"filters[{place}] dropped {count}" for place, count in enumerate(dropped))
    s = "s" if len(dropped) > 1 else ""
    return f"no rows left of {total} after {len(dropped)} filter{s}: {each}"
