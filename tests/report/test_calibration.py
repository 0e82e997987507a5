import math
import random
from typing import Any

import pytest
from tests.report.made import folded, outcome

from evalwright.report.calibration import answers_in, calibration_of, perplexity_of
from evalwright.report.calibration_rows import CalibrationRow, ScaledRow
from evalwright.report.fold import Column
from evalwright.stats.calibration import brier
from evalwright.types import Outcome


def column(*outcomes: Outcome) -> Column:
    """What the model `m` did."""
    return folded(outcomes, models=["m"]).columns["m"]


def row_of(*outcomes: Outcome, **settings: Any) -> CalibrationRow:
    """Its calibration."""
    return calibration_of(answers_in(column(*outcomes)), **{"bins": 10, **settings})


def answered(n: int, share: float, *, trials: int = 1, logprob: float = -0.1) -> list[Outcome]:
    """As many records, the first of them right, each with as many trials."""
    return [
        outcome("m", f"{at:04}", float(at < share * n), trial=trial, logprob=logprob)
        for at in range(n)
        for trial in range(trials)
    ]


def test_the_figures_are_over_the_answers_that_came_with_a_confidence() -> None:
    row = row_of(
        outcome("m", "sure and right", 1.0, logprob=math.log(0.8)),
        outcome("m", "sure and wrong", 0.0, logprob=math.log(0.8)),
        outcome("m", "says nothing", 0.0),
        outcome("m", "failed", None),
    )

    assert (row.covered, row.n) == (2, 4)
    assert row.ece == pytest.approx(0.3)  # |0.5 - 0.8|
    assert row.brier == pytest.approx((0.2**2 + 0.8**2) / 2)
    assert row.uncertainty == pytest.approx(0.25)
    assert row.resolution == pytest.approx(0)
    assert row.reliability == pytest.approx(0.3**2)


def test_without_confidences_every_figure_is_null() -> None:
    row = row_of(outcome("m", "a", 1.0), outcome("m", "b", None))

    assert (row.ece, row.brier) == (None, None)
    assert (row.reliability, row.resolution, row.uncertainty) == (None, None, None)
    assert (row.ece_low, row.ece_high, row.brier_low, row.brier_high) == (None,) * 4
    assert (row.populated_bins, row.covered, row.n) == (0, 0, 2)


def test_without_outcomes_every_figure_is_null() -> None:
    row = row_of()

    assert (row.ece, row.brier, row.covered, row.n) == (None, None, 0, 0)


@pytest.mark.parametrize("bins", [10, 15])
def test_the_diagram_has_every_bin_and_an_empty_one_is_null(bins: int) -> None:
    row = row_of(outcome("m", "a", 1.0, logprob=math.log(0.99)), bins=bins)

    assert len(row.bins) == bins
    assert [bin_.count for bin_ in row.bins] == [0] * (bins - 1) + [1]
    assert (row.bins[0].confidence, row.bins[0].accuracy) == (None, None)
    assert row.bins[-1].confidence == pytest.approx(0.99)
    assert row.bins[-1].accuracy == 1.0
    assert row.populated_bins == 1


def test_right_is_what_the_scorer_says_and_not_full_marks() -> None:
    graded = outcome("m", "half right", 0.5, correct=True, logprob=math.log(0.75))

    row = row_of(graded)

    assert row.ece == pytest.approx(0.25)


def test_every_figure_stands_within_its_interval() -> None:
    row = row_of(*answered(50, 0.6))

    assert row.ece_low is not None
    assert row.ece_low < (row.ece or 0) < (row.ece_high or 0)
    assert (row.brier_low or 0) < (row.brier or 0) < (row.brier_high or 0)


def test_trials_of_one_record_do_not_make_a_model_surer() -> None:
    once, often = row_of(*answered(40, 0.5)), row_of(*answered(40, 0.5, trials=6))

    assert often.covered == 6 * once.covered
    assert (often.ece_high or 0) - (often.ece_low or 0) == pytest.approx(
        (once.ece_high or 0) - (once.ece_low or 0), rel=0.1
    )


