"""The table of true against predicted classes, and what is read from it."""

from evalwright.metrics.base import NOTHING
from evalwright.metrics.ratios import f1, ratio, share
from evalwright.metrics.scores import Column, Measure
from evalwright.stats.arrays import Floats, Integers, np
from evalwright.stats.interval import wilson


def confusion_matrix(truth: Column, said: Column, classes: list[str]) -> Integers:
    """How often each class (row) was predicted as each (column); others are not counted."""
    places = {name: place for place, name in enumerate(classes)}
    true, predicted = _class_indices(truth, places), _class_indices(said, places)
    both = (true >= 0) & (predicted >= 0)
    width = len(classes)
    cells = np.bincount(true[both] * width + predicted[both], minlength=width * width)
    return cells.reshape(width, width)


def _class_indices(column: Column, places: dict[str, int]) -> Integers:
    labels = column.labels()
    known = [places.get(text, -1) for text in labels.texts]
    return np.asarray([*known, -1], dtype=np.int64)[labels.codes]  # code -1: the last one


def accuracy(name: str, counts: Integers, absent: str) -> Measure:
    """The share on the diagonal: a mean of right and wrong, so its interval is Wilson's."""
    n = int(counts.sum())
    if not n:
        return Measure(name, None, None, 0, absent or NOTHING)
    right = int(np.trace(counts))
    return Measure(name, right / n, wilson(right, n), n, absent)


def precision_of(name: str, counts: Integers, place: int, *, absent: str) -> Measure:
    """The share of a class's predictions that are right."""
    found, times = _cells_of_class(counts, place)
    return ratio(name, found[:, [0, 1]], times, share, absent=absent)


def recall_of(name: str, counts: Integers, place: int, *, absent: str) -> Measure:
    """The share of a class's samples that were found."""
    found, times = _cells_of_class(counts, place)
    return ratio(name, found[:, [0, 2]], times, share, absent=absent)


def f1_of(name: str, counts: Integers, place: int, *, absent: str) -> Measure:
    """The harmonic mean of both."""
    found, times = _cells_of_class(counts, place)
    return ratio(name, found, times, f1, absent=absent)


def _cells_of_class(counts: Integers, place: int) -> tuple[Floats, Integers]:
    """(TP, FP, FN) of the four kinds of samples of a class, and how many there are of each."""
    hit = counts[place, place]
    wrong = counts[:, place].sum() - hit
    missed = counts[place, :].sum() - hit
    rest = counts.sum() - hit - wrong - missed
    return np.vstack([np.eye(3), np.zeros(3)]), np.asarray([hit, wrong, missed, rest])
