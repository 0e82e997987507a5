"""`Scores`, which a metric reads, and `Measure`, which it returns.

Scores are stored in columns with nine bytes per value: numbers as numbers, strings as indexes into
a table of strings. A metric over a million labels therefore takes milliseconds. For a metric that
needs whole scores, they are stored as records.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from json import dumps
from math import isnan
from typing import Any

from msgspec import Struct

from evalwright.nearest import nearest
from evalwright.ports import Snippets
from evalwright.stats.arrays import Booleans, Floats, Integers, np
from evalwright.stats.interval import EQUAL_WITHIN, UNBOUNDED, Bounds, Interval
from evalwright.stats.mean import mean_interval


class Measure(Struct, frozen=True):
    """One metric value of a task."""

    name: str
    value: float | None
    """None if undefined: there is nothing to measure, or a denominator is zero."""
    interval: Interval | None
    n: int
    """Number of samples that the value is computed from."""
    reason: str = ""
    """Why there is no value or no interval, and what was excluded."""


NULL, BOOL, INT, FLOAT, TEXT = range(5)
_LARGEST_INTEGER = 1 << 53
"""Beyond this limit, some integers are not exact as floats."""


class Labels(Struct, frozen=True):
    """Values as strings: the index of each value's string, or -1 for null."""

    codes: Integers
    texts: list[str]


class Column:
    """The values of one score, sample by sample."""

    def __init__(self, field: str, skipped: int = 0) -> None:
        self.field = field
        self.present = 0
        """Number of scores with the field."""
        self._kinds = array("B", [NULL]) * skipped
        self._numbers = array("d", [0.0]) * skipped
        self._texts: dict[str, int] = {}

    def add(self, value: Any) -> None:
        """Add the value of the next score."""
        self.present += 1
        kind = type(value)
        if kind is bool:
            self._append(BOOL, value)
        elif kind is float:
            self._append(NULL if isnan(value) else FLOAT, value)
        elif kind is int and -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER:
            self._append(INT, value)
        elif value is None:
            self._append(NULL, 0.0)
        else:
            text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
            self._append(TEXT, self._texts.setdefault(text, len(self._texts)))

    def skip(self) -> None:
        """Add a score without the field."""
        self._append(NULL, 0.0)

    def split(self, groups: Sequence[Integers]) -> "list[Column]":
        """Return a column per group; a group is the places of its values."""
        kinds, texts = self._kinds_array(), list(self._texts)
        numbers = np.frombuffer(self._numbers, dtype=np.float64)
        return [self._select(kinds[places], numbers[places], texts) for places in groups]

    def _select(self, kinds: Integers, numbers: Floats, texts: Sequence[str]) -> "Column":
        column = Column(self.field)
        column.present = self.present and int(kinds.size)
        is_text = kinds == TEXT
        if is_text.any():  # keep only the strings that occur, so that a group is small
            used, codes = np.unique(numbers[is_text], return_inverse=True)
            column._texts = {texts[int(place)]: code for code, place in enumerate(used)}
            numbers[is_text] = codes
        column._kinds = array("B", kinds.tobytes())
        column._numbers = array("d", numbers.tobytes())
        return column

    def is_numeric(self) -> bool:
        """Whether the column contains only numbers."""
        return not self._texts and any(self._kinds)

    def numbers(self) -> tuple[Floats, Booleans]:
        """Return the numbers and a mask of non-null scores; ValueError for other values."""
        kinds = self._kinds_array()
        wrong = np.flatnonzero(kinds == TEXT)
        if wrong.size:
            shown = list(self._texts)[int(self._numbers[int(wrong[0])])][:80]
            raise ValueError(
                f"expected numbers in `{self.field}`, got `{shown}` in score "
                f"{int(wrong[0]) + 1}; {wrong.size} of {kinds.size} are not numbers"
            )
        return np.frombuffer(self._numbers, dtype=np.float64), kinds != NULL

    def labels(self) -> Labels:
        """Return each value as a string: `True`, `3`, `0.5`, `cat`."""
        kinds = self._kinds_array()
        values = np.frombuffer(self._numbers, dtype=np.float64)
        codes = np.full(kinds.size, -1, dtype=np.int64)
        places: dict[str, int] = {}
        texts = list(self._texts)
        for kind in (BOOL, INT, FLOAT, TEXT):
            here = kinds == kind
            distinct, inverse = np.unique(values[here], return_inverse=True)
            names = [_label_text(kind, number, texts) for number in distinct.tolist()]
            known = [places.setdefault(name, len(places)) for name in names]
            if known:
                codes[here] = np.asarray(known, dtype=np.int64)[inverse]
        return Labels(codes, list(places))

    def _append(self, kind: int, number: float) -> None:
        self._kinds.append(kind)
        self._numbers.append(number)

    def _kinds_array(self) -> Integers:
        return np.frombuffer(self._kinds, dtype=np.uint8)


