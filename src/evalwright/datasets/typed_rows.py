"""Rows whose columns have declared types, and what happens to rows that do not fit.

    source:
      type: local
      file_path: people.csv
      columns: { age: int, joined: date }
      on_bad_rows: exclude        # or fail (the default), or keep

`fail` reports all bad rows in one error. `exclude` leaves them out and counts them. `keep` keeps
the values that do not fit as they are and counts the rows. `exclude` also leaves out the lines of a
file that cannot be read: lines that are not JSON, items that are not objects, rows of a CSV file
with too many or too few cells, and text that is not UTF-8.

A file that ends inside a quoted cell, or that is not text at all, is an error in every case.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from evalwright.datasets.column_types import ColumnType, ColumnTypes
from evalwright.datasets.faults import UnreadableLine, UnreadableLines
from evalwright.datasets.reading import Reader
from evalwright.errors import BadDataset
from evalwright.nearest import suggest

BadRowPolicy = Literal["fail", "exclude", "keep"]
MOST_PROBLEMS = 100
"""Maximum number of bad rows of which the details are kept; all are counted."""
_MOST_NAMED = 12


class BadRows:
    """The rows that were excluded or kept although they are bad, after the last row was read."""

    def __init__(self, file: str, policy: BadRowPolicy) -> None:
        self.file, self.policy = file, policy
        self.count = 0
        self.first: list[UnreadableLine] = []
        """The first bad rows, in file order."""

    @property
    def left_out_count(self) -> int:
        """The number of rows that were left out."""
        return self.count if self.policy == "exclude" else 0


class TypedRows:
    """The rows of a reader, with the declared types."""

    def __init__(
        self,
        reader: Reader,
        *,
        name: str,
        columns: Mapping[str, ColumnType],
        policy: BadRowPolicy,
    ) -> None:
        self._reader, self._name = reader, name
        self._columns, self._policy = dict(columns), policy
        self.bad = BadRows(name, policy)
        """The bad rows of the last complete reading."""

    @cached_property
    def digest(self) -> str:
        """Hash of the rows, the types and the policy."""
        options = [self._reader.digest, sorted(self._columns.items()), self._policy]
        return f"typed:{blake2b(msgspec.json.encode(options), digest_size=16).hexdigest()}"

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns of the reader."""
        return self._reader.header

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows; with the policy `fail`, raise for all bad rows after the last one."""
        self._check_columns(self._reader.header)
        convert = ColumnTypes(self._columns).convert
        keeps, fails = self._policy == "keep", self._policy == "fail"
        problems: dict[int, str] = {}
        count, number = 0, -1
        unseen = set(self._columns) if self._reader.header is None else set()
        columns: dict[str, None] = {}
        for number, row in enumerate(self._reader.rows()):
            if unseen:
                unseen.difference_update(row)
                columns.update(dict.fromkeys(row))
            if problem := convert(row):
                count += 1
                if count <= MOST_PROBLEMS:
                    problems[number] = problem
                if not keeps:
                    continue
            if not (fails and count):
                yield row
        if fails and count:
            raise self._error(problems, count, number + 1)
        if unseen and number >= 0:
            self._check_columns(tuple(columns))
        self._count_bad(problems, count)

    def lines(self) -> Iterator[int]:
        """Yield the line in which each row starts, or minus its number if there are no lines."""
        convert = ColumnTypes(self._columns).convert
        for line, row in zip(read_lines(self._reader), self._reader.rows(), strict=False):
            if self._policy != "exclude" or not convert(row):
                yield line

    def _count_bad(self, problems: Mapping[int, str], count: int) -> None:
        bad = BadRows(self._name, self._policy)
        unreadable: UnreadableLines | None = getattr(self._reader, "unreadable", None)
        faults = [*self._faults(problems)]
        if unreadable is not None and self._policy == "exclude":
            count += unreadable.rows
            faults = sorted([*faults, *unreadable.first], key=lambda fault: abs(fault.line))
        bad.count, bad.first = count, faults[:MOST_PROBLEMS]
        self.bad = bad

    def _faults(self, problems: Mapping[int, str]) -> Iterator[UnreadableLine]:
        """Yield the problems with their lines, which are read again."""
        if not problems:
            return
        last = max(problems)
        for number, line in enumerate(read_lines(self._reader)):
            if number in problems:
                yield UnreadableLine(line, None, problems[number])
            if number == last:
                return

    def _error(self, problems: Mapping[int, str], count: int, total: int) -> BadDataset:
        faults = UnreadableLines(self._name, what="rows do not fit")
        for fault in self._faults(problems):
            faults.add(fault, once=False)
        faults.count = count
        error = faults.error(total)
        hint = "correct the values, or set `on_bad_rows: exclude` to leave these rows out"
        return BadDataset(error.message, hint=hint)

    def _check_columns(self, names: tuple[str, ...] | None) -> None:
        for column in self._columns if names is not None else ():
            if column not in (names or ()):
                has = ", ".join(f"`{name}`" for name in (names or ())[:_MOST_NAMED])
                raise BadDataset(
                    f"{self._name}: `columns` declares `{column}`, which no row has; it has {has}",
                    hint=suggest(column, list(names or ())),
                )


def read_lines(reader: Reader) -> Iterator[int]:
    """Yield the line in which each row of a reader starts, or minus its number, from 0."""
    lines = getattr(reader, "lines", None)
    return lines() if lines else (-number for number, _ in enumerate(reader.rows()))
