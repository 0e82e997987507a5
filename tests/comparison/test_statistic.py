from typing import Any

import pytest

from evalwright.comparison.report import ComparisonRow
from evalwright.comparison.statistic import decide, round_up
from evalwright.comparison.tables import format_p


def row(**changes: Any) -> ComparisonRow:
    fields: dict[str, Any] = {
        **dict.fromkeys(("task", "model_a", "model_b", "scorer", "metric", "reason"), "x"),
        **dict.fromkeys(("wins", "losses", "ties", "flipped"), 10),
        "value_a": 0.5,
        "value_b": 0.6,
        "difference": 0.1,
        "ci_low": 0.05,
        "ci_high": 0.15,
        "p_value": 0.001,
        "p_adjusted": None,
        "test": "sign-flip",
        "n": 100,
        "clusters": None,
        "verdict": "undecided",
        "mde": 0.1,
        "n_needed": 140,
    }
    return ComparisonRow(**{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "margin", "verdict"),
    [
        pytest.param({}, 0, "better", id="significant, and the interval excludes zero"),
        pytest.param(
            {"difference": -0.1, "ci_low": -0.15, "ci_high": -0.05}, 0, "worse", id="below zero"
        ),
        pytest.param({"lower_is_better": True}, 0, "worse", id="more of what should be little"),
        pytest.param({"p_value": 0.2}, 0, "undecided", id="the test does not agree"),
        pytest.param({"ci_low": -0.01}, 0, "undecided", id="the interval does not agree"),
        pytest.param({}, 0.2, "equivalent", id="a real difference that does not matter"),
        pytest.param({}, 0.1, "better", id="the interval reaches beyond the margin"),
        pytest.param({"n": 0, "p_value": None}, 0, "undecided", id="no sample"),
        pytest.param({"difference": None}, 0, "undecided", id="an undefined metric"),
    ],
)
def test_the_verdict_follows_from_interval_test_and_margin(
    changes: dict[str, Any], margin: float, verdict: str
) -> None:
    (decided,) = decide([row(**changes)], margin=margin)

    assert decided.verdict == verdict


def test_only_an_undecided_row_needs_more_samples() -> None:
    better, undecided = decide([row(), row(p_value=0.5)], margin=0)

    assert (better.n_needed, undecided.n_needed) == (None, 140)
    assert undecided.reason == "about 40 more samples are needed to decide"


def test_p_values_of_all_rows_are_one_family() -> None:
    rows = decide([row(p_value=0.02), row(p_value=0.04), row(p_value=None)], margin=0)

    assert [each.p_adjusted for each in rows] == [0.04, 0.04, None]


def test_estimates_are_rounded_up_to_two_digits() -> None:
    assert [round_up(number) for number in (1, 37, 101, 1234)] == [1, 37, 110, 1300]
    assert [format_p(p) for p in (None, 0.0004, 0.0123, 0.25)] == ["–", "< 0.001", "0.012", "0.25"]
