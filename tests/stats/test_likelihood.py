import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.likelihood import log_likelihood, log_likelihoods, shares


def test_the_log_likelihood_of_a_text_is_the_sum_over_its_tokens() -> None:
    assert log_likelihood([math.log(0.5), math.log(0.125)]) == pytest.approx(math.log(1 / 16))


def test_rounding_above_zero_is_certainty() -> None:
    assert log_likelihood([1e-9]) == 0.0


@pytest.mark.parametrize("logprob", [0.1, math.nan, math.inf])
def test_what_is_no_probability_is_an_error(logprob: float) -> None:
    with pytest.raises(ValueError, match="0 or less"):
        log_likelihood([-1.0, logprob])


def test_each_text_is_weighed_by_its_own_tokens() -> None:
    assert log_likelihoods(["A", "B"], [(-1.0,), (-0.5, -1.0)]) == {"A": -1.0, "B": -1.5}


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        pytest.param(
            [(-1.0,)], "expected the log-probabilities of 2 answers, got 1", id="one is missing"
        ),
        pytest.param([(-1.0,), ()], "log-probabilities of `B`, got none", id="of no token"),
        pytest.param([(-1.0,), (0.5,)], "0 or less", id="a probability above 1"),
    ],
)
def test_what_breaks_the_contract_is_an_error(
    given_: list[tuple[float, ...]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        log_likelihoods(["A", "B"], given_)


def test_shares_are_the_softmax() -> None:
    assert shares({"A": math.log(0.3), "B": math.log(0.1)}) == pytest.approx({"A": 0.75, "B": 0.25})


def test_texts_so_long_that_no_float_holds_their_likelihood_have_shares() -> None:
    assert shares({"A": -100_000.0, "B": -100_000.0 - math.log(3)}) == pytest.approx(
        {"A": 0.75, "B": 0.25}
    )


def test_the_impossible_has_no_share() -> None:
    assert shares({"A": -math.inf, "B": -3.0}) == {"A": 0.0, "B": 1.0}


@pytest.mark.parametrize("none", [{"A": -math.inf, "B": -math.inf}, {}])
def test_where_everything_is_impossible_there_are_no_shares(none: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="probability 0"):
        shares(none)


@given(st.lists(st.floats(-1e6, 0), min_size=1, max_size=26))
def test_shares_sum_to_one_and_keep_the_order(logs: list[float]) -> None:
    found = shares({str(place): one for place, one in enumerate(logs)})

    assert math.fsum(found.values()) == pytest.approx(1)
    assert found[str(logs.index(max(logs)))] == max(found.values())
