"""What a report takes from the final results of tasks."""

from typing import Any

import pytest
from tests.report.made import answer, finalized_report

from evalwright.engine.results import (
    FinalResult,
    FlakySample,
    MetricValue,
    RunAgreement,
    TaskFailure,
    TaskModelResult,
)
from evalwright.metrics.scores import Measure
from evalwright.report.report import FlakyRow, RepeatRow, Report
from evalwright.report.result_rows import agreement_rows, flaky_rows, repeat_rows
from evalwright.report.to_tables import tables
from evalwright.stats.interval import Interval
from evalwright.types import Failure


def report_of(finished: FinalResult) -> Report:
    """The report on one sample of the task `qa`, and its result."""
    result = TaskModelResult(task="qa", model="m", finished=finished)
    return finalized_report([answer("m", 0)], results=[result])


def ended(*runs: float | None, reason: str = "", bounded: bool = False) -> TaskModelResult:
    measure = Measure("m", None if None in runs else 0.5, None, 3, reason)
    figure = MetricValue(scorer="s", metric="mean", measure=measure, runs=runs, bounded=bounded)
    return TaskModelResult(task="t", model="m", finished=FinalResult(figures=[figure]))


def row_of_runs(*runs: float | None, reason: str = "") -> RepeatRow:
    (row,) = repeat_rows(ended(*runs, reason=reason))
    return row


def test_the_spread_of_the_formats_own_example() -> None:
    row = row_of_runs(0.67, 1, 0.67, 1, 0.67)

    assert row.std == pytest.approx(0.183, abs=3e-3), "a sample's: n - 1"
    assert row.std == pytest.approx(0.18074844397670485)
    assert row.mean == pytest.approx(0.802)
    assert (row.min, row.max, row.runs) == (0.67, 1, 5)
    half = 2.7764451051977987 * 0.18074844397670485 / 5**0.5
    assert row.ci_low == pytest.approx(0.802 - half, rel=1e-3)
    assert row.ci_high == pytest.approx(0.802 + half, rel=1e-3)
    assert row.interval == "student"


def test_the_interval_of_what_lies_between_0_and_1_does_so_too() -> None:
    (row,) = repeat_rows(ended(0.05, 0.95, bounded=True))
    free = row_of_runs(0.05, 0.95)

    assert (row.ci_low, row.ci_high) == (0.0, 1.0)
    assert free.ci_low is not None
    assert free.ci_low < 0


def test_figures_as_large_as_numbers_get_have_a_mean_and_no_spread() -> None:
    row = row_of_runs(1.7e308, 1.5e308)

    assert (row.mean, row.std, row.ci_low) == (1.6e308, None, None)
    assert row.reason == "no spread: the values are too large to be squared"


def test_runs_that_agree_have_no_interval_and_it_is_said_why() -> None:
    row = row_of_runs(0.5, 0.5)

    assert (row.mean, row.std, row.ci_low) == (0.5, 0.0, None)
    assert row.reason == "no interval: all runs gave the same value"


def test_a_figure_that_a_run_does_not_have_has_no_mean() -> None:
    row = row_of_runs(0.5, None, reason="no value in 1 of 2 runs")

    assert (row.mean, row.std, row.min, row.max, row.ci_low) == (None, None, None, None, None)
    assert (row.values, row.reason) == ([0.5, None], "no value in 1 of 2 runs")


def test_a_task_that_was_run_once_has_no_row() -> None:
    assert list(repeat_rows(ended())) == []


def flaky(number: int) -> FlakySample:
    return FlakySample(
        sample_id=f"عينة-{number}\n", scorer="s", score="ok", agreement=0.5, values=(("a\tb", 1),)
    )


def test_agreement_and_flaky_samples_are_rows() -> None:
    found = RunAgreement(
        scorer="s", score="ok", mean=0.9, interval=Interval(0.8, 0.95, "bca"), n=9, flaky=2
    )
    one = TaskModelResult(
        task="t", model="m", finished=FinalResult(agreements=[found], flaky=[flaky(1)], all_flaky=2)
    )

    (row,) = agreement_rows(one, 5)
    assert (row.agreement, row.ci_low, row.n, row.flaky, row.runs) == (0.9, 0.8, 9, 2, 5)
    (bad,) = flaky_rows(one)
    assert isinstance(bad, FlakyRow)
    assert (bad.sample_id, bad.values) == ("عينة-1\n", [("a\tb", 1)])


