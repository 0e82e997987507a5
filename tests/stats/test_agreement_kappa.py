"""Values computed by hand; the three tables are those of every textbook on kappa."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.agreement import (
    cohen_kappa,
    cohen_kappa_interval,
    quadratic_kappa,
    quadratic_kappa_interval,
)


def table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> dict[tuple[str, str], int]:
    return {
        ("yes", "yes"): yes_yes,
        ("yes", "no"): yes_no,
        ("no", "yes"): no_yes,
        ("no", "no"): no_no,
    }


@pytest.mark.parametrize(
    ("pairs", "kappa"),
    [
        # o = 35/50, e = (25·30 + 25·20)/50² = 0.5: (0.7 - 0.5) / 0.5
        pytest.param(table(20, 5, 10, 15), 0.4, id="0.4"),
        # o = 60/100, e = (60·70 + 40·30)/100² = 0.54: 0.06 / 0.46
        pytest.param(table(45, 15, 25, 15), 0.06 / 0.46, id="0.1304"),
        # the same o, e = (60·30 + 40·70)/100² = 0.46: 0.14 / 0.54
        pytest.param(table(25, 35, 5, 35), 0.14 / 0.54, id="0.2593"),
        pytest.param(table(7, 0, 0, 3), 1.0, id="always equal"),
        # o = 0, e = (5·5 + 5·5)/10²
        pytest.param(table(0, 5, 5, 0), -1.0, id="never equal"),
        # o = 6/10; a: 5 and 4, b: 3 and 3, c: 2 and 3: e = (20 + 9 + 6)/10²
        pytest.param(
            {
                ("a", "a"): 3,
                ("a", "b"): 2,
                ("b", "b"): 1,
                ("b", "a"): 1,
                ("b", "c"): 1,
                ("c", "c"): 2,
            },
            (0.6 - 0.35) / 0.65,
            id="three labels",
        ),
    ],
)
def test_kappa_is_what_a_hand_computes(pairs: dict[tuple[str, str], int], kappa: float) -> None:
    assert cohen_kappa(pairs) == pytest.approx(kappa)


@pytest.mark.parametrize(
    "pairs", [{}, {("a", "a"): 0}, {("a", "a"): 9}], ids=["nothing", "no pair", "one label"]
)
def test_where_chance_explains_everything_kappa_is_undefined(
    pairs: dict[tuple[str, str], int],
) -> None:
    assert cohen_kappa(pairs) is None
    assert cohen_kappa_interval(pairs) is None


def test_a_label_that_only_one_of_them_gave_is_never_chance() -> None:
    # o = 1/2, e = (1/2 · 1) + 0
    assert cohen_kappa({("a", "a"): 1, ("b", "a"): 1}) == pytest.approx(0.0)


def test_the_interval_of_kappa_is_about_as_wide_as_theory_says() -> None:
    # The simple error of Cohen: √(o(1-o) / n(1-e)²) = √(0.7·0.3 / 500·0.25) = 0.041
    interval = cohen_kappa_interval(table(200, 50, 100, 150))

    assert interval is not None
    assert interval.method == "bootstrap"
    assert interval.low == pytest.approx(0.4 - 1.96 * 0.041, abs=0.01)
    assert interval.high == pytest.approx(0.4 + 1.96 * 0.041, abs=0.01)


def test_the_order_of_pairs_changes_no_interval_and_a_seed_does() -> None:
    pairs = table(20, 5, 10, 15)
    turned = dict(reversed(pairs.items()))

    assert cohen_kappa_interval(pairs) == cohen_kappa_interval(turned)
    assert cohen_kappa_interval(pairs) != cohen_kappa_interval(pairs, seed=1)


def test_where_all_agree_kappa_is_as_sure_as_the_agreement() -> None:
    # Wilson's lower end for 10 of 10 is 0.7225, chance (7² + 3²)/10² = 0.58
    interval = cohen_kappa_interval(table(7, 0, 0, 3))

    assert interval is not None
    assert interval.method == "bound"
    assert interval.low == pytest.approx((0.7225 - 0.58) / 0.42, abs=1e-3)
    assert interval.high == 1.0


def test_thousands_of_labels_still_have_a_kappa_and_an_interval() -> None:
    pairs = {(f"{n}", f"{n if n % 4 else n + 1}"): 1 for n in range(1500)}

    kappa = cohen_kappa(pairs)
    interval = cohen_kappa_interval(pairs)

    assert kappa is not None
    assert interval is not None
    assert interval.method == "asymptotic"
    assert interval.low < kappa < interval.high


def test_many_labels_have_the_interval_that_few_would_have() -> None:
    few = {(f"{n}", f"{n if m % 4 else (n + 1) % 30}"): 0 for n in range(30) for m in range(8)}
    for n in range(30):
        for m in range(8):
            few[f"{n}", f"{n if m % 4 else (n + 1) % 30}"] += 1
    many = {
        (f"{one}{side}", f"{other}{side}"): count
        for (one, other), count in few.items()
        for side in "ab"
    }

    resampled, by_theory = cohen_kappa_interval(few), cohen_kappa_interval(many)

    assert resampled is not None
    assert by_theory is not None
    assert resampled.method == "bootstrap"
    assert by_theory.method == "asymptotic"
    # Twice the samples: narrower by √2.
    width = resampled.high - resampled.low
    assert by_theory.high - by_theory.low == pytest.approx(width / math.sqrt(2), rel=0.1)


@pytest.mark.parametrize(
    ("one", "other", "kappa"),
    [
        # Σ(x-y)² = 1; over all nine pairs 9, a third of it 3: 1 - 1/3
        pytest.param([1, 2, 3], [1, 2, 2], 2 / 3, id="whole numbers"),
        pytest.param([1, 2, 3, 4], [1, 2, 3, 4], 1.0, id="equal"),
        pytest.param([1, 4], [4, 1], -1.0, id="turned around"),
        # cov 0.25·2/… : x and y = x + 1 of 0, 1: 2·0.25 / (0.25 + 0.25 + 1)
        pytest.param([0, 1], [1, 2], 1 / 3, id="always one more"),
    ],
)
def test_the_quadratic_kappa_is_what_a_hand_computes(
    one: list[float], other: list[float], kappa: float
) -> None:
    assert quadratic_kappa(one, other) == pytest.approx(kappa)


@pytest.mark.parametrize(
    ("one", "other"), [([], []), ([3, 3], [3, 3])], ids=["nothing", "one number"]
)
def test_without_spread_the_quadratic_kappa_is_undefined(
    one: list[float], other: list[float]
) -> None:
    assert quadratic_kappa(one, other) is None
    assert quadratic_kappa_interval(one, other) is None


def test_numbers_far_from_zero_lose_nothing() -> None:
    near, far = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])

    assert quadratic_kappa(near + 1e9, far + 1e9) == pytest.approx(2 / 3, abs=1e-6)


def test_lists_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="got 1 and 2"):
        quadratic_kappa([1], [1, 2])


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=30))
def test_the_quadratic_kappa_is_that_of_the_weighted_table(pairs: list[tuple[int, int]]) -> None:
    one, other = zip(*pairs, strict=True)
    seen = sum((x - y) ** 2 for x, y in pairs) / len(pairs)
    by_chance = sum((x - y) ** 2 for x in one for y in other) / len(pairs) ** 2

    found = quadratic_kappa(one, other)

    if by_chance:
        assert found == pytest.approx(1 - seen / by_chance)
    else:
        assert found is None


def test_the_quadratic_kappa_lies_in_its_interval() -> None:
    one = np.resize([1.0, 2.0, 3.0, 4.0, 5.0], 60)
    other = np.where(np.arange(60) % 7, one, 6 - one)
    interval, value = quadratic_kappa_interval(one, other), quadratic_kappa(one, other)

    assert interval is not None
    assert value is not None
    assert interval.low < value < interval.high


def test_where_none_agree_kappa_has_a_bound() -> None:
    found = cohen_kappa_interval(table(0, 5, 5, 0))

    assert found is not None
    # chance is a half: ten of ten not equal, of which Wilson leaves 0.278 open
    assert found.method == "bound"
    assert (found.low, found.high) == pytest.approx((-1, (0.27753 - 0.5) / 0.5), abs=1e-4)


@pytest.mark.parametrize(
    "pairs",
    [table(5, 5, 0, 0), table(0, 5, 0, 5), {("yes", "no"): 9}],
    ids=["one", "other", "both"],
)
def test_of_one_who_always_says_the_same_no_interval_is_known(
    pairs: dict[tuple[str, str], int],
) -> None:
    assert cohen_kappa_interval({pair: n for pair, n in pairs.items() if n}) is None
    assert cohen_kappa_interval(pairs) is None


def test_where_one_does_not_vary_the_quadratic_kappa_has_no_interval() -> None:
    assert quadratic_kappa_interval([0.1] * 9, [0.1 * n for n in range(9)]) is None
    assert quadratic_kappa_interval([0.3, 0.1, 0.7], [0.7] * 3) is None


def test_a_perfect_quadratic_kappa_has_the_bound_that_labels_would_have() -> None:
    ends = [1.0, 5.0] * 5

    same = quadratic_kappa_interval(ends, ends)
    turned = quadratic_kappa_interval(ends, ends[1:] + ends[:1])
    labels = cohen_kappa_interval(table(5, 0, 0, 5))

    assert same is not None
    assert turned is not None
    assert labels is not None
    assert (same.low, same.high, same.method) == pytest.approx((labels.low, 1, "bound"))
    assert (turned.low, turned.high) == pytest.approx((-1, -labels.low))