def _label_text(kind: int, number: float, texts: list[str]) -> str:
    if kind == BOOL:
        return str(bool(number))
    if kind == INT:
        return str(int(number))
    return texts[int(number)] if kind == TEXT else str(number)


_MOST_NAMES = 200
"""Maximum number of field names that are kept for messages."""
_MOST_COLUMNS = 20
"""Maximum number of fields that are kept if none are selected."""
_NO_SAMPLES = "a system task has no samples"
_NO_NUMBER = "undefined: the snippet returned no number"


class ScoreRecord(Struct, frozen=True):
    """The score of one sample."""

    values: Mapping[str, Any]
    metadata: Mapping[str, Any]


class Scores:
    """The scores of one scorer for all included samples.

    `fields` selects the fields to keep; None keeps whole records. `keeps_all` keeps every field as
    a column, up to a limit. `ranges` contains the range of each field. If scores are aggregated
    over trials, `trials` is their number. `expressions` are the sources of the templates whose
    labels are kept for each sample.
    """

    def __init__(
        self,
        fields: Collection[str] | None,
        ranges: Mapping[str, Bounds] | None = None,
        *,
        trials: int = 1,
        keeps_all: bool = False,
        expressions: Collection[str] = (),
    ) -> None:
        self.n = 0
        self._keeps_all = keeps_all
        self._ranges, self._trials = ranges or {}, trials
        self._columns = {field: Column(field) for field in fields or ()}
        self._records: list[ScoreRecord] | None = [] if fields is None else None
        self._names: dict[str, None] = {}
        self._labels = {source: Column(source) for source in expressions}

    def add(
        self,
        values: Mapping[str, Any],
        metadata: Mapping[str, Any],
        labels: Mapping[str, str | None] | None = None,
    ) -> None:
        """Add the score of a sample; `labels` are its labels by expression."""
        self.n += 1
        for source, label_column in self._labels.items():
            label_column.add(labels.get(source) if labels else None)
        if self._records is not None:
            self._records.append(ScoreRecord(values, metadata))
        if self._keeps_all and not values.keys() <= self._columns.keys():
            self._add_columns(values)
        for field, column in self._columns.items():
            if field in values:
                column.add(values[field])
            else:
                column.skip()
        if len(self._names) < _MOST_NAMES:
            self._names.update(dict.fromkeys(values))

    def _add_columns(self, fields: Iterable[str]) -> None:
        room = _MOST_COLUMNS - len(self._columns)
        new = [field for field in fields if field not in self._columns][:room]
        self._columns.update((field, Column(field, self.n - 1)) for field in new)

    def numeric_fields(self) -> list[str]:
        """Return the names of the columns that hold only numbers."""
        return [field for field, column in self._columns.items() if column.is_numeric()]

    def column(self, field: str) -> Column:
        """Return the values of a field; ValueError lists all fields if no score has it."""
        if field not in self._columns:
            column = self._columns[field] = Column(field)
            for record in self.records():
                if field in record.values:
                    column.add(record.values[field])
                else:
                    column.skip()
        column = self._columns[field]
        if self.n and not column.present:
            names = list(self._names)
            close = nearest(field, names)
            hint = f"; did you mean `{close}`?" if close else ""
            listed = ", ".join(f"`{name}`" for name in names) or "none"
            raise ValueError(f"no score has the field `{field}`; the fields are: {listed}{hint}")
        return column

    def has(self, field: str) -> bool:
        """Whether any score has the field; true if there are no scores."""
        if field in self._columns:
            return not self.n or bool(self._columns[field].present)
        return not self.n or field in self._names

    def bounds(self, field: str) -> Bounds:
        """Return the range of a field: declared by its scorer, or inferred from its numbers.

        If all numbers are from 0 to 1, they are treated as fractions. If all are non-negative
        integers, they are treated as counts, which are never below 0.
        """
        if field in self._ranges:
            return self._ranges[field]
        values, is_number = self.column(field).numbers()
        known = values[is_number]
        if (known < 0).any() or (known > _LARGEST_INTEGER).any():
            return UNBOUNDED
        if (known <= 1).all():
            return 0.0, 1.0
        counts = known * self._trials
        is_whole = np.abs(counts - np.rint(counts)) <= EQUAL_WITHIN * np.maximum(counts, 1)
        return (0.0, None) if is_whole.all() else UNBOUNDED

    def labels(self, expression: str) -> Labels:
        """Return the label that an expression gives each sample."""
        return self._labels[expression].labels()

    def split(self, groups: Sequence[Integers]) -> "list[Scores]":
        """Return the scores of each group; a group is the places of its samples."""
        columns = {field: column.split(groups) for field, column in self._columns.items()}
        labels = {source: column.split(groups) for source, column in self._labels.items()}
        return [
            self._select(
                places,
                {field: parts[number] for field, parts in columns.items()},
                {source: parts[number] for source, parts in labels.items()},
            )
            for number, places in enumerate(groups)
        ]

    def _select(
        self, places: Integers, columns: dict[str, Column], labels: dict[str, Column]
    ) -> "Scores":
        scores = Scores((), self._ranges, trials=self._trials, keeps_all=self._keeps_all)
        scores.n, scores._names = int(places.size), self._names
        scores._columns, scores._labels = columns, labels
        if self._records is not None:
            scores._records = [self._records[place] for place in places.tolist()]
        return scores

    def records(self) -> Iterator[ScoreRecord]:
        """Iterate over whole scores."""
        if self._records is None:
            raise ValueError("these scores were stored as columns, not as records")
        return iter(self._records)


