import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.stats.likelihood import perplexity


# By hand: a model that finds every token one of k equally likely ones has perplexity k.
@pytest.mark.parametrize(
    ("nll", "tokens", "expected"),
    [
        pytest.param(10 * math.log(7), 10, 7.0, id="one of seven, ten times"),
        pytest.param([math.log(4), 3 * math.log(4)], [1, 3], 4.0, id="two texts"),
        pytest.param([0.0, 3 * math.log(16)], [1, 3], 8.0, id="a long text weighs more"),
        pytest.param(0, 5, 1.0, id="no surprise"),
        pytest.param([1e6], [1], math.inf, id="beyond what a float holds"),
    ],
)
def test_perplexity_by_hand(
    nll: float | list[float], tokens: int | list[int], expected: float
) -> None:
    assert perplexity(nll, tokens) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("nll", "tokens"),
    [pytest.param([], [], id="no texts"), pytest.param([0.0], [0], id="an empty text")],
)
def test_no_tokens_have_no_perplexity(nll: list[float], tokens: list[int]) -> None:
    assert math.isnan(perplexity(nll, tokens))


@given(st.lists(st.tuples(st.floats(0, 100), st.integers(1, 1000)), min_size=1))
def test_it_is_at_least_one_and_within_the_texts_own(rows: list[tuple[float, int]]) -> None:
    own = [perplexity(nll, tokens) for nll, tokens in rows]

    together = perplexity([nll for nll, _ in rows], [tokens for _, tokens in rows])

    assert together >= 1
    assert min(own) * (1 - 1e-12) <= together <= max(own) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("nll", "tokens", "message"),
    [
        pytest.param([1.0, -0.1], [1, 1], r"got `-0.1` - at `nll\[1\]`", id="negative NLL"),
        pytest.param([math.nan], [1], r"got `nan` - at `nll\[0\]`", id="NaN"),
        pytest.param([1.0], [-1], r"got `-1` - at `tokens\[0\]`", id="negative tokens"),
        pytest.param([1.0], [1, 2], "one token count per NLL, got 2 and 1", id="unequal lengths"),
    ],
)
def test_a_broken_contract_is_an_error(nll: list[float], tokens: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        perplexity(nll, tokens)
