import math

import pytest

from evalwright.solvers.likelihood import Likelihood, choose_likeliest, compute_likelihood


def test_tokens_multiply_and_their_mean_is_the_confidence() -> None:
    known = compute_likelihood([math.log(0.5), math.log(0.125)])

    assert known.nll == pytest.approx(math.log(16))
    assert known.nll_tokens == 2
    assert known.confidence == pytest.approx(0.25)


def test_no_tokens_tell_nothing() -> None:
    assert compute_likelihood(None) == compute_likelihood([]) == Likelihood()


def test_rounding_above_zero_is_certainty() -> None:
    assert compute_likelihood([1e-9]) == Likelihood(0.0, 1, 1.0)


@pytest.mark.parametrize("logprob", [0.1, math.nan])
def test_what_is_no_probability_is_an_error(logprob: float) -> None:
    with pytest.raises(ValueError, match="0 or less"):
        compute_likelihood([-1.0, logprob])


def test_the_likeliest_is_chosen_with_its_share_as_its_confidence() -> None:
    found = choose_likeliest(["A", "B"], [(math.log(0.1),), (math.log(0.6), math.log(0.5))])

    assert found.answer == "B"
    assert found.confidence == pytest.approx(0.75)
    assert found.nll == pytest.approx(-math.log(0.3))
    assert found.nll_tokens == 2
    assert found.options == pytest.approx({"A": math.log(0.1), "B": math.log(0.3)})


def test_of_equals_the_first_is_chosen() -> None:
    found = choose_likeliest(["B", "A", "C"], [(-1.0,), (-1.0,), (-2.0,)])

    assert found.answer == "B"


def test_what_is_certain_has_no_surprise() -> None:
    options = {"A": 0.0, "B": -math.inf}

    assert choose_likeliest(["A", "B"], [(1e-9,), (-math.inf,)]) == Likelihood(
        0.0, 1, 1.0, "A", options
    )


@pytest.mark.parametrize("logprob", [0.1, math.nan])
def test_no_choice_is_made_among_what_is_no_probability(logprob: float) -> None:
    with pytest.raises(ValueError, match="0 or less"):
        choose_likeliest(["A", "B"], [(-1.0,), (logprob,)])
