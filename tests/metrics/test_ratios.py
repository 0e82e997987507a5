import asyncio
from typing import Any

import numpy as np
import pytest

from evalwright.metrics.ratios import accuracy, class_ratio, confusion_matrix, f1, ratio, share
from evalwright.metrics.recall import Recall
from evalwright.metrics.scores import Column, Scores
from evalwright.stats.interval import wilson


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        pytest.param([3, 1], 0.75, id="a share"),
        pytest.param([0, 4], 0.0, id="none"),
        pytest.param([0, 0], None, id="undefined"),
    ],
)
def test_a_share(sums: list[float], expected: float | None) -> None:
    value = share(np.asarray([sums], dtype=np.float64))[0]

    assert np.isnan(value) if expected is None else value == expected


def test_f1_of_counts() -> None:
    assert f1(np.asarray([[3.0, 1.0, 3.0]])).tolist() == [0.6]


def test_hits_and_misses_are_as_sure_as_their_share() -> None:
    hit_or_miss, times = np.asarray([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.asarray([3, 1, 6])

    assert ratio("r", hit_or_miss, times, share).interval == wilson(3, 4)


def test_f1_of_hits_and_misses_is_as_sure_as_the_share_of_hits() -> None:
    # F1 = 2p / (1 + p), p = the share of hits among hits, wrong ones and missed ones
    found = ratio("f1", np.eye(3), np.asarray([6, 2, 4]), f1)
    low, high = (2 * p / (1 + p) for p in (wilson(6, 12).low, wilson(6, 12).high))

    assert found.interval is not None
    assert found.interval.method == "wilson"
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))


def test_several_counts_a_sample_are_resampled() -> None:
    found = ratio("r", np.asarray([[2.0, 0.0], [0.0, 2.0]]), np.asarray([20, 20]), share)

    assert found.interval is not None
    assert found.interval.method == "bootstrap"


def test_a_ratio_of_one_sample_has_the_widest_interval() -> None:
    found = ratio("r", np.asarray([[1.0, 1.0]]), np.asarray([1]), share)

    assert found.value == 0.5
    assert found.interval is not None
    assert (found.interval.low, found.interval.high, found.interval.method) == (0.0, 1.0, "bound")


def test_an_infinite_count_is_an_error() -> None:
    recall = Recall(type="recall", num_true_positives_field="a", num_false_negatives_field="b")
    scores = Scores({"a", "b"})
    scores.add({"a": 1, "b": float("inf")}, {})

    with pytest.raises(ValueError, match="expected counts of 0 or more in `b`, got `inf`"):
        asyncio.run(recall.measure(scores, seed=0, snippets=None))


def column(*values: Any) -> Column:
    made = Column("x")
    for value in values:
        made.add(value)
    return made


def test_a_table_counts_pairs_of_known_classes() -> None:
    truth, said = column("a", "a", "b", "z", None), column("a", "b", "b", "a", "a")

    assert confusion_matrix(truth, said, ["a", "b"]).tolist() == [[1, 1], [0, 1]]


def test_what_is_read_from_a_table() -> None:
    truth, said = column(*"aaabbc"), column(*"aabbcc")
    counts = confusion_matrix(truth, said, ["a", "b", "c"])

    assert accuracy(counts, "").value == 4 / 6
    assert class_ratio("precision", counts, 0, absent="").value == 1.0
    assert class_ratio("recall", counts, 0, absent="").value == 2 / 3
    assert class_ratio("f1_score", counts, 0, absent="").value == 0.8
