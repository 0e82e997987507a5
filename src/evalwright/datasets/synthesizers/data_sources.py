"""Data sources of a generator: the rows that its synthesizers start from.

    dataset: { type: empty, num_samples: 100 }
    dataset: { type: inline_samples, samples: [{ topic: rivers }, { topic: moons }] }
    dataset: { type: dataset_samples, key: topics, random_seed: 7 }
    dataset: { type: dataset_sample_combinations, keys: [topics, styles], random_seed: 7 }
    dataset: { type: task_result, ai_app_key: my-app, key: first-pass }

`select_pass` yields each row of the source once. A generator that needs more rows starts again from
the first row; a row that is used again gets a different `sample_id`. `select_rows` is for
definitions in the old syntax: it selects a given number of rows, and combinations have one column
per dataset.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import count, islice
from math import prod
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct
from pydantic import AfterValidator, Field

from evalwright.components import Component, UserKey
from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.rows import Rows
from evalwright.datasets.sampling import draw_combinations, draw_rounds, shuffle_places
from evalwright.datasets.synthesizers.synthesizer import Columns, Row
from evalwright.errors import BadDataset

Count = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
ID_COLUMN = "sample_id"
_MAX_HELD = 1024
"""Maximum number of rows of a shuffled dataset in memory."""


def _refuse_duplicates(keys: tuple[str, ...]) -> tuple[str, ...]:
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise ValueError(f"duplicate key `{key}`")
    return keys


class SourceLookup(Struct, frozen=True):
    """Opens the datasets and task results that a data source reads."""

    dataset: Callable[[str], Rows]
    result: Callable[[str], Reader]


class SourceRows(Struct, frozen=True, kw_only=True):
    """The rows that a generator uses from its data source."""

    total: int
    rows: Callable[[], Iterator[Row]]
    """Yields the rows. Each call starts from the first row."""
    columns: Columns
    digest: str
    """Hash of all rows of the source, not only of the selected rows."""
    notes: tuple[str, ...] = ()
    """Notes about the rows, for the user."""


class DataSource(Component):
    """Base class of the data sources."""

    type: str
    """The kind of source."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """Keys of the datasets that the source reads."""
        return ()

    @property
    def result_key(self) -> str | None:
        """Key of the task result that the source reads."""
        return None

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select `count` rows, or all rows; `BadDataset` if they cannot be read."""
        raise NotImplementedError

    def select_pass(self, lookup: SourceLookup, limit: int | None) -> SourceRows:
        """Select each row once; if rows are combinations, select at most `limit`."""
        del limit
        return self.select_rows(lookup, None)


class EmptySource(DataSource):
    """Rows without columns."""

    type: Literal["empty"]
    """The kind of source."""
    num_samples: Count = 1
    """Number of rows."""

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select `count` rows, or `num_samples` rows."""
        del lookup
        total = count or self.num_samples
        return SourceRows(
            total=total,
            rows=lambda: ({} for _ in range(total)),
            columns=frozenset(),
            digest="empty",
        )


class InlineSamples(DataSource):
    """Rows written in the document itself."""

    type: Literal["inline_samples"]
    """The kind of source."""
    samples: Annotated[
        list[Annotated[dict[str, Any], AfterValidator(to_json_row)]], Field(min_length=1)
    ]
    """One mapping of columns to values per row."""

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select rows, starting with the first."""
        del lookup
        total = len(self.samples)
        return SourceRows(
            total=total if count is None else count,
            rows=lambda: _draw_rows(lambda: map(dict, self.samples), total, count, None),
            columns=frozenset(name for row in self.samples for name in row),
            digest=digest_of(self.samples),
        )


class DatasetSamples(DataSource):
    """Rows from a dataset."""

    type: Literal["dataset_samples"]
    """The kind of source."""
    key: UserKey
    """Key of the dataset."""
    random_seed: Seed | None = None
    """Seed for a random order of the rows. Default: their original order."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """Key of the dataset that the source reads."""
        return (self.key,)

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select rows by the seed, in dataset order."""
        rows = lookup.dataset(self.key)
        total = rows.check()
        return SourceRows(
            total=total if count is None else count,
            rows=lambda: _draw_rows(rows.rows, total, count, self.random_seed),
            columns=frozenset(rows.columns),
            digest=rows.digest,
        )

    def select_pass(self, lookup: SourceLookup, limit: int | None) -> SourceRows:
        """Select each row once, in random order if there is a seed."""
        if self.random_seed is None:
            return super().select_pass(lookup, limit)
        rows = lookup.dataset(self.key)
        order = shuffle_places(rows.check(), self.random_seed)
        return SourceRows(
            total=len(order),
            rows=lambda: _read_in_order(rows.rows, order),
            columns=frozenset(rows.columns),
            digest=rows.digest,
        )


