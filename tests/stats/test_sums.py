import math

import numpy as np
import pytest

from evalwright.stats.arrays import Floats, Integers
from evalwright.stats.sums import distinct, resampled_sums, sums_interval


def mean_of(sums: Floats) -> Floats:
    result: Floats = sums[:, 0] / sums[:, 1]
    return result


def counted(values: Floats) -> tuple[Floats, Integers]:
    return distinct(np.column_stack([values, np.ones(values.size)]))


def test_the_mean_of_a_coin_is_as_sure_as_theory_says() -> None:
    rows, counts = counted(np.asarray([0.0, 1.0] * 200))

    interval = sums_interval(rows, counts, mean_of)

    assert interval is not None
    assert interval.method == "bootstrap"
    half = 1.966 * 0.5 / math.sqrt(400)
    assert interval.low == pytest.approx(0.5 - half, abs=0.004)
    assert interval.high == pytest.approx(0.5 + half, abs=0.004)


@pytest.mark.parametrize(
    ("n", "kinds"),
    [
        pytest.param(1500, 3, id="counts"),
        pytest.param(1500, 1500, id="draws"),
        pytest.param(5000, 5000, id="the limit"),
    ],
)
def test_each_road_leads_to_the_same_spread(n: int, kinds: int) -> None:
    values = np.resize(np.linspace(0, 1, kinds), n)
    rows, counts = counted(values)

    sums = resampled_sums(rows, counts, resamples=4000, seed=1)

    assert sums.shape == (4000, 2)
    assert sums[:, 0].mean() == pytest.approx(values.sum(), rel=0.01)
    assert sums[:, 0].std() == pytest.approx(values.std() * math.sqrt(n), rel=0.05)
    assert sums[:, 1] == pytest.approx(n)


def test_the_same_seed_gives_the_same_interval() -> None:
    rows, counts = counted(np.arange(30, dtype=np.float64))

    assert sums_interval(rows, counts, mean_of, seed=1) == sums_interval(
        rows, counts, mean_of, seed=1
    )
    assert sums_interval(rows, counts, mean_of) != sums_interval(rows, counts, mean_of, seed=1)


@pytest.mark.parametrize("values", [[3.0], [3.0] * 9], ids=["one sample", "all equal"])
def test_without_spread_there_is_no_interval(values: list[float]) -> None:
    assert sums_interval(*counted(np.asarray(values)), mean_of) is None


def test_where_most_resamples_are_undefined_there_is_no_interval() -> None:
    rows, counts = counted(np.arange(9, dtype=np.float64))

    assert sums_interval(rows, counts, lambda sums: np.full(len(sums), np.nan)) is None
