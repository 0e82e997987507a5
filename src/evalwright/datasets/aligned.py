"""Several datasets side by side, joined by the places of their rows.

    definition:
      dataset:
        keys: ["<< config.questions >>", "<< config.answers >>"]

    sample = {"questions": {…}, "answers": {…}}

The names are those of the parameters, so a task reads the same whichever datasets it is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import islice, zip_longest
from operator import itemgetter
from typing import Any

import msgspec

from evalwright.datasets.rows import Rows, identified
from evalwright.errors import BadDataset

Row = dict[str, Any]


class Aligned:
    """One row of each dataset, under the name of the parameter that named it."""

    def __init__(self, parts: Mapping[str, Rows]) -> None:
        if not parts:
            raise ValueError("expected at least one dataset, got none")
        self.parts = dict(parts)
        """Each of them, by its name."""
        self.name = " + ".join(part.name for part in self.parts.values())

    @cached_property
    def digest(self) -> str:
        """Of all of them, and of their names."""
        parts = [[name, part.digest] for name, part in self.parts.items()]
        return blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()

    def rows(self) -> Iterator[Row]:
        """Joined rows; `BadDataset` where one dataset ends and another does not."""
        names = list(self.parts)
        for rows in zip_longest(*(part.rows() for part in self.parts.values())):
            if None in rows:
                raise BadDataset(
                    f"datasets used together must have as many rows: {self._lengths()}",
                    hint="row 0 goes with row 0, row 1 with row 1, and so on",
                )
            yield dict(zip(names, rows, strict=True))

    def together(
        self, places: Sequence[int] | None = None, asked: Sequence[int] | None = None
    ) -> dict[str, list[Row]]:
        """Rows of each, apart: what a scorer of all samples is given.

        Of the rows at `places`, those that it is `asked` about, by their number among them. Where
        these are all rows of the first dataset, the others are whole, however many rows they have;
        else each has the rows of the same places, as far as it has any there.
        """
        whole = {name: list(part.rows()) for name, part in self.parts.items()}
        if places is None:
            return whole
        wanted = list(places) if asked is None else [places[one] for one in asked]
        first = next(iter(whole.values()))
        if wanted == list(range(len(first))):
            return whole
        return {
            name: [rows[place] for place in wanted if place < len(rows)]
            for name, rows in whole.items()
        }

    def identified(self) -> Iterator[tuple[str, Row]]:
        """Each joined row with the id that its row of the first dataset has."""
        first = next(iter(self.parts))
        return identified(self.rows, name=self.name, of=itemgetter(first))

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
        """The names of the datasets; what is in them, `parts` knows."""
        return tuple(self.parts)

    def _lengths(self) -> str:
        return ", ".join(f"`{name}` has {part.check()}" for name, part in self.parts.items())
