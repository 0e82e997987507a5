import math

import pytest

from evalwright.solvers.likelihood import Likelihood, likelihood


def test_tokens_multiply_and_their_mean_is_the_confidence() -> None:
    known = likelihood([math.log(0.5), math.log(0.125)])

    assert known.nll == pytest.approx(math.log(16))
    assert known.nll_tokens == 2
    assert known.confidence == pytest.approx(0.25)


def test_no_tokens_tell_nothing() -> None:
    assert likelihood(None) == likelihood([]) == Likelihood()


def test_rounding_above_zero_is_certainty() -> None:
    assert likelihood([1e-9]) == Likelihood(0.0, 1, 1.0)


@pytest.mark.parametrize("logprob", [0.1, math.nan])
def test_what_is_no_probability_is_an_error(logprob: float) -> None:
    with pytest.raises(ValueError, match="0 or less"):
        likelihood([-1.0, logprob])
