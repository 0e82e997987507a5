import math

import pytest
from tests.report.made import folded, outcome

from evalwright.report.calibration import calibration_of, perplexity_of
from evalwright.report.fold import Column
from evalwright.types import Outcome


def column(*outcomes: Outcome) -> Column:
    """What the model `m` did."""
    return folded(outcomes, models=["m"]).columns["m"]


def test_the_figures_are_over_the_answers_that_came_with_a_confidence() -> None:
    found = column(
        outcome("m", "sure and right", 1.0, logprob=math.log(0.8)),
        outcome("m", "sure and wrong", 0.0, logprob=math.log(0.8)),
        outcome("m", "says nothing", 0.0),
        outcome("m", "failed", None),
    )

    row = calibration_of(found, bins=10)

    assert (row.covered, row.n) == (2, 4)
    assert row.ece == pytest.approx(0.3)  # |0.5 - 0.8|
    assert row.brier == pytest.approx((0.2**2 + 0.8**2) / 2)
    assert row.uncertainty == pytest.approx(0.25)
    assert row.resolution == pytest.approx(0)
    assert row.reliability == pytest.approx(0.3**2)


def test_without_confidences_every_figure_is_null() -> None:
    row = calibration_of(column(outcome("m", "a", 1.0), outcome("m", "b", None)), bins=10)

    assert (row.ece, row.brier) == (None, None)
    assert (row.reliability, row.resolution, row.uncertainty) == (None, None, None)
    assert (row.populated_bins, row.covered, row.n) == (0, 0, 2)


def test_without_outcomes_every_figure_is_null() -> None:
    row = calibration_of(column(), bins=10)

    assert (row.ece, row.brier, row.covered, row.n) == (None, None, 0, 0)


@pytest.mark.parametrize("bins", [10, 15])
def test_the_diagram_has_every_bin_and_an_empty_one_is_null(bins: int) -> None:
    row = calibration_of(column(outcome("m", "a", 1.0, logprob=math.log(0.99))), bins=bins)

    assert len(row.bins) == bins
    assert [bin_.count for bin_ in row.bins] == [0] * (bins - 1) + [1]
    assert (row.bins[0].confidence, row.bins[0].accuracy) == (None, None)
    assert row.bins[-1].confidence == pytest.approx(0.99)
    assert row.bins[-1].accuracy == 1.0
    assert row.populated_bins == 1


def test_right_is_what_the_scorer_says_and_not_full_marks() -> None:
    graded = outcome("m", "half right", 0.5, correct=True, logprob=math.log(0.75))

    row = calibration_of(column(graded), bins=10)

    assert row.ece == pytest.approx(0.25)


def test_perplexity_sums_before_it_divides() -> None:
    found = column(
        outcome("m", "a", 1.0, logprob=-1.0),
        outcome("m", "b", 1.0, logprob=-3.0),
        outcome("m", "says nothing", 1.0),
    )

    row = perplexity_of(found)

    assert row.perplexity == pytest.approx(math.exp(2.0))
    assert (row.tokens, row.covered, row.n) == (2, 2, 3)


@pytest.mark.parametrize(
    "outcomes",
    [
        pytest.param([], id="nothing was run"),
        pytest.param([outcome("m", "a", None)], id="everything failed"),
        pytest.param([outcome("m", "a", 1.0)], id="the model gives no log-probabilities"),
        pytest.param(
            [outcome("m", "a", 1.0, logprob=-9999.0)], id="beyond what a float, or JSON, can hold"
        ),
    ],
)
def test_a_perplexity_that_is_no_number_is_null(outcomes: list[Outcome]) -> None:
    assert perplexity_of(column(*outcomes)).perplexity is None
