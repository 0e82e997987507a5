import math
from itertools import product

import numpy as np
import pytest

from evalwright.stats.significance import holm, mcnemar_exact, sign_flip_test


def binomial_p(wins: int, losses: int) -> float:
    """The definition, in exact integers."""
    n = wins + losses
    below = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return float(min(1.0, 2 * below / 2**n))


def test_the_published_example_has_its_published_p_value() -> None:
    assert mcnemar_exact(150, 86) == pytest.approx(3.7e-5, rel=0.01)


def test_the_exact_test_equals_the_binomial_sum() -> None:
    wrong = {
        (wins, losses): (found, binomial_p(wins, losses))
        for wins, losses in [*product(range(9), repeat=2), (40, 61), (500, 431), (1200, 1300)]
        if (found := mcnemar_exact(wins, losses))
        != pytest.approx(binomial_p(wins, losses), rel=1e-8)
    }

    assert wrong == {}


def test_many_disagreements_are_counted_in_no_time() -> None:
    assert 0 < mcnemar_exact(400_000, 401_000) < 1


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="counts of 0 or more"):
        mcnemar_exact(-1, 3)


def enumerate_signs(differences: list[float]) -> float:
    total = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return sum(value >= total - 1e-12 for value in sums) / len(sums)


def test_few_differences_are_enumerated() -> None:
    tables = [[0.5, 0.25, -0.125], [0.3] * 6, [0.1, -0.2, 0.4, 0.7, -0.1, 0.2, 0.9]]

    for differences in tables:
        assert sign_flip_test(differences) == pytest.approx(enumerate_signs(differences))


def test_zeros_carry_no_information() -> None:
    assert sign_flip_test([0.5, 0.25, 0, 0, 0]) == sign_flip_test([0.5, 0.25])
    assert sign_flip_test([0.0, 0.0]) == sign_flip_test([]) == 1.0


def test_drawn_signs_agree_with_the_normal_distribution_of_many() -> None:
    generator = np.random.default_rng(5)
    differences = generator.normal(0.1, 1, 500)

    drawn = sign_flip_test(differences)

    z = abs(differences.sum()) / math.sqrt((differences**2).sum())
    assert drawn == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.01)


def test_the_test_is_the_same_for_both_directions_and_any_order() -> None:
    generator = np.random.default_rng(6)
    differences = generator.normal(0.1, 1, 60)

    p_value = sign_flip_test(differences)

    assert p_value == sign_flip_test(-differences) == sign_flip_test(differences[::-1])


def test_one_dominant_difference_among_many_is_not_taken_for_normal() -> None:
    differences = np.append(np.tile([1e-6, -1e-6], 1500), 1.0)

    assert sign_flip_test(differences) == pytest.approx(0.5, abs=0.05)


def test_holm_multiplies_the_smallest_by_the_number_of_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
