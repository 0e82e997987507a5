"""All pairs of many models, compared with the same pairs one by one."""

from itertools import combinations

import numpy as np
import pytest

from evalwright.stats import paired
from evalwright.stats.arrays import Floats
from evalwright.stats.paired import PairedDifference, any_paired_difference, compare_all

RNG = np.random.default_rng(7)
TABLES = {
    "scores of many values": RNG.beta(2, 2, (12, 30)),
    "scores of 0 and 1": RNG.integers(0, 2, (12, 30)).astype(float),
    "skewed scores": RNG.beta(0.3, 2, (12, 30)),
    "scores of any range": RNG.normal(3, 5, (12, 30)),
    "two samples": RNG.beta(2, 2, (12, 2)),
}


def one_by_one(table: Floats) -> list[PairedDifference]:
    return [any_paired_difference(left, right) for left, right in combinations(table, 2)]


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_few_pairs_are_exactly_those_that_are_compared_one_by_one(table: Floats) -> None:
    assert compare_all(list(table[:5])) == one_by_one(table[:5])


@pytest.mark.parametrize("limit", [20_000_000_000, 0], ids=["resampled", "expanded"])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_many_pairs_have_the_same_differences_and_almost_the_same_ends(
    table: Floats, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paired, "_FEW_PAIRS", 10)
    monkeypatch.setattr(paired, "_MAX_PRODUCT", limit)

    found = compare_all(list(table))

    for own, other in zip(found, one_by_one(table), strict=True):
        assert None not in (own.difference, own.low, own.high)
        assert None not in (other.difference, other.low, other.high)
        width = (other.high or 0) - (other.low or 0)
        assert own.difference == pytest.approx(other.difference, abs=1e-12)
        assert own.low == pytest.approx(other.low, abs=0.1 * width)
        assert own.high == pytest.approx(other.high, abs=0.1 * width)
        assert own.n == other.n


def test_many_pairs_in_another_order_are_mirrored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_FEW_PAIRS", 0)
    left, right = TABLES["scores of many values"][:2]

    (one,), (other,) = compare_all([left, right]), compare_all([right, left])

    assert one.low is not None
    assert one.high is not None
    assert (other.difference, other.low, other.high) == (
        -(one.difference or 0),
        -one.high,
        -one.low,
    )


def test_equal_models_among_many_have_the_bound_of_a_single_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paired, "_FEW_PAIRS", 0)
    same, half = np.full(10, 0.5), np.full(10, 0.25)

    assert compare_all([same, same, half]) == one_by_one(np.vstack([same, same, half]))


def test_without_a_shared_sample_there_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired, "_FEW_PAIRS", 0)

    (pair,) = compare_all([np.array([]), np.array([])])

    assert pair == PairedDifference(None, None, None, significant=False, n=0)
