"""Where a generator begins: the rows that its synthesizers are given.

    data_source: { type: empty, num_samples: 100 }
    data_source: { type: inline_samples, samples: [{ topic: rivers }, { topic: moons }] }
    data_source: { type: dataset_samples, key: topics, random_seed: 7 }
    data_source: { type: dataset_sample_combinations, keys: [topics, styles], random_seed: 7 }
    data_source: { type: task_result, key: first-pass }

The dataset says with `num_samples` how many are used; without it, each row of the source is used
once. If more are asked for than there are, the source begins again from its first row, except that
a combination is never used twice. A row that is used again has another `sample_id`.
"""

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct
from pydantic import AfterValidator, Field

from evalwright.components import Component, UserKey
from evalwright.datasets.generating.base import Columns, Row
from evalwright.datasets.generating.drawing import combined, drawn
from evalwright.datasets.plain import plain_row
from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.rows import Rows
from evalwright.errors import BadDataset

Count = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
ID = "sample_id"


def _each_once(keys: tuple[str, ...]) -> tuple[str, ...]:
    """A column is called by its dataset: of two by the same name, one would be gone."""
    twice = next((key for number, key in enumerate(keys) if key in keys[:number]), None)
    if twice is not None:
        raise ValueError(f"`{twice}` stands twice: a column is called by its dataset")
    return keys


class Lookup(Struct, frozen=True):
    """Where a source finds the rows of others."""

    dataset: Callable[[str], Rows]
    result: Callable[[str], Reader]


class Taken(Struct, frozen=True, kw_only=True):
    """The rows that are used."""

    total: int
    rows: Callable[[], Iterator[Row]]
    """Each call begins again."""
    columns: Columns
    digest: str
    """Of the rows that there are; which are used, the document says."""