def shares_over_runs(field: str, runs: Sequence[Scores], *, seed: int) -> list[Measure]:
    """Return the share of each value over several runs on the same samples.

    Each sample contributes the share of its runs that have the value. Return an empty list if a run
    has no value for some sample, because the runs would not cover the same samples.
    """
    labels = [run.column(field).labels() for run in runs]
    if any((run.codes < 0).any() or not run.codes.size for run in labels):
        return []
    n = labels[0].codes.size
    measures = []
    for text in sorted({text for run in labels for text in run.texts}):
        times = np.zeros(n)
        for run in labels:
            if text in run.texts:
                times += run.codes == run.texts.index(text)
        shares = times / len(runs)
        interval = mean_interval(shares, seed=seed)
        measures.append(Measure(f"{field}_{text}", float(shares.mean()), interval, n))
    return measures


class EvidenceMetric:
    """Returns the values from the snippet of a system task unchanged."""

    type = value_name = "evidence"
    by = None
    expressions = ()

    def fields(self) -> None:
        """Return None, because the snippet chooses the names."""

    def sample_terms(self) -> None:
        """Return None, because there are no samples."""

    def bounds(self, scores: Scores) -> Bounds:
        """Return no range, because the snippet may return any number."""
        del scores
        return UNBOUNDED

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Return one value per name, with the reason that the snippet gave."""
        del seed, snippets
        measures = []
        for record in scores.records():
            for name, value in record.values.items():
                default = _NO_NUMBER if value is None else _NO_SAMPLES
                reason = record.metadata.get(name) or default
                measures.append(Measure(name, value, None, 0, reason))
        return measures
