"""Ratios of counts (recall, precision, F1) and the confusion matrix of classes.

    recall     TP / (TP + FN)
    precision  TP / (TP + FP)
    f1_score   2 TP / (2 TP + FP + FN)

Counts are summed over the samples before they are divided. With a denominator of zero, the ratio is
undefined.

    samples                     interval
    with one count of 1 each    Wilson: each sample is a hit or a miss
    with several                bootstrap over the samples
    that all have one ratio     a bound for values in [0, 1]

An average of the F1 of several classes is bootstrapped over the samples too. A resample may lack a
class; its average is then over the classes that it has, as it is for the samples themselves.
"""

from collections.abc import Callable
from typing import ClassVar

from evalwright.metrics.base import NOTHING, Name, ShareMetric, describe_missing, join_reasons
from evalwright.metrics.scores import Column, Measure, Scores
from evalwright.metrics.terms import Form, SampleTerms
from evalwright.stats.arrays import Floats, Integers, np
from evalwright.stats.interval import Interval, constant_bound, wilson
from evalwright.stats.sums import RESAMPLES, Statistic, distinct, sums_interval

_ZERO_DENOMINATOR = "undefined: the denominator is zero"


def share(sums: Floats) -> Floats:
    """Return recall for the counts (TP, FN), or precision for (TP, FP)."""
    return _divide(sums[:, 0], sums[:, 0] + sums[:, 1])


def f1(sums: Floats) -> Floats:
    """Return 2 TP / (2 TP + FP + FN) for the counts (TP, FP, FN)."""
    return _divide(2 * sums[:, 0], 2 * sums[:, 0] + sums[:, 1] + sums[:, 2])


def _divide(above: Floats, below: Floats) -> Floats:
    result = np.full(above.shape, np.nan)
    np.divide(above, below, out=result, where=below != 0)
    return result


