import math
from typing import Any

import pytest

import evalwright as ew

SCORED: dict[str, Any] = {
    "mean": ew.intervals.mean,
    "bootstrap_mean": ew.intervals.bootstrap_mean,
    "paired_difference": lambda scores: ew.intervals.paired_difference(scores, scores),
}


@pytest.mark.parametrize("name", SCORED)
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        pytest.param([], "at least 1 score, got none: `(scores|a)` is empty", id="nothing"),
        pytest.param([0.5, math.nan], r"got `nan` - at `(scores|a)\[1\]`", id="NaN"),
        pytest.param([1.5], r"got `1.5` - at `(scores|a)\[0\]`", id="above 1"),
    ],
)
def test_bad_scores_are_named(name: str, scores: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SCORED[name](scores)


def test_scores_of_a_pair_are_of_the_same_tasks() -> None:
    with pytest.raises(ValueError, match="one score per sample in both, got 2 and 1"):
        ew.intervals.paired_difference([1, 0], [1])
    with pytest.raises(ValueError, match="`b` is empty"):
        ew.intervals.paired_difference([1, 0], [])


def test_pass_at_k_of_no_task_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least 1 sample, got none: `counts` is empty"):
        ew.intervals.pass_at_k([], k=1)


def test_pass_at_k_is_the_mean_over_tasks() -> None:
    counts = [(4, 4), (4, 2), (4, 0), (4, 1)]
    mean = sum(ew.metrics.pass_at_k(n, c, 2) for n, c in counts) / len(counts)

    interval = ew.intervals.pass_at_k(counts, k=2)

    assert interval.low < mean < interval.high


@pytest.mark.parametrize("confidence", [0, 1, math.nan, 95])
def test_a_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence above 0 and below 1"):
        ew.intervals.mean([1, 0], confidence=confidence)


def test_a_seed_gives_the_same_interval() -> None:
    scores = [0.1, 0.4, 0.9, 0.3, 0.8]

    assert ew.intervals.mean(scores, seed=3) == ew.intervals.mean(scores[::-1], seed=3)
