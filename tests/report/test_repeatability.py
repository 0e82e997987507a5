"""What a report says of a task that was run several times."""

import pytest
from tests.report.test_evaluation import report_of

from evalwright.engine.finish import Figure, Finished
from evalwright.engine.finishing import Agreement, Flaky
from evalwright.metrics.measure import Measure
from evalwright.report.evaluation import Ended
from evalwright.report.repeatability import agreement_rows, flaky_rows, repeat_rows
from evalwright.report.report import FlakyRow, RepeatRow
from evalwright.report.tables_repeats import _MOST_SHOWN, repeat_tables
from evalwright.stats.interval import Interval


def ended(*runs: float | None, reason: str = "", bounded: bool = False) -> Ended:
    measure = Measure("m", None if None in runs else 0.5, None, 3, reason)
    figure = Figure(scorer="s", metric="mean", measure=measure, runs=runs, bounded=bounded)
    return Ended(task="t", model="m", finished=Finished(figures=[figure]))


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
    assert row.reason == "no spread: the figures are too large to be squared"


def test_runs_that_agree_have_no_interval_and_it_is_said_why() -> None:
    row = row_of_runs(0.5, 0.5)

    assert (row.mean, row.std, row.ci_low) == (0.5, 0.0, None)
    assert row.reason == "no interval: all runs gave the same"


def test_a_figure_that_a_run_does_not_have_has_no_mean() -> None:
    row = row_of_runs(0.5, None, reason="no value in 1 of 2 runs")

    assert (row.mean, row.std, row.min, row.max, row.ci_low) == (None, None, None, None, None)
    assert (row.values, row.reason) == ([0.5, None], "no value in 1 of 2 runs")


def test_a_task_that_was_run_once_has_no_row() -> None:
    assert list(repeat_rows(ended())) == []


def flaky(number: int) -> Flaky:
    return Flaky(
        sample_id=f"عينة-{number}\n", scorer="s", score="ok", agreement=0.5, values=(("a\tb", 1),)
    )


def test_agreement_and_flaky_samples_are_rows() -> None:
    found = Agreement(
        scorer="s", score="ok", mean=0.9, interval=Interval(0.8, 0.95, "bca"), n=9, flaky=2
    )
    one = Ended(
        task="t", model="m", finished=Finished(agreements=[found], flaky=[flaky(1)], all_flaky=2)
    )

    (row,) = agreement_rows(one, 5)
    assert (row.agreement, row.ci_low, row.n, row.flaky, row.runs) == (0.9, 0.8, 9, 2, 5)
    (bad,) = flaky_rows(one)
    assert isinstance(bad, FlakyRow)
    assert (bad.sample_id, bad.values) == ("عينة-1\n", [("a\tb", 1)])


def test_a_long_value_is_cut() -> None:
    long = Flaky(sample_id="a", scorer="s", score="ok", agreement=0.5, values=(("x" * 99, 1),))

    (row,) = flaky_rows(Ended(task="t", model="m", finished=Finished(flaky=[long])))

    assert row.values == [("x" * 79 + "…", 1)]


def test_the_tables_are_bounded_and_printable_and_say_how_many_there_are() -> None:
    many = Finished(flaky=[flaky(number) for number in range(50)], all_flaky=1000)

    _, _, table = repeat_tables(report_of([], many))

    assert len(table.rows) == _MOST_SHOWN
    assert table.rows[0][2:] == ("عينة-0", "s.ok", "0.500", "a b (1)")
    assert table.note.endswith("10 of 1000, JSON has 50")
