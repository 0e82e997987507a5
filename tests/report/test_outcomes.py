"""What a report reads from the outcomes themselves: rankings of finalized tasks, and more."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from msgspec import structs
from tests.report.made import (
    METRIC,
    answer,
    finalize,
    finalized_report,
    outcome,
    report_of,
    task_of,
)

from evalwright.engine.results import FinalResult, MetricValue, TaskModelResult
from evalwright.metrics.scores import Measure
from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.report.build import ReportFacts, build_report
from evalwright.report.outcomes import MOST_CATEGORIES
from evalwright.report.report import LeaderboardRow, MetricRow, Report
from evalwright.types import SELF_REPORT, Action, Failure, Outcome, Part, Score, Trace, Usage

EXCLUDED = (Action(action="exclude_from_metrics", rule_key="r"),)


def ranked(outcomes: Sequence[Outcome], *tasks: TaskOutline, **facts: Any) -> Report:
    """The report with the results that finalization gives."""
    planned = tasks or (task_of(outcomes),)
    results = [result for task in planned for result in finalize(outcomes, task)]
    return finalized_report(outcomes, *planned, results=results, **facts)


def row_of(report: Report, model: str) -> LeaderboardRow:
    return next(row for row in report.leaderboard if row.model == model)


def metric_of(report: Report, name: str, model: str = "m") -> MetricRow:
    return next(row for row in report.metrics if (row.metric, row.model) == (name, model))


def two(**values: Sequence[Any]) -> list[Outcome]:
    """The answers of models, sample by sample."""
    return [answer(model, n, value) for model, own in values.items() for n, value in enumerate(own)]


def test_the_models_of_a_task_are_ranked_by_its_primary_metric() -> None:
    report = ranked(two(good=[True, True, False], poor=[True, False, False]))

    assert [(row.rank, row.model, row.mean, row.n) for row in report.leaderboard] == [
        (1, "good", 2 / 3, 3),
        (2, "poor", 1 / 3, 3),
    ]
    assert {(row.task, row.metric) for row in report.leaderboard} == {("qa", "is_correct_mean")}
    (pair,) = report.pairwise
    assert (pair.a, pair.b, pair.task, pair.metric) == ("good", "poor", "qa", "is_correct_mean")
    assert pair.difference == pytest.approx(1 / 3)
    assert (pair.n, pair.significant) == (3, False)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([[True, False, True], [False, False, True]], id="right or wrong"),
        pytest.param([[0.1, 0.7, 0.4], [0.3, 0.3, 0.9]], id="graded"),
        pytest.param([[1, 4.5, 2], [3, 3, 5]], id="grades beyond 1"),
    ],
)
def test_without_failures_the_leaderboard_says_what_the_metric_says(
    values: list[list[Any]],
) -> None:
    report = ranked(two(m=values[0], n=values[1]))

    for row in report.leaderboard:
        metric = metric_of(report, METRIC.metric, row.model)
        assert (row.mean, row.ci_low, row.ci_high, row.interval) == (
            metric.value,
            metric.ci_low,
            metric.ci_high,
            metric.interval,
        )
        assert row.own_mean == row.mean


@pytest.mark.parametrize(("trials", "repeats"), [(3, 1), (1, 3), (3, 2)])
def test_trials_and_repeats_of_a_sample_are_averaged_as_the_metric_does(
    trials: int, repeats: int
) -> None:
    outcomes = [
        answer(model, n, 0.1 * ((n + 3 * trial + at) % 7), trial=trial)
        for at, model in enumerate(("m", "n"))
        for n in range(6)
        for trial in range(trials * repeats)
    ]

    report = ranked(outcomes, task_of(outcomes, trials=trials, repeats=repeats))

    for row in report.leaderboard:
        metric = metric_of(report, METRIC.metric, row.model)
        assert (row.completed, row.total) == (6, 6)
        assert row.mean == pytest.approx(metric.value, abs=1e-12)
        assert row.ci_low == pytest.approx(metric.ci_low, abs=1e-12)


def test_one_model_is_not_ranked_and_no_outcome_is_read() -> None:
    def never(**_: object) -> Iterator[Outcome]:
        raise AssertionError("there is nothing to read")

    outcomes = [answer("m", 0)]
    task = task_of(outcomes)
    report = build_report(
        PlanOutline(tasks=(task,), models=("m",)),
        (),
        ReportFacts(run_id="r", wall_seconds=0.0),
        results=finalize(outcomes, task),
        samples=never,
    )

    assert (report.leaderboard, report.pairwise) == ([], [])


def test_without_a_primary_metric_nothing_is_ranked() -> None:
    outcomes = two(m=[True], n=[True])

    assert ranked(outcomes, task_of(outcomes, primary=None)).leaderboard == []


def test_without_results_nothing_is_ranked() -> None:
    report = finalized_report(two(m=[True], n=[True]), results=None, stopped=True)

    assert (report.status, report.leaderboard, report.metrics) == ("stopped", [], [])
    assert report.notes == [
        "not finished: all 2 samples done, but no metrics computed; the same command resumes it"
    ]


def test_a_failed_sample_is_not_completed_and_in_no_comparison() -> None:
    report = ranked(two(m=[True, None, False], n=[True, True, True]))

    m, n = row_of(report, "m"), row_of(report, "n")
    assert (m.completed, m.total, m.own_mean, m.own_low, m.own_high) == (2, 3, 0.5, 1 / 3, 2 / 3)
    assert (n.completed, n.total, n.own_mean, n.mean, n.n) == (3, 3, 1.0, 1.0, 2)


def test_what_another_scorer_could_not_do_does_not_matter() -> None:
    broken = Failure(stage="score", type="timeout", message="the judge was silent")
    report = ranked([answer("m", 0, failure=broken), answer("n", 0)])

    assert row_of(report, "m").completed == 1


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(float("nan"), id="not a number"),
        pytest.param("yes", id="a text"),
        pytest.param([1], id="a list"),
    ],
)
def test_a_value_that_is_no_number_is_no_score(value: Any) -> None:
    report = finalized_report(two(m=[value, True], n=[True, True]))

    assert (row_of(report, "m").completed, row_of(report, "m").total) == (1, 2)


def test_a_null_is_no_score() -> None:
    null = Score(values={"is_correct": None})
    report = finalized_report([answer("m", 0, scores={"exact": null}), answer("n", 0)])

    assert row_of(report, "m").completed == 0


def test_an_excluded_sample_is_neither_ranked_nor_in_the_total() -> None:
    outcomes = [*two(m=[True, True], n=[False, False]), answer("m", 2, actions=EXCLUDED)]
    outcomes.append(answer("n", 2))

    report = finalized_report(outcomes)

    assert (row_of(report, "m").completed, row_of(report, "m").total) == (2, 2)
    assert (row_of(report, "n").completed, row_of(report, "n").total) == (3, 3)
    assert row_of(report, "m").n == 2


def test_a_sample_that_a_rule_could_not_judge_is_not_completed() -> None:
    stuck = Failure(stage="action", type="KeyError", message="")
    report = finalized_report([answer("m", 0, failure=stuck), answer("n", 0)])

    assert (row_of(report, "m").completed, row_of(report, "m").total) == (0, 1)


def test_a_sample_counts_when_all_its_trials_have_landed() -> None:
    outcomes = [answer(model, n, trial=trial) for model, n, trial in product("mn", (0, 1), (0, 1))]

    report = finalized_report(outcomes[:-1], task_of(outcomes, trials=2))

    assert (row_of(report, "m").completed, row_of(report, "n").completed) == (2, 1)


def test_specifications_of_a_task_are_ranked_on_the_samples_that_they_share() -> None:
    outcomes = [
        answer("m", n, n > at, task=name)
        for at, name in enumerate(("short", "long"))
        for n in (0, 1, 2)
    ]
    tasks = [task_of(outcomes, name, samples_digest="d") for name in ("short", "long")]
    same = [structs.replace(task, task_key="prompted") for task in tasks]

    report = finalized_report(outcomes, *same)

    assert [(row.model, row.task) for row in report.leaderboard] == [
        ("short (m)", "prompted"),
        ("long (m)", "prompted"),
    ]
    assert finalized_report(outcomes, *tasks).leaderboard == []


def test_the_category_column_gives_means_by_category() -> None:
    report = finalized_report(
        [
            answer(model, n, n % 2 == at, category=category)
            for at, model in enumerate("mn")
            for n, category in enumerate(("hard", "easy", 7, "hard", " ", None))
        ]
    )

    assert row_of(report, "m").categories == {"7": 1.0, "easy": 0.0, "hard": 0.5}
    assert row_of(report, "n").categories == {"7": 0.0, "easy": 1.0, "hard": 0.5}


def test_too_many_categories_are_none() -> None:
    report = finalized_report(
        [answer(model, n, category=f"c{n}") for model in "mn" for n in range(MOST_CATEGORIES + 1)]
    )

    assert row_of(report, "m").categories == {}
    assert report.notes == ["`qa`: no means by category, because there are more than 50"]


def test_parts_of_a_sample_are_not_ranked_and_a_note_says_so() -> None:
    part = Part(sample={}, scores=answer("m", 0).scores)
    outcomes = [answer(model, 0, scores={}, parts=(part, part)) for model in "mn"]

    report = finalized_report(outcomes)

    assert report.leaderboard == []
    assert report.notes == ["`qa`: no leaderboard, because a postprocessor decides what is scored"]


def test_numbers_as_large_as_they_get_are_not_ranked() -> None:
    report = finalized_report(two(m=[1e200, 1.0], n=[10**400, 1.0]))

    assert report.leaderboard == []
    assert "infinite or too large" in report.notes[0]


def test_a_field_that_no_score_has_is_not_ranked() -> None:
    outcomes = two(m=[True], n=[True])
    other = structs.replace(METRIC, field="fluency")

    assert finalized_report(outcomes, task_of(outcomes, primary=other)).leaderboard == []


def test_where_a_metric_has_no_interval_the_ranking_has_none() -> None:
    """Its samples are not independent."""
    outcomes = two(m=[True, False], n=[True, True])
    measure = Measure(METRIC.metric, 0.5, None, 2, "no interval: dependent rows")
    figure = MetricValue(scorer="exact", metric="mean", measure=measure)
    results = [
        TaskModelResult(task="qa", model=model, finished=FinalResult(figures=[figure]))
        for model in "mn"
    ]

    report = finalized_report(outcomes, results=results)

    assert {row.ci_low for row in report.leaderboard} == {None}
    assert [(row.difference, row.ci_low, row.significant) for row in report.pairwise] == [
        (0.5, None, False)
    ]


def tried(passes: Sequence[int], trials: int, **fields: Any) -> list[Outcome]:
    return [
        answer("m", n, trial < right, trial=trial, **fields)
        for n, right in enumerate(passes)
        for trial in range(trials)
    ]


def test_a_task_that_is_tried_more_than_once_has_pass_at_k() -> None:
    outcomes = tried([2, 0, 3], 3)

    report = ranked(outcomes, task_of(outcomes, trials=3))

    assert {row.metric: row.value for row in report.metrics} == pytest.approx(
        {
            "is_correct_mean": 5 / 9,
            "pass@1": 5 / 9,
            "pass@2": 2 / 3,  # 1 - C(1,2)/C(3,2) = 1, 0, 1
            "pass@3": 2 / 3,
        }
    )
    assert {(row.n, row.scorer) for row in report.metrics} == {(3, "exact")}
    assert metric_of(report, "pass@3").interval == "wilson"


def test_a_task_that_runs_code_has_pass_at_1() -> None:
    outcomes = tried([1, 0], 1)

    report = ranked(outcomes, task_of(outcomes, code_exec=2))

    assert metric_of(report, "pass@1").value == 0.5


def test_pass_at_k_is_without_what_is_excluded_failed_or_no_verdict() -> None:
    outcomes = [
        *tried([1, 1], 2),
        *(answer("m", 2, trial=trial, actions=EXCLUDED) for trial in (0, 1)),
        *(answer("m", 3, True if trial else None, trial=trial) for trial in (0, 1)),
        *(answer("m", 4, 0.5, trial=trial) for trial in (0, 1)),
    ]

    report = ranked(outcomes, task_of(outcomes, trials=2))

    assert (metric_of(report, "pass@1").value, metric_of(report, "pass@1").n) == (0.5, 2)


def test_a_task_that_has_pass_rates_of_its_own_gets_no_others() -> None:
    outcomes = tried([2, 0], 2)
    figure = MetricValue(
        scorer="exact", metric="mean", measure=Measure("pass@2_mean", 0.5, None, 2)
    )
    result = TaskModelResult(task="qa", model="m", finished=FinalResult(figures=[figure]))

    report = finalized_report(outcomes, task_of(outcomes, trials=2), results=[result])

    assert [row.metric for row in report.metrics] == ["pass@2_mean"]


def test_scores_that_are_neither_right_nor_wrong_have_no_pass_at_k() -> None:
    outcomes = [answer("m", 0, 0.5, trial=trial) for trial in (0, 1)]

    report = ranked(outcomes, task_of(outcomes, trials=2))

    assert [row.metric for row in report.metrics] == ["is_correct_mean"]


def test_usage_is_summed_and_a_cost_that_is_unknown_stays_so() -> None:
    def used(n: int, cost: float | None) -> Outcome:
        usage = Usage(requests=1, prompt_tokens=2, cost=cost)
        return answer("m", n, trace=Trace(input="", output="", post_processed="", usage=usage))

    known = finalized_report([used(0, 0.5), used(1, 0.25)])
    unknown = finalized_report([used(0, 0.5), used(1, None)])

    assert (known.usage["m"].cost, known.usage["m"].requests) == (0.75, 2)
    assert unknown.usage["m"].cost is None


def test_what_no_result_has_summed_is_summed_from_the_outcomes() -> None:
    others = {"judge": Usage(requests=2, cost=0.5)}
    outcomes = [answer("m", 0, others=others)]

    stopped = finalized_report(outcomes, results=None)
    result = TaskModelResult(task="qa", model="m", finished=FinalResult(others=others))
    finished = finalized_report(outcomes, results=[result])

    assert stopped.asked_beside == finished.asked_beside
    assert stopped.asked_beside["judge"].requests == 2


def test_a_scorer_that_an_author_calls_confidence_is_no_self_report() -> None:
    other = Score(values={"confidence": None})
    mine = asked(answer("m", 0), 0.5)
    scores = {"confidence": other, "$confidence": mine.scores["confidence"]}

    report = finalized_report([structs.replace(mine, scores=scores)], confidence="self")

    assert not any("replies without a number" in note for note in report.notes)


def asked(made: Outcome, confidence: float | None) -> Outcome:
    """An answer that its model was asked about."""
    said = Score(values={"confidence": confidence}, metadata={SELF_REPORT: True})
    usage = Usage(requests=1, prompt_tokens=20, completion_tokens=2, cost=0.5)
    scores = {**made.scores, "confidence": said}
    return structs.replace(made, scores=scores, others={made.model: usage})


SELF = "`--confidence self`: confidences are each model's own estimates"


def test_what_models_say_of_their_answers_is_noted_and_counted() -> None:
    records = [
        asked(outcome("m", "a", 1.0), 0.5),
        asked(outcome("m", "b", 1.0), None),
        asked(outcome("n", "a", 1.0), 0.9),
    ]
    project = [asked(answer("m", 0), 0.5), asked(answer("m", 1), None), asked(answer("n", 0), 0.9)]

    reports = [
        report_of(records, confidence="self"),
        finalized_report(project, confidence="self", results=None),
    ]

    for report in reports:
        assert report.notes[:2] == [
            SELF,
            "m: replies without a number when asked how sure it is: 1",
        ]
        assert {name: (row.requests, row.cost) for name, row in report.asked_beside.items()} == {
            "m": (2, 1.0),
            "n": (1, 0.5),
        }


@pytest.mark.parametrize(
    ("count", "said"), [(1, "1 multiple-choice record answered"), (2, "2 multiple-choice records")]
)
def test_choices_of_records_are_counted(count: int, said: str) -> None:
    outcomes = [outcome("m", f"s{n}", 1.0, group="mcq") for n in range(count)]

    (note,) = report_of([*outcomes, outcome("m", "x", 1.0)], mcq="loglikelihood").notes

    assert said in note
    assert note.endswith("its share of the likelihoods of all letters")


def test_choices_of_samples_are_counted_by_their_options() -> None:
    trace = Trace(input="", output="A", post_processed="A", options={"A": -1.0, "B": -2.0})
    outcomes = [answer(model, n, trace=trace) for model in "mn" for n in (0, 1)]

    (note,) = finalized_report(
        [*outcomes, answer("m", 2), answer("n", 2)], mcq="loglikelihood"
    ).notes

    assert "2 multiple-choice samples answered with the most likely letter" in note


def test_where_there_was_nothing_to_choose_nothing_is_said() -> None:
    assert report_of([outcome("m", "a", 1.0)], mcq="loglikelihood").notes == []
    assert finalized_report([answer("m", 0)], mcq="loglikelihood").notes == []
