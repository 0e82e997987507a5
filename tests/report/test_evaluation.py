from collections.abc import Iterator
from typing import Any

from evalwright.engine.finish import Broken, Figure, Finished
from evalwright.metrics.measure import Measure
from evalwright.plan.documents import DocumentPlan, PlannedSpec
from evalwright.report.build import Facts
from evalwright.report.evaluation import Ended, build_evaluation_report
from evalwright.report.report import Report
from evalwright.report.tables import tables
from evalwright.stats.interval import Interval
from evalwright.store.scalars import row_of
from evalwright.types import Failure, Outcome, Trace, Usage

FACTS = Facts(run_id="r", wall_seconds=1.0)


def outcome(n: int, *, failure: Failure | None = None, **usage: Any) -> Outcome:
    trace = Trace(input="", output="", post_processed="", usage=Usage(requests=1, **usage))
    return Outcome(task="t", model="m", sample_id=str(n), ordinal=n, trace=trace, failure=failure)


def report_of(outcomes: list[Outcome], finished: Finished, **facts: Any) -> Report:
    def samples(*, failed: bool | None = None) -> Iterator[Outcome]:
        return (one for one in outcomes if failed in {None, one.failure is not None})

    plan = DocumentPlan(
        tasks=(PlannedSpec(name="t", task_key="t", models=("m",), records=len(outcomes)),),
        models=("m",),
    )
    return build_evaluation_report(
        plan,
        map(row_of, outcomes),
        Facts(**{"run_id": "r", "wall_seconds": 1.0, **facts}),
        ended=[Ended(task="t", model="m", finished=finished)],
        samples=samples,
    )


def figure(name: str = "mean", **fields: Any) -> Figure:
    measure = Measure(name=name, value=0.5, interval=Interval(0.1, 0.9, "wilson"), n=2)
    return Figure(**{"scorer": "s", "metric": name, "measure": measure, **fields})


def test_a_figure_is_a_row_with_its_interval_and_what_is_left_out() -> None:
    finished = Finished(figures=[figure(failed=1, purpose="qa")], left_out=3)

    (row,) = report_of([outcome(0)], finished).metrics

    assert (row.task, row.model, row.scorer, row.metric) == ("t", "m", "s", "mean")
    assert (row.value, row.ci_low, row.ci_high, row.interval) == (0.5, 0.1, 0.9, "wilson")
    assert (row.n, row.failed, row.excluded, row.purpose) == (2, 1, 3, "qa")


def test_a_row_has_the_name_that_its_metric_gives_and_whose_key_it_is() -> None:
    two = [figure("share", metric="a", own_key=True), figure("share", metric="mean", absent=4)]

    rows = report_of([outcome(0)], Finished(figures=two)).metrics

    assert [(row.metric, row.name, row.key, row.own_key, row.absent) for row in rows] == [
        ("a_share", "share", "a", True, 0),
        ("mean_share", "share", "mean", False, 4),
    ]


def test_scores_without_a_value_are_a_column_where_there_are_any() -> None:
    some = report_of([outcome(0)], Finished(figures=[figure(absent=19), figure("other")]))
    none = report_of([outcome(0)], Finished(figures=[figure()]))

    (shown, *_), (plain, *_) = tables(some), tables(none)
    assert shown.columns[-1] == "no value"
    assert [row[-1] for row in shown.rows] == ["19", "0"]
    assert "whose score has none" in shown.note
    assert "no value" not in plain.columns


def test_the_name_of_a_metric_is_not_shortened() -> None:
    name = "required_noise_sensitivity_in_irrelevant_mean"
    (shown, *_) = tables(report_of([outcome(0)], Finished(figures=[figure(name)])))

    assert name in shown.rows[0]


def test_usage_is_summed_and_a_cost_that_is_unknown_stays_so() -> None:
    known = report_of([outcome(0, cost=0.5), outcome(1, cost=0.25)], Finished())
    unknown = report_of([outcome(0, cost=0.5), outcome(1)], Finished())

    assert (known.usage["m"].cost, known.usage["m"].requests) == (0.75, 2)
    assert unknown.usage["m"].cost is None


def test_failures_are_counted_by_kind_with_the_words_of_the_first() -> None:
    failure = Failure(stage="solver", type="timeout", message="no answer", hint="wait")

    report = report_of([outcome(0, failure=failure), outcome(1, failure=failure)], Finished())

    (row,) = report.failures
    assert (row.count, row.message, row.hint, row.sample_ids) == (
        2,
        "no answer",
        "wait",
        ["0", "1"],
    )
    assert (report.status, report.summary.failed) == ("finished_with_failures", 2)


def test_what_broke_for_the_whole_task_makes_the_run_one_with_failures() -> None:
    failure = Failure(stage="metric", type="ValueError", message="`s.mean`: no such field")
    finished = Finished(broken=[Broken(stage="metric", what="s.mean", failure=failure)])

    report = report_of([outcome(0)], finished)

    assert report.status == "finished_with_failures"
    assert report.failures[0].message == "t: `s.mean`: no such field"
    assert (report.summary.failed, report.summary.completed) == (0, 1)


def test_rules_say_how_many_they_took_out() -> None:
    report = report_of([outcome(0)], Finished(excluded={"a": 2, "b": 0}, left_out=2))

    assert [(row.rule, row.excluded) for row in report.rules] == [("a", 2), ("b", 0)]
    assert report.summary.excluded == 2


def test_a_run_that_was_stopped_says_how_to_go_on() -> None:
    report = report_of([], Finished(), stopped=True)

    assert report.status == "finished"  # nothing was planned
    assert report.notes == []


def test_results_and_checks_are_tables_of_their_own() -> None:
    finished = Finished(figures=[figure(), figure("share", purpose="qa")], excluded={"a": 1})

    titles = [table.title for table in tables(report_of([outcome(0)], finished))]

    assert titles == ["Results", "Checks (purpose: qa)", "Excluded from metrics", "Usage"]


def test_why_a_value_is_not_there_stands_below_the_table() -> None:
    measure = Measure(name="f1", value=None, interval=None, n=0, reason="no positives")
    finished = Finished(figures=[figure(measure=measure)])

    (table, *_) = tables(report_of([outcome(0)], finished))

    assert "f1: no positives" in table.note