class DataSource(Component):
    """What all of them have in common."""

    type: str
    """The kind of source."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """The datasets that it reads."""
        return ()

    @property
    def result_key(self) -> str | None:
        """The task result that it reads."""
        return None

    def taken(self, lookup: Lookup, count: int | None) -> Taken:
        """So many rows; `BadDataset` if they cannot be had."""
        raise NotImplementedError


class EmptySource(DataSource):
    """Rows without columns, for synthesizers that need none."""

    type: Literal["empty"]
    """The kind of source."""
    num_samples: Count | None = None
    """How many; the `num_samples` of the dataset wins."""

    def taken(self, lookup: Lookup, count: int | None) -> Taken:
        """As many as are wanted."""
        del lookup
        total = count or self.num_samples
        if total is None:
            raise BadDataset(
                "an `empty` data source does not know how many rows are wanted",
                hint="say `num_samples` there, or in the `generator_specification` of the dataset",
            )
        return Taken(
            total=total,
            rows=lambda: ({} for _ in range(total)),
            columns=frozenset(),
            digest="empty",
        )


class InlineSamples(DataSource):
    """Rows that stand in the document itself."""

    type: Literal["inline_samples"]
    """The kind of source."""
    samples: Annotated[
        list[Annotated[dict[str, Any], AfterValidator(plain_row)]], Field(min_length=1)
    ]
    """One mapping of columns to values a row."""

    def taken(self, lookup: Lookup, count: int | None) -> Taken:
        """From the first on."""
        del lookup
        return _of_rows(lambda: map(dict, self.samples), len(self.samples), count)


class DatasetSamples(DataSource):
    """Rows of a dataset."""

    type: Literal["dataset_samples"]
    """The kind of source."""
    key: UserKey
    """The dataset."""
    random_seed: Seed | None = None
    """Which rows are drawn, where fewer are used than there are; without it, the first."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """The one."""
        return (self.key,)

    def taken(self, lookup: Lookup, count: int | None) -> Taken:
        """Drawn by the seed, in their own order."""
        rows = lookup.dataset(self.key)
        total = rows.check()
        return Taken(
            total=total if count is None else count,
            rows=lambda: _repeated(rows.rows, total, count, self.random_seed),
            columns=frozenset(rows.columns()),
            digest=rows.digest,
        )


class DatasetSampleCombinations(DataSource):
    """Rows of several datasets, each with each: a column a dataset, with its row in it."""

    type: Literal["dataset_sample_combinations"]
    """The kind of source."""
    keys: Annotated[tuple[UserKey, ...], Field(min_length=2), AfterValidator(_each_once)]
    """The datasets: `{{ sample.KEY.column }}` is a value of the row of one of them."""
    random_seed: Seed | None = None
    """Which combinations are drawn, where fewer are used than there are; without it, the first."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """All of them."""
        return self.keys

    def taken(self, lookup: Lookup, count: int | None) -> Taken:
        """Only rows that are in a combination which is used are kept in memory."""
        opened = [lookup.dataset(key) for key in self.keys]
        try:
            places = combined([one.check() for one in opened], count, self.random_seed)
        except ValueError as error:
            raise BadDataset(f"{', '.join(self.keys)}: {error}") from error
        needed = [{each[number] for each in places} for number in range(len(opened))]

        def rows() -> Iterator[Row]:
            kept = [
                {place: row for place, row in enumerate(one.rows()) if place in wanted}
                for one, wanted in zip(opened, needed, strict=True)
            ]
            for each in places:
                found = (rows[place] for rows, place in zip(kept, each, strict=True))
                yield dict(zip(self.keys, found, strict=True))

        return Taken(
            total=len(places),
            rows=rows,
            columns=frozenset(self.keys),
            digest=_joined(one.digest for one in opened),
        )


class TaskResultSamples(DataSource):
    """What became of the samples of a task, in an earlier run."""

    type: Literal["task_result"]
    """The kind of source."""
    key: str
    """The key of its task specification."""
    ai_app_key: str | None = None
    """Taken and without effect: the results are those of this project."""

    @property
    def result_key(self) -> str | None:
        """The one."""
        return self.key

    def taken(self, lookup: Lookup, count: int | None) -> Taken:
        """From the first sample on; each has `sample`, `solver_output`, `scores` and `errors`."""
        reader = lookup.result(self.key)
        total = sum(1 for _ in reader.rows())
        if not total:
            raise BadDataset(f"the result of `{self.key}` has no samples")
        header = reader.header
        return Taken(
            total=total if count is None else count,
            rows=lambda: _repeated(reader.rows, total, count, None),
            columns=None if header is None else frozenset(header),
            digest=reader.digest,
        )


AnyDataSource = Annotated[
    EmptySource | InlineSamples | DatasetSamples | DatasetSampleCombinations | TaskResultSamples,
    Field(discriminator="type"),
]


def _of_rows(rows: Callable[[], Iterator[Row]], total: int, count: int | None) -> Taken:
    return Taken(
        total=total if count is None else count,
        rows=lambda: _repeated(rows, total, count, None),
        columns=frozenset(name for row in rows() for name in row),
        digest=digest_of(rows()),
    )


def _repeated(
    rows: Callable[[], Iterator[Row]], total: int, count: int | None, seed: int | None
) -> Iterator[Row]:
    """The rows of each round; from the second on they are called otherwise."""
    there, at, turn = rows(), 0, 0
    for number, place in drawn(total, count, seed):
        if number != turn:
            there, at, turn = rows(), 0, number
        row = next(islice(there, place - at, None))
        at = place + 1
        yield row if not turn else _renamed(row, f"{row.get(ID)}~{turn + 1}")


def numbered(rows: list[Row]) -> list[Row]:
    """Several rows of one: those that have the same `sample_id` are told apart by a number."""
    given: Mapping[Any, int] = _counted(str(row[ID]) for row in rows if ID in row)
    return [
        _renamed(row, f"{row[ID]}.{number}") if ID in row and given[str(row[ID])] > 1 else row
        for number, row in enumerate(rows, start=1)
    ]


def _renamed(row: Row, name: str) -> Row:
    return {**row, ID: name} if row.get(ID) is not None else row


def _counted(names: Iterator[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _joined(digests: Iterator[str]) -> str:
    return blake2b(msgspec.json.encode(list(digests)), digest_size=16).hexdigest()
