import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.calibration import (
    HIGHEST,
    LOWEST,
    apply_temperature,
    fit_temperature,
)

confidences = st.floats(0.001, 0.999)
temperatures = st.floats(LOWEST, HIGHEST)
answers = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def log_loss(p: Any, y: Any, *, temperature: float = 1.0) -> float:
    clipped = np.clip(p, 1e-6, 1 - 1e-6)
    logits = np.log(clipped / (1 - clipped)) / temperature
    return float(np.logaddexp(0, np.where(y, -logits, logits)).sum())


def split(rows: list[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [p for p, _ in rows], [y for _, y in rows]


@pytest.mark.parametrize(
    ("confidence", "temperature", "expected"),
    [
        pytest.param(0.9, 2, 0.75, id="ln 9 halved is ln 3"),
        pytest.param(0.75, 0.5, 0.9, id="and doubled again"),
        pytest.param(0.1, 2, 0.25, id="the same below 50 %"),
        pytest.param(0.5, 7, 0.5, id="50 % stays where it is"),
        pytest.param(1.0, 1, 0.999999, id="certainty is cut, so that it can be moved"),
    ],
)
def test_a_confidence_at_a_temperature_by_hand(
    confidence: float, temperature: float, expected: float
) -> None:
    assert apply_temperature([confidence], temperature)[0] == pytest.approx(expected, abs=1e-12)


@given(confidences)
def test_a_temperature_of_1_leaves_alone(confidence: float) -> None:
    assert apply_temperature([confidence], 1)[0] == pytest.approx(confidence, abs=1e-12)


@given(st.lists(st.floats(0, 1), min_size=2).map(sorted), temperatures)
def test_the_order_stays(ordered: list[float], temperature: float) -> None:
    after = apply_temperature(ordered, temperature)

    assert all(one <= other for one, other in pairwise(after))
    assert np.all((after >= 0) & (after <= 1))


def test_log_loss_by_hand() -> None:
    """-ln 0.8 - ln(1 - 0.4); at a temperature of 2, with 0.9, -ln 0.75."""
    assert log_loss([0.8, 0.4], [True, False]) == pytest.approx(-math.log(0.8) - math.log(0.6))
    assert log_loss([0.9], [True], temperature=2) == pytest.approx(-math.log(0.75))


@pytest.mark.parametrize(
    ("confidence", "right", "expected"),
    [
        pytest.param(0.9, 3, 2.0, id="90 % sure, right 3 times of 4: ln 9 / ln 3"),
        pytest.param(0.75, 3, 1.0, id="75 % sure, right 3 times of 4"),
        pytest.param(0.6, 3, math.log(1.5) / math.log(3), id="not sure enough"),
        pytest.param(0.1, 1, 2.0, id="sure to be wrong, and too sure of it"),
    ],
)
def test_the_fit_by_hand(confidence: float, right: int, expected: float) -> None:
    """With one confidence the best temperature makes it the accuracy."""
    found = fit_temperature([confidence] * 4, [n < right for n in range(4)])

    assert found.value == pytest.approx(expected, rel=1e-6)
    assert found.end == ""
    assert found.low < found.value < found.high


def test_the_interval_by_hand() -> None:
    """Wilks (1938): the loss at either end is 1.96²/2 above the least."""
    p, y = [0.9] * 40, [n < 30 for n in range(40)]

    found = fit_temperature(p, y)

    for end in (found.low, found.high):
        above = log_loss(p, y, temperature=end) - log_loss(p, y, temperature=found.value)
        assert above == pytest.approx(1.959964**2 / 2, rel=1e-5)


def test_calibrated_confidences_are_left_nearly_alone() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(5, 2, 20_000)

    found = fit_temperature(p, rng.random(20_000) < p)

    assert found.value == pytest.approx(1, abs=0.05)
    assert found.low < 1 < found.high


@pytest.mark.parametrize("true", [0.5, 1.7, 4.0])
def test_a_temperature_that_was_put_in_is_found(true: float) -> None:
    rng = np.random.default_rng(1)
    p = rng.beta(5, 2, 20_000)

    found = fit_temperature(p, rng.random(20_000) < apply_temperature(p, true))

    assert found.low < true < found.high
    assert found.value == pytest.approx(true, rel=0.1)


@pytest.mark.parametrize(
    ("p", "y", "value", "end"),
    [
        pytest.param([0.9, 0.8], [True, True], LOWEST, "lowest", id="all right, and thought so"),
        pytest.param([0.9, 0.8], [False, False], HIGHEST, "highest", id="all wrong, and sure"),
        pytest.param([0.2, 0.1], [False, False], LOWEST, "lowest", id="all wrong, and known"),
        pytest.param([0.9, 0.6], [False, True], HIGHEST, "highest", id="surer where it is wrong"),
    ],
)
def test_a_fit_at_an_end_of_the_range_says_so(
    p: list[float], y: list[bool], value: float, end: str
) -> None:
    found = fit_temperature(p, y)

    assert (found.value, found.end) == (value, end)
    assert found.low <= value <= found.high


def test_where_all_are_at_50_percent_no_temperature_is_better() -> None:
    found = fit_temperature([0.5, 0.5], [True, False])

    assert (found.value, found.low, found.high, found.end) == (1.0, LOWEST, HIGHEST, "")


@given(answers)
def test_no_temperature_in_the_range_fits_better(rows: list[tuple[float, bool]]) -> None:
    p, y = split(rows)

    found = fit_temperature(p, y)

    least = log_loss(p, y, temperature=found.value)
    assert LOWEST <= found.low <= found.value <= found.high <= HIGHEST
    for other in np.geomspace(LOWEST, HIGHEST, 40):
        assert least <= log_loss(p, y, temperature=float(other)) + 1e-6


def test_trials_of_one_record_do_not_make_the_fit_surer() -> None:
    rng = np.random.default_rng(2)
    p = rng.beta(5, 2, 200)
    y = rng.random(200) < p
    once = fit_temperature(p, y)

    often = fit_temperature(np.repeat(p, 5), np.repeat(y, 5), groups=np.repeat(np.arange(200), 5))

    assert often.value == pytest.approx(once.value, rel=1e-6)
    assert often.low == pytest.approx(once.low, rel=1e-6)
    assert often.high == pytest.approx(once.high, rel=1e-6)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 answer, got none"):
        fit_temperature([], [])
    with pytest.raises(ValueError, match=r"got `1.5` - at `confidences\[0\]`"):
        fit_temperature([1.5], [True])
    with pytest.raises(ValueError, match="a temperature above 0, got `0`"):
        apply_temperature([0.5], 0)
