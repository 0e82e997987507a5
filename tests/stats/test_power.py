import math

import pytest

from evalwright.stats.power import minimum_detectable, paired_deviation, required_samples


def test_millers_example_needs_969_samples() -> None:
    assert required_samples(math.sqrt(1 / 9), 0.03) == 969


def test_the_detectable_difference_is_the_inverse() -> None:
    n = required_samples(0.4, 0.05)

    assert minimum_detectable(0.4, n) == pytest.approx(0.05, rel=0.01)
    assert minimum_detectable(0.4, n) <= 0.05


def test_the_spread_of_binary_differences_follows_from_rate_or_disagreement() -> None:
    assert paired_deviation(0.5, correlation=0) == pytest.approx(math.sqrt(0.5))
    assert paired_deviation(0.8, disagreement=0.09) == pytest.approx(0.3)


def test_what_has_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="difference of 0"):
        required_samples(0.5, 0)
    with pytest.raises(ValueError, match="at least 1 sample"):
        minimum_detectable(0.5, 0)
    with pytest.raises(ValueError, match="power"):
        required_samples(0.5, 0.1, power=1)