def scaled(*outcomes: Outcome, **settings: Any) -> ScaledRow:
    found = row_of(*outcomes, calibrate=True, **settings).scaled
    assert found is not None
    return found


def test_a_temperature_is_not_fitted_unasked() -> None:
    assert row_of(*answered(50, 0.6)).scaled is None


def test_a_temperature_is_fitted_on_one_half_and_judged_on_the_other() -> None:
    """All are 90 % sure; whatever share of the fitted half is right, T brings them to that."""
    found = scaled(*answered(100, 0.75, logprob=math.log(0.9)))

    assert (found.fitted_on, found.n, found.reason) == (50, 50, "")
    assert found.temperature is not None
    assert found.raw is not None
    assert found.scaled is not None
    assert (found.temperature_low or 0) < found.temperature < (found.temperature_high or 0)
    right = 0.9 - found.raw.ece
    fitted = 1.5 - right  # 75 of 100 in both halves
    brought_to = 1 / (1 + 9 ** (-1 / found.temperature))
    assert brought_to == pytest.approx(fitted, abs=1e-6)
    assert found.scaled.ece == pytest.approx(abs(brought_to - right), abs=1e-6)
    verdicts = [n < round(50 * right) for n in range(50)]
    assert found.raw.brier == pytest.approx(brier([0.9] * 50, verdicts))
    assert found.scaled.brier == pytest.approx(brier([brought_to] * 50, verdicts))
    assert found.brier_difference == pytest.approx(found.scaled.brier - found.raw.brier)
    assert sum(one.count for one in found.bins) == 50
    assert found.populated_bins == 1


def test_the_halves_do_not_depend_on_the_order_in_which_answers_landed() -> None:
    outcomes = [
        outcome("m", f"{n:03}", float(n % 3 > 0), logprob=-0.1 - n / 100) for n in range(60)
    ]
    shuffled = random.Random(0).sample(outcomes, len(outcomes))

    assert row_of(*shuffled, calibrate=True) == row_of(*outcomes, calibrate=True)
    assert scaled(*outcomes, seed=1) != scaled(*outcomes)


def test_all_trials_of_a_record_are_in_the_same_half() -> None:
    """Were they not, a half of 5 records would hold a number that 7 does not divide."""
    found = scaled(*answered(11, 0.5, trials=7))

    assert (found.fitted_on, found.n) == (35, 42)


@pytest.mark.parametrize(
    ("outcomes", "sizes"),
    [
        pytest.param([], (0, 0), id="no answers"),
        pytest.param(answered(3, 0.5), (1, 2), id="three answers"),
        pytest.param(answered(1, 1.0, trials=9), (0, 9), id="one record, however often"),
    ],
)
def test_too_few_answers_give_a_reason_and_no_temperature(
    outcomes: list[Outcome], sizes: tuple[int, int]
) -> None:
    found = scaled(*outcomes)

    assert (found.temperature, found.raw, found.scaled, found.bins) == (None, None, None, [])
    assert (found.fitted_on, found.n) == sizes
    assert found.reason.endswith(f"here are {sizes[0]} and {sizes[1]}")


@pytest.mark.parametrize(
    ("share", "temperature", "why"),
    [
        pytest.param(1.0, 0.01, "surer confidences fit better still", id="all right"),
        pytest.param(0.0, 100.0, "all are brought to 50 %", id="all wrong"),
    ],
)
def test_a_temperature_at_the_end_of_its_range_says_why(
    share: float, temperature: float, why: str
) -> None:
    found = scaled(*answered(20, share))

    assert found.temperature == temperature
    assert why in found.reason
    assert found.scaled is not None


def test_no_temperature_is_fitted_to_confidences_that_none_can_move() -> None:
    found = scaled(*answered(8, 0.5, logprob=math.log(0.5)))

    assert (found.temperature, found.scaled, found.brier_difference) == (None, None, None)
    assert "which no temperature moves" in found.reason
    assert (found.fitted_on, found.n) == (4, 4)


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
