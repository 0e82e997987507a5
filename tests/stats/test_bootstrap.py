import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats import bootstrap
from evalwright.stats.bootstrap import bca, bootstrap_mean_ci, bootstrap_t, percentile
from evalwright.stats.interval import Interval

# Hours between failures of air conditioning, Proschan (1963).
AIR = np.array([3, 5, 7, 18, 43, 85, 91, 98, 100, 130, 230, 487], dtype=float)
# Survival of the control mice, Efron & Tibshirani (1993), table 2.1.
MICE = np.array([52, 104, 146, 10, 51, 30, 40, 27, 46], dtype=float)

scores = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def test_percentiles_of_three_values_by_hand() -> None:
    """Of 27 samples of 0, ½, 1: one has mean 0, three have ⅙. The 5 % point lies among those."""
    interval = bootstrap_mean_ci([0, 0.5, 1], confidence=0.9)

    assert (interval.low, interval.high) == pytest.approx((1 / 6, 5 / 6))
    assert interval.method == "bootstrap"


def test_percentile_agrees_with_scipy() -> None:
    """scipy.stats.bootstrap(method="percentile") with 200,000 resamples: 47.0, 191.2."""
    interval = percentile(AIR, confidence=0.95, resamples=50_000)

    assert (interval.low, interval.high) == pytest.approx((47.0, 191.2), abs=2.5)


def test_bca_agrees_with_scipy() -> None:
    """scipy.stats.bootstrap(method="BCa") with 200,000 resamples: 57.1, 226.9."""
    interval = bca(AIR, confidence=0.95, resamples=50_000)

    assert (interval.low, interval.high) == pytest.approx((57.1, 226.9), abs=2.5)
    assert interval.method == "bca"


def test_the_acceleration_is_the_published_one() -> None:
    """Davison & Hinkley (1997), example 5.8: a = 0.0938 for the air conditioning."""
    assert bootstrap._acceleration(AIR - AIR.mean()) == pytest.approx(0.0938, abs=5e-5)


def test_bootstrap_t_is_the_published_one() -> None:
    """Efron & Tibshirani (1993), section 12.5: (35.82, 116.74) at 90 %, from 1,000 resamples."""
    interval = bootstrap_t(MICE, confidence=0.9, resamples=50_000)

    assert (interval.low, interval.high) == pytest.approx((35.82, 116.74), abs=1)
    assert interval.method == "bootstrap-t"


def test_bca_of_a_symmetric_sample_is_the_percentile_interval() -> None:
    symmetric = np.linspace(0, 1, 21)

    plain, corrected = (f(symmetric, confidence=0.95) for f in (percentile, bca))

    assert (corrected.low, corrected.high) == pytest.approx((plain.low, plain.high), abs=0.005)


def test_bca_leans_towards_the_long_tail() -> None:
    plain, corrected = (f(AIR, confidence=0.95) for f in (percentile, bca))

    assert corrected.low > plain.low
    assert corrected.high > plain.high


@pytest.mark.parametrize(
    ("road", "constant", "value"),
    [
        pytest.param("counts", "_COUNT_COST", 0, id="counts of distinct values"),
        pytest.param("limit", "_MAX_DRAWS", 0, id="the limit for many values"),
    ],
)
def test_every_road_gives_the_same_interval(
    road: str, constant: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).integers(0, 11, 2000) ** 2 / 100
    monkeypatch.setattr(bootstrap, "_COUNT_COST", 1e9)
    drawn = bca(values, confidence=0.95)

    monkeypatch.setattr(bootstrap, constant, value)
    other = bca(values, confidence=0.95)

    error = values.std() / np.sqrt(values.size)
    assert other != drawn, f"the {road} were not used"
    assert (other.low, other.high) == pytest.approx((drawn.low, drawn.high), abs=0.08 * error)


@pytest.mark.parametrize("method", [percentile, bca, bootstrap_t])
@given(scores, st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_the_order_of_scores_does_not_matter(
    method: Callable[..., Interval], values: list[float], random: object, seed: int
) -> None:
    shuffled = values.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis hides its type

    first, second = (
        method(np.array(order), confidence=0.9, resamples=100, seed=seed)
        for order in (values, shuffled)
    )

    assert first == second


@given(scores, st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_interval_inside_the_range(
    values: list[float], seed: int
) -> None:
    first, second = (bootstrap_mean_ci(values, resamples=100, seed=seed) for _ in range(2))

    assert first == second
    assert 0 <= first.low <= first.high <= 1


def test_another_seed_gives_another_interval() -> None:
    values = np.linspace(0, 1, 30).tolist()

    assert bootstrap_mean_ci(values, seed=1) != bootstrap_mean_ci(values, seed=2)


def test_memory_does_not_grow_with_the_resamples() -> None:
    values = np.random.default_rng(0).random(10_000)

    tracemalloc.start()
    percentile(values, confidence=0.95, resamples=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 * 1024 * 1024


def test_equal_values_have_no_width_here() -> None:
    assert bootstrap_mean_ci([0.5] * 10) == Interval(0.5, 0.5, "bootstrap")


def test_past_the_pole_the_end_is_the_farthest_mean() -> None:
    assert bootstrap._accelerate(8.0, bias=0.0, acceleration=0.16) == 1
    assert bootstrap._accelerate(-8.0, bias=0.0, acceleration=-0.16) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: bootstrap_mean_ci([]), "at least 1 score, got none", id="no scores"),
        pytest.param(
            lambda: bootstrap_mean_ci([0.1, 2]), r"got `2.0` - at `scores\[1\]`", id="out of range"
        ),
        pytest.param(
            lambda: bootstrap_mean_ci([0.1, 0.2], resamples=10),
            "at least 100 resamples, got `10`",
            id="too few resamples",
        ),
    ],
)
def test_what_cannot_be_resampled_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
