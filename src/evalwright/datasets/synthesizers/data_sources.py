"""Data sources of a generator: the rows that its synthesizers start from.

    data_source: { type: empty, num_samples: 100 }
    data_source: { type: inline_samples, samples: [{ topic: rivers }, { topic: moons }] }
    data_source: { type: dataset_samples, key: topics, random_seed: 7 }
    data_source: { type: dataset_sample_combinations, keys: [topics, styles], random_seed: 7 }
    data_source: { type: task_result, key: first-pass }

The `num_samples` of the dataset sets how many rows are used; by default, each row of the source is
used once. If more are requested than exist, the source starts again from its first row, but no
combination is used twice. A row that is used again gets another `sample_id`.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct
from pydantic import AfterValidator, Field

from evalwright.components import Component, UserKey
from evalwright.datasets.json_files import to_json_row
from evalwright.datasets.reading import Reader, digest_of
from evalwright.datasets.rows import Rows
from evalwright.datasets.sampling import draw_combinations, draw_rounds
from evalwright.datasets.synthesizers.synthesizer import Columns, Row
from evalwright.errors import BadDataset

Count = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
ID_COLUMN = "sample_id"


def _refuse_duplicates(keys: tuple[str, ...]) -> tuple[str, ...]:
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise ValueError(f"duplicate key `{key}`: each dataset becomes one column")
    return keys


class SourceLookup(Struct, frozen=True):
    """Opens the datasets and task results that a data source reads."""

    dataset: Callable[[str], Rows]
    result: Callable[[str], Reader]


class SourceRows(Struct, frozen=True, kw_only=True):
    """The rows that a generator uses from its data source."""

    total: int
    rows: Callable[[], Iterator[Row]]
    """Each call starts from the first row."""
    columns: Columns
    digest: str
    """Hash of all rows of the source; the document selects which are used."""


class DataSource(Component):
    """Base class of the data sources."""

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

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select `count` rows, or all; `BadDataset` if they cannot be read."""
        raise NotImplementedError


class EmptySource(DataSource):
    """Rows without columns."""

    type: Literal["empty"]
    """The kind of source."""
    num_samples: Count | None = None
    """Number of rows; the `num_samples` of the dataset takes precedence."""

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select `count` rows, or `num_samples` of them."""
        del lookup
        total = count or self.num_samples
        if total is None:
            raise BadDataset(
                "an `empty` data source needs a number of rows",
                hint="set `num_samples` there, or in the `generator_specification` of the dataset",
            )
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
        """Select from the first row."""
        del lookup
        total = len(self.samples)
        return SourceRows(
            total=total if count is None else count,
            rows=lambda: _draw_rows(lambda: map(dict, self.samples), total, count, None),
            columns=frozenset(name for row in self.samples for name in row),
            digest=digest_of(self.samples),
        )


class DatasetSamples(DataSource):
    """Rows of a dataset."""

    type: Literal["dataset_samples"]
    """The kind of source."""
    key: UserKey
    """The dataset."""
    random_seed: Seed | None = None
    """Seed for a random draw, if fewer rows are used than exist. Default: the first rows."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """The dataset that it reads."""
        return (self.key,)

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select rows by the seed, in their own order."""
        rows = lookup.dataset(self.key)
        total = rows.check()
        return SourceRows(
            total=total if count is None else count,
            rows=lambda: _draw_rows(rows.rows, total, count, self.random_seed),
            columns=frozenset(rows.columns),
            digest=rows.digest,
        )


class DatasetSampleCombinations(DataSource):
    """Combinations of the rows of several datasets: one column per dataset, with its row."""

    type: Literal["dataset_sample_combinations"]
    """The kind of source."""
    keys: Annotated[tuple[UserKey, ...], Field(min_length=2), AfterValidator(_refuse_duplicates)]
    """The datasets; `{{ sample.KEY.column }}` is a value in the row of dataset KEY."""
    random_seed: Seed | None = None
    """Seed for a random draw, if fewer combinations are used than exist. Default: the first
    combinations."""

    @property
    def dataset_keys(self) -> tuple[str, ...]:
        """The datasets that it reads."""
        return self.keys

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select combinations; only rows of selected combinations are kept in memory."""
        datasets = [lookup.dataset(key) for key in self.keys]
        totals = [dataset.check() for dataset in datasets]
        try:
            combinations = draw_combinations(totals, count, self.random_seed)
        except ValueError as error:
            raise BadDataset(f"{', '.join(self.keys)}: {error}") from error
        places = [set(column) for column in zip(*combinations, strict=True)]

        def rows() -> Iterator[Row]:
            used = [
                {place: row for place, row in enumerate(dataset.rows()) if place in wanted}
                for dataset, wanted in zip(datasets, places, strict=True)
            ]
            for combination in combinations:
                values = [part[place] for part, place in zip(used, combination, strict=True)]
                yield dict(zip(self.keys, values, strict=True))

        digests = [dataset.digest for dataset in datasets]
        return SourceRows(
            total=len(combinations),
            rows=rows,
            columns=frozenset(self.keys),
            digest=blake2b(msgspec.json.encode(digests), digest_size=16).hexdigest(),
        )


class TaskResultSamples(DataSource):
    """The outcomes of a task in an earlier run."""

    type: Literal["task_result"]
    """The kind of source."""
    key: str
    """Key of its task specification."""
    ai_app_key: str | None = None
    """Accepted and ignored: results are always those of this project."""

    @property
    def result_key(self) -> str | None:
        """The task result that it reads."""
        return self.key

    def select_rows(self, lookup: SourceLookup, count: int | None) -> SourceRows:
        """Select outcomes in order; each has `sample`, `solver_output`, `scores`, `errors`."""
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
    """Yield the rows of each round; from the second round on, `sample_id` gets a suffix."""
    reader, position, current_round = rows(), 0, 0
    for round_number, place in draw_rounds(total, count, seed):
        if round_number != current_round:
            reader, position, current_round = rows(), 0, round_number
        row = next(islice(reader, place - position, None))
        position = place + 1
        yield row if not round_number else _set_id(row, f"{row.get(ID_COLUMN)}~{round_number + 1}")


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