class CountsMetric(ShareMetric):
    """A ratio of counts, which are summed over all samples before they are divided."""

    name: Name | None = None
    """Name of the result. Default: the type."""

    divide = staticmethod(share)
    form: ClassVar[Form] = "share"

    def sample_terms(self) -> SampleTerms:
        """Return the counts that are summed."""
        return SampleTerms(fields=tuple(self._count_fields()), form=self.form)

    def _count_fields(self) -> list[str]:
        return [getattr(self, key) for key in type(self).model_fields if key.endswith("_field")]

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute one ratio."""
        name, fields = self.value_name, self._count_fields()
        columns = [scores.column(field).numbers() for field in fields]
        complete = np.logical_and.reduce([known for _, known in columns])
        table = np.column_stack([values[complete] for values, _ in columns])
        absent = describe_missing(int(complete.size - len(table)), int(complete.size))
        for field, counts in zip(fields, table.T, strict=True):
            is_count = (counts >= 0) & np.isfinite(counts)
            if not is_count.all():
                wrong = counts[~is_count][0]
                raise ValueError(f"expected counts of 0 or more in `{field}`, got `{wrong:g}`")
        if not len(table):
            return [Measure(name, None, None, 0, absent or NOTHING)]
        rows, times = distinct(table)
        return [ratio(name, rows, times, self.divide, absent=absent, seed=seed)]


def ratio(  # noqa: PLR0913 - the ratio, and how it is reported
    name: str,
    rows: Floats,
    times: Integers,
    statistic: Statistic,
    *,
    absent: str = "",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Measure:
    """Compute a ratio of sums over rows, weighted by how often each row occurs."""
    n = int(times.sum())
    value = float(statistic((times @ rows)[None, :])[0])
    if np.isnan(value):
        return Measure(name, None, None, n, join_reasons(_ZERO_DENOMINATOR, absent))
    if np.isin(rows, (0, 1)).all() and rows.sum(axis=1).max() <= 1:
        return Measure(name, value, _hits_interval(times @ rows, statistic), n, absent)
    interval = sums_interval(rows, times, statistic, resamples=resamples, seed=seed)
    if interval is None:
        counted = int(times[np.isfinite(statistic(rows))].sum())
        interval = constant_bound(value, counted)
    return Measure(name, value, interval, n, absent)


def _hits_interval(sums: Floats, statistic: Statistic) -> Interval:
    """Return the ratio at both ends of Wilson's interval of the share p of hits.

        recall, precision = p of TP + FN, of TP + FP;   F1 = 2p / (1 + p),  p = TP / (TP + FP + FN)

    Every count is a hit or a miss, and the ratio increases with the share of hits, so its interval
    follows from the interval of that share. The bootstrap is not used: with few counts, some
    resamples have only hits or only misses, and the interval can span 0 to 1.
    """
    shares = wilson(float(sums[0]), int(sums.sum()))
    ends = np.zeros((2, sums.size))
    ends[:, 0] = shares.low, shares.high
    ends[:, 1] = 1 - ends[:, 0]
    low, high = statistic(ends)
    return Interval(float(low), float(high), shares.method)


def confusion_matrix(truth: Column, prediction: Column, classes: list[str]) -> Integers:
    """Count predictions by true class (row) and predicted class (column); ignore other values."""
    places = {name: place for place, name in enumerate(classes)}
    true, predicted = _class_indices(truth, places), _class_indices(prediction, places)
    both = (true >= 0) & (predicted >= 0)
    width = len(classes)
    cells = np.bincount(true[both] * width + predicted[both], minlength=width * width)
    return cells.reshape(width, width)


def _class_indices(column: Column, places: dict[str, int]) -> Integers:
    labels = column.labels()
    known = [places.get(text, -1) for text in labels.texts]
    return np.asarray([*known, -1], dtype=np.int64)[labels.codes]  # code -1 selects the last item


def accuracy(counts: Integers, absent: str) -> Measure:
    """Return the share of correct predictions, with a Wilson interval."""
    n = int(counts.sum())
    if not n:
        return Measure("accuracy", None, None, 0, absent or NOTHING)
    right = int(np.trace(counts))
    return Measure("accuracy", right / n, wilson(right, n), n, absent)


_CLASS_RATIOS: dict[str, tuple[list[int], Statistic]] = {
    "precision": ([0, 1], share),
    "recall": ([0, 2], share),
    "f1_score": ([0, 1, 2], f1),
}
"""The function for each ratio, and the counts (of TP, FP and FN) that it uses."""


def class_ratio(kind: str, counts: Integers, place: int, *, absent: str, name: str = "") -> Measure:
    """Return the `precision`, `recall` or `f1_score` of one class."""
    hit = counts[place, place]
    wrong = counts[:, place].sum() - hit
    missed = counts[place, :].sum() - hit
    rest = counts.sum() - hit - wrong - missed
    kinds_of_samples = np.vstack([np.eye(3), np.zeros(3)])
    parts, statistic = _CLASS_RATIOS[kind]
    times = np.asarray([hit, wrong, missed, rest])
    return ratio(name or kind, kinds_of_samples[:, parts], times, statistic, absent=absent)


MOST_CLASSES = 150
"""Averages over more classes have no interval: each resample would need too much memory."""
_MOST_SUMS = 3_000_000


def macro_f1(sums: Floats) -> Floats:
    """Return the mean F1 of the classes for their counts (TP, FP, FN), class by class.

    Σ F1ₖ / K,  F1ₖ = 2 TPₖ / (2 TPₖ + FPₖ + FNₖ),  over the K classes with a denominator
    """
    return _average_f1(sums, lambda counts: np.ones(counts.shape[:2]))


def weighted_f1(sums: Floats) -> Floats:
    """Return the mean F1 of the classes, weighted by the samples of each class: TP + FN."""
    return _average_f1(sums, lambda counts: counts[:, :, 0] + counts[:, :, 2])


def _average_f1(sums: Floats, weigh: Callable[[Floats], Floats]) -> Floats:
    counts = sums.reshape(len(sums), -1, 3)
    of_class = f1(counts.reshape(-1, 3)).reshape(counts.shape[:2])
    weights = np.where(np.isnan(of_class), 0.0, weigh(counts))
    return _divide((np.nan_to_num(of_class) * weights).sum(axis=1), weights.sum(axis=1))


def average_f1(
    name: str, counts: Integers, statistic: Statistic, *, absent: str, seed: int
) -> Measure:
    """Return an average of the F1 of all classes; `counts` is the confusion matrix."""
    classes, n = len(counts), int(counts.sum())
    if not n:
        return Measure(name, None, None, 0, absent or NOTHING)
    true, predicted = np.nonzero(counts)
    times = counts[true, predicted]
    hits = np.diagonal(counts)
    table = np.column_stack([hits, counts.sum(axis=0) - hits, counts.sum(axis=1) - hits])
    value = float(statistic(table.reshape(1, -1).astype(np.float64))[0])
    if classes > MOST_CLASSES:
        reason = f"no interval: more than {MOST_CLASSES} classes"
        return Measure(name, value, None, n, join_reasons(reason, absent))
    rows = np.zeros((len(true), classes, 3))
    kinds, is_hit = np.arange(len(true)), true == predicted
    rows[kinds[is_hit], true[is_hit], 0] = 1
    rows[kinds[~is_hit], predicted[~is_hit], 1] = 1
    rows[kinds[~is_hit], true[~is_hit], 2] = 1
    resamples = min(RESAMPLES, _MOST_SUMS // (3 * classes))
    flat = rows.reshape(len(true), -1)
    interval = sums_interval(flat, times, statistic, resamples=resamples, seed=seed)
    return Measure(name, value, interval or constant_bound(value, n), n, absent)
