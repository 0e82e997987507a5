"""What a report must meet in a test, and what a failed test says."""

from typing import Any

import pytest

import evalwright as ew
from evalwright.report.requirements import describe_unmet, find_unmet

ROWS = [{"word": word} for word in ("one", "two", "three", "four", "five")]


@ew.scorer
def share_of_letters(output: str) -> float:
    return len(output) / 5


def fail_on_two(prompt: str) -> str:
    if prompt == "two":
        raise ValueError("the server is down")
    return prompt


def run(models: Any = "scripted/echo", **options: Any) -> ew.Report:
    task = ew.Task("words", ROWS, prompt="{word}", scorers=[share_of_letters])
    return ew.run(task, models, store="memory:", **options)


@pytest.mark.parametrize(
    ("models", "requirements", "reasons"),
    [
        pytest.param("scripted/echo", {"min_mean": 0.7}, [], id="met"),
        pytest.param("scripted/echo", {}, [], id="no minimum"),
        pytest.param(
            "scripted/echo",
            {"min_mean": 0.9},
            ["share_of_letters, score_mean: 0.760 < 0.900, but the interval"],
            id="a mean is too low",
        ),
        pytest.param(
            "scripted/echo",
            {"min_mean": 0.7, "strict": True},
            ["the whole interval must meet it"],
            id="the interval is too wide",
        ),
        pytest.param(
            fail_on_two,
            {"min_mean": 0.7},
            ["1 sample failed: the server is down"],
            id="a sample failed",
        ),
        pytest.param(
            fail_on_two,
            {"min_mean": 0.9},
            ["1 sample failed: the server is down", "0.800 < 0.900"],
            id="both",
        ),
        pytest.param("scripted/echo", {"task": "other"}, ["no metric was measured"], id="no task"),
    ],
)
def test_every_requirement_that_is_not_met_has_a_reason(
    models: Any, requirements: Any, reasons: list[str]
) -> None:
    unmet = find_unmet(run(models), **requirements)

    assert len(unmet) == len(reasons)
    for requirement, reason in zip(unmet, reasons, strict=True):
        assert reason in requirement.reason


def test_a_stopped_run_meets_nothing() -> None:
    unmet = find_unmet(run(fail_on_two, max_failures=0.1, concurrency=1), min_mean=0)

    assert [requirement.reason.partition(" (")[0] for requirement in unmet] == [
        "the run is not finished"
    ]


def test_the_worst_samples_are_those_that_failed_and_then_those_with_the_lowest_scores() -> None:
    report = run(fail_on_two)

    text = describe_unmet(report, find_unmet(report, min_mean=0.9), store="runs.db")

    samples = [line.partition("sample ")[2] for line in text.splitlines() if ": sample " in line]
    assert samples == ["1", "0", "3"]
    assert "failed: the server is down" in text
    assert "share_of_letters: score 0.6" in text
    assert text.endswith(f"evalwright show {report.run_id} --failed --store runs.db")
    assert "evalwright show" not in describe_unmet(
        report, find_unmet(report, min_mean=0.9), store=None
    )
