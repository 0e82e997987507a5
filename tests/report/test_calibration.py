import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs
from tests.report.made import answer, finalized_report, folded, outcome, report_of, task_of

from evalwright.engine.results import FinalResult, MetricValue, TaskModelResult
from evalwright.metrics.scores import Measure
from evalwright.plan.outline import TaskOutline
from evalwright.report.calibration import (
    calibration_row,
    calibration_tables,
    draw_bins,
    recalibrate,
)
from evalwright.report.report import CalibrationRow, Report, ScaledRow
from evalwright.report.to_tables import tables, to_markdown
from evalwright.stats.calibration import Bin, measure_calibration
from evalwright.types import SELF_REPORT, Action, Failure, Outcome, Part, Score, Trace

LONG = "provider/a-model-with-a-name-of-36-sign"


def row_of(*outcomes: Outcome, **settings: Any) -> CalibrationRow:
    """The calibration of the model `m`."""
    answers = folded(outcomes, models=["m"]).models["m"].answers
    return calibration_row(answers, **{"bins": 10, **settings})


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
    assert found.raw.brier == pytest.approx(measure_calibration([0.9] * 50, verdicts).brier)
    assert found.scaled.brier == pytest.approx(
        measure_calibration([brought_to] * 50, verdicts).brier
    )
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
        pytest.param(1.0, 0.01, "higher confidences would fit even better", id="all right"),
        pytest.param(0.0, 100.0, "all are moved to 50 %", id="all wrong"),
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
    assert "which no temperature changes" in found.reason
    assert (found.fitted_on, found.n) == (4, 4)


def sure(
    n: int, *, correct: bool | None = True, confidence: float | None = 0.8, **fields: Any
) -> Outcome:
    """An answer to a finalized task."""
    trace = Trace(input="", output="", post_processed="", confidence=confidence)
    scores = {"exact": Score(values={"is_correct": correct}, correct=correct)}
    return answer("m", n, **{"trace": trace, "scores": scores, **fields})


def calibration(outcomes: Sequence[Outcome], *tasks: TaskOutline, **facts: Any) -> CalibrationRow:
    return finalized_report(outcomes, *tasks, **facts).calibration["m"]


def test_answers_with_a_confidence_that_are_right_or_wrong_are_calibrated() -> None:
    row = calibration([sure(0), sure(1, correct=False), sure(2, confidence=None)])

    assert (row.covered, row.n) == (2, 3)
    assert row.ece == pytest.approx(0.3)
    assert row.scaled is None


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(sure(0, confidence=None), id="no confidence"),
        pytest.param(sure(0, correct=None), id="a score that is no verdict"),
        pytest.param(sure(0, scores={}), id="no score"),
        pytest.param(sure(0, trace=None), id="no answer"),
        pytest.param(
            sure(0, actions=(Action(action="exclude", rule_key="r"),)), id="excluded by a rule"
        ),
        pytest.param(
            sure(0, failure=Failure(stage="action", type="KeyError", message="")),
            id="a rule could not say",
        ),
        pytest.param(
            structs.replace(sure(0, scores={}), parts=(Part(sample={}, scores=sure(0).scores),)),
            id="parts of an answer",
        ),
    ],
)
def test_a_model_without_such_answers_has_nulls(one: Outcome) -> None:
    row = calibration([one])

    assert (row.covered, row.n, row.ece) == (0, 1, None)


def test_the_first_scorer_that_gives_a_verdict_on_the_answer_counts() -> None:
    scores = {
        "language": Score(values={"is_english": True}, correct=True),
        "length": Score(values={"words": 3}),
        "exact": Score(values={"is_correct": False}, correct=False),
        "judge": Score(values={"is_correct": True}, correct=True),
    }

    qa = MetricValue(
        scorer="language", metric="mean", measure=Measure("mean", 1.0, None, 1), purpose="qa"
    )
    result = TaskModelResult(task="qa", model="m", finished=FinalResult(figures=[qa]))

    report = finalized_report([sure(0, scores=scores)], results=[result])

    assert report.calibration["m"].ece == pytest.approx(0.8)


def test_what_another_scorer_could_not_do_does_not_matter() -> None:
    failure = Failure(stage="score", type="timeout", message="the judge was silent")

    assert calibration([sure(0, failure=failure)]).covered == 1


def test_trials_stay_together_and_samples_of_two_tasks_apart() -> None:
    often = [sure(n, trial=trial) for n in range(4) for trial in range(3)]
    twice = [sure(n, task=task) for n in range(4) for task in ("one", "two")]
    tasks = [task_of(twice, name, primary=None) for name in ("one", "two")]

    tried = calibration(often, task_of(often, trials=3), calibrate=True).scaled
    apart = calibration(twice, *tasks, calibrate=True).scaled

    assert tried is not None
    assert (tried.fitted_on, tried.n) == (6, 6)
    assert apart is not None
    assert (apart.fitted_on, apart.n) == (4, 4)


def test_what_a_model_says_of_its_answers_takes_the_place_of_its_log_probabilities() -> None:
    def told(n: int, confidence: float | None) -> Outcome:
        said = Score(values={"confidence": confidence}, metadata={SELF_REPORT: True})
        return structs.replace(sure(n), scores={**sure(n).scores, "confidence": said})

    row = calibration([told(0, 0.5), told(1, None)], confidence="self")

    assert (row.covered, row.n) == (1, 2)
    assert row.ece == pytest.approx(0.5)


