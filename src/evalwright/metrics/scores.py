"""The scores that a metric is made of: as columns, or whole where a metric asks for that."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from evalwright.metrics.column import Column
from evalwright.nearest import nearest

_MOST_NAMES = 200
"""Field names that are remembered for a message."""


class Record(Struct, frozen=True):
    """The score of one sample."""

    values: Mapping[str, Any]
    metadata: Mapping[str, Any]


class Scores:
    """The scores of one scorer, of all samples that count.

    `fields` says which are kept; None keeps whole records.
    """

    def __init__(self, fields: Collection[str] | None) -> None:
        self.n = 0
        self._columns = {field: Column(field) for field in fields or ()}
        self._records: list[Record] | None = [] if fields is None else None
        self._names: dict[str, None] = {}

    def add(self, values: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """The score of one more sample."""
        self.n += 1
        if self._records is not None:
            self._records.append(Record(values, metadata))
        for field, column in self._columns.items():
            if field in values:
                column.add(values[field])
            else:
                column.skip()
        if len(self._names) < _MOST_NAMES:
            self._names.update(dict.fromkeys(values))

    def column(self, field: str) -> Column:
        """The values of a field; ValueError, with the fields there are, if no score has it."""
        if field not in self._columns:
            self._columns[field] = self._gathered(field)
        column = self._columns[field]
        if self.n and not column.present:
            names = list(self._names)
            close = nearest(field, names)
            hint = f"; did you mean `{close}`?" if close else ""
            there = ", ".join(f"`{name}`" for name in names) or "none"
            raise ValueError(f"no score has the field `{field}`; there are: {there}{hint}")
        return column

    def has(self, field: str) -> bool:
        """Whether any score has a field; of none, nobody knows."""
        if field in self._columns:
            return not self.n or bool(self._columns[field].present)
        return not self.n or field in self._names

    def within_unit(self, field: str) -> bool:
        """Whether every value of a field is a number from 0 to 1, or there is none."""
        values, there = self.column(field).numbers()
        known = values[there]
        return bool(((known >= 0) & (known <= 1)).all())

    def records(self) -> Iterator[Record]:
        """Every score, whole."""
        if self._records is None:
            raise ValueError("these scores were kept as columns, not as records")
        return iter(self._records)

    def _gathered(self, field: str) -> Column:
        column = Column(field)
        for record in self.records():
            if field in record.values:
                column.add(record.values[field])
            else:
                column.skip()
        return column