def test_a_long_value_is_cut() -> None:
    long = FlakySample(
        sample_id="a", scorer="s", score="ok", agreement=0.5, values=(("x" * 99, 1),)
    )

    (row,) = flaky_rows(TaskModelResult(task="t", model="m", finished=FinalResult(flaky=[long])))

    assert row.values == [("x" * 79 + "…", 1)]


def test_the_tables_are_bounded_and_printable_and_say_how_many_there_are() -> None:
    many = FinalResult(flaky=[flaky(number) for number in range(50)], all_flaky=1000)

    table = next(one for one in tables(report_of(many)) if one.title == "Flaky samples")

    assert len(table.rows) == 10
    assert table.rows[0][2:] == ("عينة-0", "s.ok", "0.500", "a b (1)")
    assert table.note.endswith("10 of 1000, JSON has 50")


def figure(name: str = "mean", **fields: Any) -> MetricValue:
    measure = Measure(name=name, value=0.5, interval=Interval(0.1, 0.9, "wilson"), n=2)
    return MetricValue(**{"scorer": "s", "metric": name, "measure": measure, **fields})


def test_a_figure_is_a_row_with_its_interval_and_what_is_left_out() -> None:
    finished = FinalResult(figures=[figure(failed=1, purpose="qa")], left_out=3)

    (row,) = report_of(finished).metrics

    assert (row.task, row.model, row.scorer, row.metric) == ("qa", "m", "s", "mean")
    assert (row.value, row.ci_low, row.ci_high, row.interval) == (0.5, 0.1, 0.9, "wilson")
    assert (row.n, row.failed, row.excluded, row.purpose) == (2, 1, 3, "qa")


def test_a_row_has_the_name_that_its_metric_gives_and_whose_key_it_is() -> None:
    two = [figure("share", metric="a", own_key=True), figure("share", metric="mean", absent=4)]

    rows = report_of(FinalResult(figures=two)).metrics

    assert [(row.metric, row.name, row.key, row.own_key, row.absent) for row in rows] == [
        ("a_share", "share", "a", True, 0),
        ("mean_share", "share", "mean", False, 4),
    ]


def test_scores_without_a_value_are_a_column_where_there_are_any() -> None:
    some = report_of(FinalResult(figures=[figure(absent=19), figure("other")]))
    none = report_of(FinalResult(figures=[figure()]))

    (shown, *_), (plain, *_) = tables(some), tables(none)
    assert shown.columns[-1] == "no value"
    assert [row[-1] for row in shown.rows] == ["19", "0"]
    assert "without a score value" in shown.note
    assert "no value" not in plain.columns


def test_the_name_of_a_metric_is_not_shortened() -> None:
    name = "required_noise_sensitivity_in_irrelevant_mean"
    (shown, *_) = tables(report_of(FinalResult(figures=[figure(name)])))

    assert name in shown.rows[0]


def test_what_broke_for_the_whole_task_makes_the_run_one_with_failures() -> None:
    failure = Failure(stage="metric", type="ValueError", message="`s.mean`: no such field")
    finished = FinalResult(broken=[TaskFailure(stage="metric", what="s.mean", failure=failure)])

    report = report_of(finished)

    assert report.status == "finished_with_failures"
    assert report.failures[0].message == "qa: `s.mean`: no such field"
    assert (report.summary.failed, report.summary.completed) == (0, 1)


def test_rules_say_how_many_they_took_out() -> None:
    report = report_of(FinalResult(excluded={"a": 2, "b": 0}, left_out=2))

    assert [(row.rule, row.excluded) for row in report.rules] == [("a", 2), ("b", 0)]
    assert report.summary.excluded == 2


def test_results_and_checks_are_tables_of_their_own() -> None:
    finished = FinalResult(figures=[figure(), figure("share", purpose="qa")], excluded={"a": 1})

    titles = [table.title for table in tables(report_of(finished))]

    assert titles == ["Results", "Checks (purpose: qa)", "Excluded from metrics", "Usage"]


def test_why_a_value_is_not_there_stands_below_the_table() -> None:
    measure = Measure(name="f1", value=None, interval=None, n=0, reason="no positives")
    finished = FinalResult(figures=[figure(measure=measure)])

    (table, *_) = tables(report_of(finished))

    assert "f1: no positives" in table.note