def test_a_stored_report_is_calibrated_again_from_its_outcomes() -> None:
    outcomes = [sure(n, correct=n > 0) for n in range(4)]
    report = finalized_report(outcomes)

    again = recalibrate(report, outcomes, bins=5, calibrate=True)

    assert again == finalized_report(outcomes, bins=5, calibrate=True).calibration
    assert len(again["m"].bins) == 5


def report_of_answers(model: str = "m", n: int = 40, **facts: Any) -> Report:
    """Three of four right, 90 % sure."""
    return report_of(
        [outcome(model, f"{at:03}", float(at % 4 > 0), logprob=-0.105) for at in range(n)], **facts
    )


def one_bin(accuracy: float, confidence: float) -> str:
    (line,) = list(
        draw_bins([Bin(low=0.5, high=0.6, count=7, confidence=confidence, accuracy=accuracy)])
    )[1:]
    return line


def test_the_figures_have_their_intervals() -> None:
    figures, _ = calibration_tables(report_of_answers())

    (row,) = figures.rows
    assert row[1] == "0.150"
    assert row[3] == "0.210"
    assert row[2].startswith("[0.0")
    assert row[-2:] == ("1/10", "40/40")


@pytest.mark.parametrize(
    ("accuracy", "confidence", "bar"),
    [
        pytest.param(0.5, 0.75, "█" * 20 + "·" * 10 + "◆" + "·" * 9, id="too sure"),
        pytest.param(0.75, 0.5, "█" * 20 + "◆" + "█" * 9 + "·" * 10, id="not sure enough"),
        pytest.param(0.0, 0.0, "◆" + "·" * 39, id="nothing right, and known"),
        pytest.param(1.0, 1.0, "█" * 39 + "◆", id="all right, and certain"),
        pytest.param(0.5125, 0.9, "█" * 20 + "▌" + "·" * 15 + "◆" + "·" * 3, id="half a cell"),
    ],
)
def test_the_bar_is_the_share_that_is_right_and_the_mark_the_confidence(
    accuracy: float, confidence: float, bar: str
) -> None:
    line = one_bin(accuracy, confidence)

    assert bar in line
    assert line.startswith("   0.50-0.60 ")
    assert line.split()[-3:] == [f"{confidence:.2f}", f"{accuracy:.2f}", "7"]


def test_bins_without_answers_have_no_line() -> None:
    shown = list(draw_bins(measure_calibration([0.05, 0.95], [False, True]).bins))

    assert [line.split()[0] for line in shown] == ["confidence", "0.00-0.10", "0.90-1.00"]


@pytest.mark.parametrize("bins", [10, 15, 100, 1000])
def test_a_diagram_fits_eighty_columns(bins: int) -> None:
    report = report_of_answers(LONG, bins=bins, calibrate=True)

    lines = [line for table in calibration_tables(report) for line in table.below]
    assert any("◆" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_the_marks_of_all_lines_stand_under_one_scale() -> None:
    head, *lines = draw_bins(measure_calibration([0.0, 0.5, 1.0], [True] * 3, bins=3).bins)

    assert [line.index("◆") for line in lines] == [
        head.index("0"),
        head.index("0.5") + 1,
        head.rindex("1"),
    ]


def test_a_model_that_gave_no_confidence_has_no_diagram() -> None:
    report = report_of([outcome("m", "a", 1.0), outcome("sure", "a", 1.0, logprob=-0.1)])

    figures, temperatures = calibration_tables(report)
    assert [row[0] for row in figures.rows] == ["sure"]
    assert " m" not in figures.below
    assert temperatures.rows == []


def test_without_confidences_and_without_being_asked_there_are_no_tables() -> None:
    silent = [table.title for table in tables(report_of([outcome("m", "a", 1.0)]))]
    unasked = [table.title for table in tables(report_of_answers())]

    assert "Calibration" not in silent
    assert "Calibration" in unasked
    assert "Temperature scaling" not in unasked


def test_a_temperature_stands_beside_the_raw_figures_of_the_same_answers() -> None:
    _, found = calibration_tables(report_of_answers(calibrate=True))

    raw, scaled = found.rows
    assert raw[:2] == ("m", "raw")
    assert scaled[0] == ""
    assert scaled[1].startswith("T = ")
    assert " fitted on 20 answers, tested on 20 others" in found.below
    assert any("change of the Brier score, paired" in line for line in found.below)


def test_what_could_not_be_fitted_is_a_row_of_dashes_with_the_reason() -> None:
    _, found = calibration_tables(report_of_answers(n=2, calibrate=True))

    assert found.rows == [("m", "not fitted", "–", "–", "–", "–")]
    assert "m: a temperature needs 2 answers" in " ".join(found.below)


def test_markdown_shows_the_diagram_as_it_is() -> None:
    shown = to_markdown(report_of_answers("`m`", calibrate=True))

    assert shown.count("```") == 4
    inside = shown.partition("```text\n")[2].partition("```")[0]
    assert "██" in inside
    assert "'m'" in inside