class DatasetSampleCombinations(DataSource):
    """Combinations of rows from several datasets, with the columns of all of them."""

    type: Literal["dataset_sample_combinations"]
    """The kind of source."""
    keys: Annotated[tuple[UserKey, ...], Field(min_length=1), AfterValidator(_refuse_duplicates)]
    """Keys of the datasets. If several datasets have the same column, the value from the last one
    is used."""
    random_seed: Seed | None = None
    """Seed for a random selection if not all combinations are used. Default: the first combinations
    are used."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """Keys of the datasets that the source reads."""
        return self.keys

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select combinations as rows with one column per dataset, which contains its row."""
        datasets = [lookup.dataset(key) for key in self.keys]
        combinations = self._draw(datasets, count)
        return SourceRows(
            total=len(combinations),
            rows=lambda: (
                dict(zip(self.keys, rows, strict=True))
                for rows in _read_combinations(datasets, combinations)
            ),
            columns=frozenset(self.keys),
            digest=_join_digests(datasets),
        )

    def select_pass(self, lookup: SourceLookup, limit: int | None) -> SourceRows:
        """Select combinations as rows with the columns of all datasets."""
        datasets = [lookup.dataset(key) for key in self.keys]
        combinations = self._draw(datasets, limit, at_most=True)
        counts = Counter(name for dataset in datasets for name in dataset.columns)
        shared = sorted(name for name, n in counts.items() if n > 1 and name != ID_COLUMN)
        return SourceRows(
            total=len(combinations),
            rows=lambda: map(_join_rows, _read_combinations(datasets, combinations)),
            columns=frozenset(counts),
            digest=_join_digests(datasets),
            notes=tuple(
                f"several of the datasets {', '.join(self.keys)} have a column `{name}`: "
                "the value of the last one is used"
                for name in shared
            ),
        )

    def _draw(
        self, datasets: Sequence[Rows], limit: int | None, *, at_most: bool = False
    ) -> list[tuple[int, ...]]:
        totals = [dataset.check() for dataset in datasets]
        if at_most and limit is not None:
            limit = min(limit, prod(totals))
        try:
            return draw_combinations(totals, limit, self.random_seed)
        except ValueError as error:
            raise BadDataset(f"{', '.join(self.keys)}: {error}") from error


class TaskResultSamples(DataSource):
    """The results of a task in an earlier run."""

    type: Literal["task_result"]
    """The kind of source."""
    ai_app_key: str | None = None
    """Has no effect: results always come from this project."""
    key: str
    """Key of the task specification."""

    @property
    def result_key(self) -> str | None:
        """Key of the task result that the source reads."""
        return self.key

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select outcomes in order, each with `sample`, `solver_output`, `scores` and `errors`."""
        reader = lookup.result(self.key)
        total = sum(1 for _ in reader.rows())
        if not total:
            raise BadDataset(f"the result of `{self.key}` has no samples")
        header = reader.header
        return SourceRows(
            total=total if count is None else count,
            rows=lambda: _draw_rows(reader.rows, total, count, None),
            columns=None if header is None else frozenset(header),
            digest=reader.digest,
        )


AnyDataSource = Annotated[
    EmptySource | InlineSamples | DatasetSamples | DatasetSampleCombinations | TaskResultSamples,
    Field(discriminator="type"),
]


def _draw_rows(
    rows: Callable[[], Iterator[Row]], total: int, count: int | None, seed: int | None
) -> Iterator[Row]:
    """Yield the rows of each round; from the second round, `sample_id` has a suffix."""
    reader, position, current_round = rows(), 0, 0
    for round_number, place in draw_rounds(total, count, seed):
        if round_number != current_round:
            reader, position, current_round = rows(), 0, round_number
        row = next(islice(reader, place - position, None))
        position = place + 1
        yield row if not round_number else _set_id(row, f"{row.get(ID_COLUMN)}~{round_number + 1}")


def pass_rows(source: SourceRows) -> Iterator[Row]:
    """Yield the rows of the source in an endless loop; from the second pass, ids have a suffix."""
    for number in count(1):
        for row in source.rows():
            yield row if number == 1 else _set_id(row, f"{row.get(ID_COLUMN)}~{number}")


def _read_in_order(rows: Callable[[], Iterator[Row]], order: Sequence[int]) -> Iterator[Row]:
    """Yield the rows at these positions; each pass over the source reads the next batch."""
    for start in range(0, len(order), _MAX_HELD):
        places = order[start : start + _MAX_HELD]
        selected = set(places)
        fetched = {place: row for place, row in enumerate(rows()) if place in selected}
        yield from (fetched[place] for place in places)


def _read_combinations(
    datasets: Sequence[Rows], combinations: Sequence[tuple[int, ...]]
) -> Iterator[list[Row]]:
    """Yield the rows of each combination; only these rows are kept in memory."""
    places = [set(column) for column in zip(*combinations, strict=True)]
    used = [
        {place: row for place, row in enumerate(dataset.rows()) if place in selected}
        for dataset, selected in zip(datasets, places, strict=True)
    ]
    for combination in combinations:
        yield [rows[place] for rows, place in zip(used, combination, strict=True)]


def _join_rows(rows: list[Row]) -> Row:
    """Join the columns and the ids; there is no id if any row has none."""
    joined = {name: value for row in rows for name, value in row.items() if name != ID_COLUMN}
    ids = [str(row[ID_COLUMN]) for row in rows if row.get(ID_COLUMN) is not None]
    return {ID_COLUMN: "-".join(ids), **joined} if len(ids) == len(rows) else joined


def _join_digests(datasets: Sequence[Rows]) -> str:
    digests = [dataset.digest for dataset in datasets]
    return blake2b(msgspec.json.encode(digests), digest_size=16).hexdigest()


def number_ids(rows: list[Row]) -> list[Row]:
    """Append a number to the `sample_id` of rows that share it, so that each is unique."""
    counts = Counter(str(row[ID_COLUMN]) for row in rows if ID_COLUMN in row)
    return [
        _set_id(row, f"{row[ID_COLUMN]}.{number}")
        if ID_COLUMN in row and counts[str(row[ID_COLUMN])] > 1
        else row
        for number, row in enumerate(rows, start=1)
    ]


def _set_id(row: Row, sample_id: str) -> Row:
    return {**row, ID_COLUMN: sample_id} if row.get(ID_COLUMN) is not None else row
