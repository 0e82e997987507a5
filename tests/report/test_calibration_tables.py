from typing import Any

import pytest
from tests.report.made import outcome, report_of

from evalwright.report.calibration_tables import calibration_tables, draw_bins
from evalwright.report.report import Report
from evalwright.report.report_tables import tables
from evalwright.report.to_markdown import to_markdown
from evalwright.stats.calibration import Bin, reliability_bins

LONG = "provider/a-model-with-a-name-of-36-sign"


def answered(model: str = "m", n: int = 40, **facts: Any) -> Report:
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
    figures, _ = calibration_tables(answered())

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
    shown = list(draw_bins(reliability_bins([0.05, 0.95], [False, True])))

    assert [line.split()[0] for line in shown] == ["confidence", "0.00-0.10", "0.90-1.00"]


@pytest.mark.parametrize("bins", [10, 15, 100, 1000])
def test_a_diagram_fits_eighty_columns(bins: int) -> None:
    report = answered(LONG, bins=bins, calibrate=True)

    lines = [line for table in calibration_tables(report) for line in table.below]
    assert any("◆" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_the_marks_of_all_lines_stand_under_one_scale() -> None:
    head, *lines = draw_bins(reliability_bins([0.0, 0.5, 1.0], [True] * 3, bins=3))

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
    unasked = [table.title for table in tables(answered())]

    assert "Calibration" not in silent
    assert "Calibration" in unasked
    assert "Temperature scaling" not in unasked


def test_a_temperature_stands_beside_the_raw_figures_of_the_same_answers() -> None:
    _, found = calibration_tables(answered(calibrate=True))

    raw, scaled = found.rows
    assert raw[:2] == ("m", "raw")
    assert scaled[0] == ""
    assert scaled[1].startswith("T = ")
    assert " fitted on 20 answers, judged on 20 others" in found.below
    assert any("change of the Brier score, paired" in line for line in found.below)


def test_what_could_not_be_fitted_is_a_row_of_dashes_with_the_reason() -> None:
    _, found = calibration_tables(answered(n=2, calibrate=True))

    assert found.rows == [("m", "not fitted", "–", "–", "–", "–")]
    assert "m: a temperature needs 2 answers" in " ".join(found.below)


def test_markdown_shows_the_diagram_as_it_is() -> None:
    shown = to_markdown(answered("`m`", calibrate=True))

    assert shown.count("```") == 4
    inside = shown.partition("```text\n")[2].partition("```")[0]
    assert "██" in inside
    assert "'m'" in inside
