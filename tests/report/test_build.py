import json
import math
from typing import Any, NoReturn

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.report.made import answer, finalize, finalized_report, outcome, report_of, task_of

from evalwright import api
from evalwright.report.report import CodeExecution, MetricRow, Report
from evalwright.types import Failure, Issue, Outcome, Usage

ISSUE = Issue(line=3, rule="bad_json", field=None, task_id=None, detail="ends early", raw="{")

KEYS = {
    "report": {
        *("run_id", "status", "models", "tasks", "metrics", "leaderboard", "pairwise"),
        *("calibration", "perplexity", "usage", "summary"),
    },
    "metrics": {
        *("task", "model", "scorer", "metric", "value", "ci_low", "ci_high"),
        *("n", "failed", "excluded"),
    },
    "leaderboard": {
        *("rank", "model", "mean", "ci_low", "ci_high", "win_rate", "completed", "total"),
        *("own_mean", "categories"),
    },
    "pairwise": {"a", "b", "difference", "ci_low", "ci_high", "significant", "n"},
    "calibration": {
        *("ece", "brier", "reliability", "resolution", "uncertainty", "bins", "populated_bins"),
        *("covered", "n"),
    },
    "usage": {"requests", "prompt_tokens", "completion_tokens", "total_tokens", "cost"},
    "summary": {"samples", "completed", "reused", "failed", "excluded", "wall_seconds"},
}
"""What DESIGN.md pins, "Interfaces that tools rely on"."""

BESIDE = {
    "report": {
        *("failures", "left_out", "rules", "code_execution", "notes", "version", "kind"),
        "display_names",
        *("policies", "repeatability", "agreement", "flaky", "asked_beside", "judges"),
        *("name", "tags", "moved"),
    },
    "metrics": {
        *("interval", "purpose", "reason", "key", "own_key", "name", "absent", "is_default"),
        *("group", "small", "ungrouped"),
    },
    "leaderboard": {"interval", "n", "own_low", "own_high", "task", "metric"},
    "pairwise": {"task", "metric"},
    "calibration": {"ece_low", "ece_high", "brier_low", "brier_high", "scaled"},
    "summary": {"trials", "flaky", "planned", "wrong", "excluded_rows"},
}
"""What we give beyond it. Adding is a decision; taking away breaks tools."""


def strict(text: str) -> Any:
    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def mixed() -> Report:
    """Two models, a failure, an invalid record, confidences for one of them."""
    return report_of(
        [
            outcome("good", "a", 1.0, logprob=-0.1),
            outcome("good", "b", 1.0, logprob=-0.1, group="mcq"),
            outcome("bad", "a", 0.5),
            outcome("bad", "b", None, group="mcq"),
        ],
        issues=[ISSUE],
        code_execution=CodeExecution(tier="rlimits", verified=False),
        notes=["good: a script"],
    )


def all_failed() -> Report:
    return report_of([outcome("m", "a", None), outcome("n", "a", None)])


def metric(report: Report, name: str, model: str = "m") -> MetricRow:
    return next(row for row in report.metrics if (row.metric, row.model) == (name, model))


@pytest.mark.parametrize("part", KEYS)
def test_the_keys_are_those_that_tools_rely_on(part: str) -> None:
    whole: Any = mixed().to_dict()
    found = {
        "report": whole,
        "metrics": whole["metrics"][0],
        "leaderboard": whole["leaderboard"][0],
        "pairwise": whole["pairwise"][0],
        "calibration": whole["calibration"]["good"],
        "usage": whole["usage"]["good"],
        "summary": whole["summary"],
    }[part]

    assert set(found) == KEYS[part] | BESIDE.get(part, set())


@pytest.mark.parametrize(
    "report",
    [
        pytest.param(mixed(), id="failures, an invalid record, code execution"),
        pytest.param(all_failed(), id="everything failed"),
        pytest.param(report_of([outcome("m", "a", 0.5)]), id="one model, one task"),
    ],
)
def test_a_report_is_strict_json_that_fits_its_schema(report: Report) -> None:
    found = strict(report.to_json())

    jsonschema.Draft202012Validator(api.schema("report")).validate(found)
    assert found == report.to_dict()


def test_the_published_schema_requires_every_key() -> None:
    schema: Any = api.schema("report")

    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["required"]) == KEYS["report"] | BESIDE["report"]


def test_the_summary_counts_generations_and_what_was_left_out() -> None:
    summary = mixed().summary

    assert (summary.samples, summary.completed, summary.failed) == (4, 3, 1)
    assert (summary.excluded, summary.reused, summary.wall_seconds) == (1, 0, 1.5)


def test_the_status_says_whether_anything_failed() -> None:
    assert mixed().status == "finished_with_failures"
    assert report_of([outcome("m", "a", 0.0)]).status == "finished"


@pytest.mark.parametrize(
    ("unfinished", "stopped", "status"),
    [
        pytest.param(1, True, "stopped", id="stopped before its end"),
        pytest.param(0, True, "finished", id="stopped when the last sample had landed"),
        pytest.param(0, False, "finished", id="not stopped"),
    ],
)
def test_a_run_is_stopped_when_something_is_left_of_it(
    unfinished: int, *, stopped: bool, status: str
) -> None:
    report = report_of([outcome("m", "a", 1.0)], unfinished=unfinished, stopped=stopped)

    assert report.status == status


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        pytest.param({}, "not finished: 2 of 5 samples; the same command resumes it", id="killed"),
        pytest.param(
            {"stop_reason": "interrupted"},
            "not finished (interrupted): 2 of 5 samples; the same command resumes it",
            id="with the reason",
        ),
        pytest.param(
            {"stop_reason": "the cap is reached", "resume_hint": "raise the cap"},
            "not finished (the cap is reached): 2 of 5 samples; raise the cap",
            id="and what to do, where it is something else",
        ),
    ],
)
def test_an_unfinished_run_says_how_to_go_on(facts: dict[str, Any], note: str) -> None:
    outcomes = [outcome("m", "a", 1.0), outcome("m", "b", 1.0)]

    report = report_of(outcomes, unfinished=3, stopped=True, notes=("m: a script",), **facts)

    assert report.notes == ["m: a script", note]
    assert (report.leaderboard[0].completed, report.leaderboard[0].total) == (2, 5)
    assert report.summary.samples == 2


def test_a_record_that_one_model_has_not_reached_is_in_no_comparison() -> None:
    report = report_of([outcome("m", "a", 0.0), outcome("m", "b", 1.0), outcome("n", "a", 1.0)])

    assert [(row.model, row.mean, row.n) for row in report.leaderboard] == [
        ("n", 1.0, 1),
        ("m", 0.0, 1),
    ]


def test_answers_that_were_cut_off_are_counted_for_each_model() -> None:
    cut = [
        outcome("m", "a", 1.0, finish="length"),
        outcome("m", "b", 0.0, finish="length"),
        outcome("n", "a", 1.0),
        outcome("n", "b", 1.0),
    ]

    assert report_of(cut).notes == ["m: scored answers that were cut off at the token limit: 2"]


def test_a_mean_is_over_what_the_model_completed_itself() -> None:
    report = mixed()

    good, bad = metric(report, "mean", "good"), metric(report, "mean", "bad")

    assert (good.value, good.n, good.failed, good.excluded) == (1.0, 2, 0, 1)
    assert (bad.value, bad.n, bad.failed, bad.excluded) == (0.5, 1, 1, 1)
    assert (good.task, good.scorer, good.interval) == ("tasks", "record", "wilson")


def test_when_everything_failed_all_numbers_are_null_and_none_is_0() -> None:
    report = all_failed()

    assert report.status == "finished_with_failures"
    mean = metric(report, "mean")
    assert (mean.value, mean.ci_low, mean.ci_high, mean.interval, mean.n) == (None,) * 4 + (0,)
    assert [(row.rank, row.mean, row.own_mean, row.win_rate) for row in report.leaderboard] == [
        (None, None, None, None)
    ] * 2
    assert report.pairwise[0].difference is None
    assert report.calibration["m"].ece is None
    assert report.perplexity["m"].perplexity is None
    assert report.usage["m"].cost is None


def test_a_temperature_that_was_asked_for_without_confidences_is_missed_aloud() -> None:
    answers = [outcome("m", "a", 1.0), outcome("m", "b", 0.0)]

    assert report_of(answers).notes == []
    (note,) = report_of(answers, calibrate=True).notes
    assert note.startswith("`--calibrate`: no answer of m has a confidence; `-p logprobs=true`")


def test_each_task_has_its_own_mean() -> None:
    report = report_of(
        [outcome("m", "a", 1.0, task="easy"), outcome("m", "a", 0.0, task="hard")],
    )

    assert [(row.task, row.value) for row in report.metrics] == [("easy", 1.0), ("hard", 0.0)]
    assert report.leaderboard[0].mean == 0.5
    assert report.leaderboard[0].total == 2


def test_the_same_id_in_two_tasks_is_two_records() -> None:
    one = [outcome("one", "a", 1.0, task="x"), outcome("one", "a", 0.0, task="y")]
    two = [outcome("two", "a", 1.0, task="x"), outcome("two", "a", None, task="y")]

    report = report_of([*one, *two])

    assert [(row.model, row.n, row.mean) for row in report.leaderboard] == [
        ("one", 1, 1.0),
        ("two", 1, 1.0),
    ]


def test_a_record_with_several_trials_counts_once_with_their_mean() -> None:
    trials = [outcome("m", "a", score, trial=n) for n, score in enumerate([1.0, 0.0, 0.0, 0.0])]

    report = report_of([*trials, outcome("m", "b", 1.0)])

    assert report.leaderboard[0].mean == (0.25 + 1.0) / 2
    assert (report.leaderboard[0].completed, report.leaderboard[0].total) == (2, 2)
    assert report.summary.samples == 5


def test_a_record_is_completed_when_all_its_trials_are() -> None:
    trials = [outcome("m", "a", 1.0, trial=0), outcome("m", "a", None, trial=1)]

    report = report_of([*trials, outcome("m", "b", 1.0)])

    assert (report.leaderboard[0].completed, report.leaderboard[0].total) == (1, 2)
    assert metric(report, "mean").failed == 1
    assert [row.metric for row in report.metrics] == ["mean"]


def test_pass_at_k_is_the_unbiased_estimate_for_records_tried_more_than_once() -> None:
    # 1 - C(n-c, k)/C(n, k): a passes 2 of 5, b 1 of 2, c was tried once.
    outcomes = [
        *(outcome("m", "a", float(n < 2), trial=n, group="code_exec") for n in range(5)),
        *(outcome("m", "b", float(n < 1), trial=n, group="code_exec") for n in range(2)),
        outcome("m", "c", 1.0),
    ]

    report = report_of(outcomes)

    found = {row.metric: (row.value, row.n) for row in report.metrics}
    assert found == {
        "mean": (pytest.approx((2 / 5 + 1 / 2 + 1) / 3), 3),
        "pass@1": (pytest.approx((2 / 5 + 1 / 2) / 2), 2),
        "pass@2": (pytest.approx(((1 - 3 / 10) + 1) / 2), 2),  # C(3,2)/C(5,2), C(1,2)/C(2,2)
        "pass@5": (1.0, 1),
    }


def test_an_attempt_passes_when_the_scorer_calls_it_correct_not_when_it_scores() -> None:
    halves = [outcome("m", "a", 0.5, trial=n, correct=False) for n in range(2)]

    assert metric(report_of(halves), "pass@2").value == 0.0


def test_every_pass_at_k_has_an_interval() -> None:
    outcomes = [
        outcome("m", str(record), float((record + n) % 3 == 0), trial=n)
        for record in range(6)
        for n in range(4)
    ]

    rows = [row for row in report_of(outcomes).metrics if row.metric.startswith("pass@")]

    assert [row.metric for row in rows] == ["pass@1", "pass@2", "pass@4"]
    for row in rows:
        assert row.value is not None
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low <= row.value <= row.ci_high


@pytest.mark.parametrize(
    ("tries", "ks"),
    [
        pytest.param([2], [1, 2], id="two"),
        pytest.param([3], [1, 2, 3], id="the last is none of the usual ones"),
        pytest.param([100], [1, 2, 5, 10, 20, 50, 100], id="the usual ones"),
        pytest.param([7, 4], [1, 2, 5, 7], id="of records that differ, the last of the largest"),
        pytest.param([1, 1], [], id="once"),
    ],
)
def test_pass_at_k_is_there_for_the_k_that_the_tries_allow(tries: list[int], ks: list[int]) -> None:
    outcomes = [
        outcome("m", f"s{record}", float(n == 0), trial=n)
        for record, count in enumerate(tries)
        for n in range(count)
    ]

    found = [row.metric for row in report_of(outcomes).metrics if row.metric != "mean"]

    assert found == [f"pass@{k}" for k in ks]


def test_programs_have_pass_at_1_however_seldom_they_were_tried() -> None:
    outcomes = [
        outcome("m", "a", 1.0, group="code_exec"),
        outcome("m", "b", 0.5, group="code_exec"),
        outcome("m", "c", 0.0, group="arithmetic"),
    ]

    found = {row.metric: (row.value, row.n, row.interval) for row in report_of(outcomes).metrics}

    assert found == {"mean": (0.5, 3, "bootstrap-t"), "pass@1": (0.5, 2, "wilson")}


def test_a_record_of_which_a_trial_has_not_landed_is_in_no_number() -> None:
    whole = [outcome("m", "a", float(n < 1), trial=n) for n in range(4)]
    cut = [outcome("m", "b", 1.0, trial=n) for n in range(3)]

    report = report_of([*whole, *cut], tries=4, stopped=True)

    assert (report.leaderboard[0].mean, report.leaderboard[0].completed) == (0.25, 1)
    assert {row.metric: (row.value, row.n) for row in report.metrics} == {
        "mean": (0.25, 1),
        "pass@1": (0.25, 1),
        "pass@2": (0.5, 1),
        "pass@4": (1.0, 1),
    }
    assert report.summary.samples == 7


@pytest.mark.parametrize(
    ("usages", "cost"),
    [
        pytest.param([Usage(requests=1, cost=0.25), Usage(requests=1, cost=0.5)], 0.75, id="sum"),
        pytest.param([Usage(requests=1, cost=0.25), Usage(requests=1)], None, id="one unknown"),
        pytest.param([Usage(requests=0)], 0.0, id="nothing was asked for, so nothing was paid"),
    ],
)
def test_a_cost_is_known_or_null(usages: list[Usage], cost: float | None) -> None:
    outcomes = [outcome("m", str(n), 1.0, usage=usage) for n, usage in enumerate(usages)]

    assert report_of(outcomes).usage["m"].cost == cost


def test_usage_adds_up_what_arrived() -> None:
    used = Usage(requests=1, prompt_tokens=7, completion_tokens=3, cost=0.0)
    outcomes = [outcome("m", name, 1.0, usage=used) for name in "ab"]

    row = report_of([*outcomes, outcome("m", "c", None)]).usage["m"]

    assert (row.requests, row.prompt_tokens, row.completion_tokens, row.total_tokens) == (
        *(2, 14, 6, 20),
    )


def test_failures_are_grouped_by_kind_with_a_few_examples() -> None:
    other = Failure(stage="score", type="ValueError", message="target 1 of 2 does not compile")
    outcomes = [outcome("m", f"s{n}", None) for n in range(7)]

    rows = report_of([outcome("m", "z", None, failure=other), *outcomes]).failures

    assert [(row.stage, row.type, row.count) for row in rows] == [
        ("score", "ValueError", 1),
        ("solver", "TimeoutError", 7),
    ]
    assert rows[1].sample_ids == ["s0", "s1", "s2", "s3", "s4"]
    assert (rows[1].message, rows[1].hint) == ("no answer in 60 s", "wait")
    assert [row.messages for row in rows] == [1, 1]


def test_different_messages_of_one_kind_are_counted() -> None:
    said = [Failure(stage="score", type="ValueError", message=f"m{n % 3}") for n in range(7)]
    outcomes = [outcome("m", f"s{n}", None, failure=one) for n, one in enumerate(said)]

    (row,) = report_of(outcomes).failures

    assert (row.message, row.messages, row.count) == ("m0", 3, 7)


def test_what_was_left_out_is_listed_with_its_place() -> None:
    row = mixed().left_out[0]

    assert (row.file, row.line, row.rule, row.detail) == (
        *("tasks.jsonl", 3, "bad_json", "ends early"),
    )


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        pytest.param(None, ["a m", "a n", "b m", "b n"], id="all, record by record"),
        pytest.param(True, ["b m"], id="the failed ones"),
        pytest.param(False, ["a m", "a n", "b n"], id="the others"),
    ],
)
def test_samples_gives_the_outcomes_themselves(expected: list[str], *, failed: bool | None) -> None:
    names = ["b n", "a m", "b m", "a n"]
    outcomes = [
        outcome(name[-1], name[0], None if name == "b m" else 1.0, logprob=-0.5) for name in names
    ]

    found = list(report_of(outcomes).samples(failed=failed))

    assert [f"{one.sample_id} {one.model}" for one in found] == expected
    assert all((one.trace is None) is (one.failure is not None) for one in found)


def test_long_names_are_whole_in_json() -> None:
    name = f"provider/{'x' * 200}"

    found = strict(report_of([outcome(name, "a", 1.0)]).to_json())

    assert found["models"] == [name]
    assert found["leaderboard"][0]["model"] == name


SCORES = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 1.0]))


@st.composite
def runs(draw: st.DrawFn) -> list[Outcome]:
    """Up to three models on up to five records of up to three trials, some of which fail."""
    trials = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    models = [f"m{n}" for n in range(draw(st.integers(1, 3)))]
    return [
        outcome(
            model,
            f"s{record}",
            draw(SCORES),
            trial=trial,
            group=["arithmetic", "mcq"][record % 2],
            logprob=draw(st.one_of(st.none(), st.floats(-50, 0))),
        )
        for record, count in enumerate(trials)
        for trial in range(count)
        for model in models
    ]


@settings(max_examples=40)
@given(runs(), st.randoms())
def test_the_order_in_which_outcomes_land_changes_nothing(
    outcomes: list[Outcome], randomness: Any
) -> None:
    models = sorted({one.model for one in outcomes})
    shuffled = list(outcomes)
    randomness.shuffle(shuffled)

    assert (
        report_of(shuffled, models=models).to_json() == report_of(outcomes, models=models).to_json()
    )


@settings(max_examples=40)
@given(runs())
def test_a_model_that_fails_everywhere_changes_no_other_models_own_figures(
    outcomes: list[Outcome],
) -> None:
    broken = [
        outcome("broken", one.sample_id, None, trial=one.trial, group=one.group)
        for one in outcomes
        if one.model == "m0"
    ]

    before, after = report_of(outcomes), report_of([*outcomes, *broken])

    def own(report: Report) -> dict[str, Any]:
        return {
            row.model: (row.completed, row.total, row.own_mean, row.own_low, row.own_high)
            for row in report.leaderboard
            if row.model != "broken"
        }

    assert own(after) == own(before)
    assert [row for row in after.metrics if row.model != "broken"] == before.metrics
    assert {model: after.calibration[model] for model in before.models} == before.calibration


@settings(max_examples=40)
@given(runs())
def test_every_report_is_strict_json_within_its_bounds(outcomes: list[Outcome]) -> None:
    report = report_of(outcomes)

    strict(report.to_json())
    for row in report.leaderboard:
        if row.own_mean is not None:
            assert row.own_low is not None
            assert row.own_high is not None
            assert row.own_low <= row.own_mean + 1e-12
            assert row.own_mean <= row.own_high + 1e-12
        if row.mean is not None:
            assert row.ci_low is not None
            assert row.ci_high is not None
            assert 0 <= row.ci_low <= row.mean + 1e-12
            assert row.mean - 1e-12 <= row.ci_high <= 1
    if all(row.mean is not None for row in report.leaderboard):
        assert math.fsum(row.win_rate or 0 for row in report.leaderboard) == pytest.approx(1)


def test_perplexity_sums_before_it_divides() -> None:
    report = report_of(
        [
            outcome("m", "a", 1.0, logprob=-1.0),
            outcome("m", "b", 1.0, logprob=-3.0),
            outcome("m", "says nothing", 1.0),
        ]
    )

    row = report.perplexity["m"]

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
    assert report_of(outcomes, models=["m"]).perplexity["m"].perplexity is None


def test_the_score_of_a_record_lies_between_0_and_1() -> None:
    with pytest.raises(ValueError, match=r"a number in \[0, 1\]"):
        report_of([outcome("m", "a", 1.1)])


CATEGORIES = ("arithmetic", "mcq", "arithmetic", "summary")


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([True, False, None])] * 3), min_size=1, max_size=len(CATEGORIES)
    )
)
def test_the_same_samples_as_records_and_as_documents_are_ranked_the_same(
    rows: list[tuple[bool | None, ...]],
) -> None:
    """`exact_match` of records against `string_equals` of documents."""
    cases = [
        (model, n, value)
        for n, values in enumerate(rows)
        for model, value in zip("mno", values, strict=True)
    ]
    records = report_of(
        [
            outcome(model, f"{n:03}", None if value is None else float(value), group=CATEGORIES[n])
            for model, n, value in cases
        ]
    )
    answers = [answer(model, n, value, category=CATEGORIES[n]) for model, n, value in cases]
    task = task_of(answers)
    documents = finalized_report(answers, task, results=finalize(answers, task))

    def unnamed(report: Report) -> list[Any]:
        found = [*report.leaderboard, *report.pairwise]
        return [structs.replace(row, task="", metric="") for row in found]

    assert unnamed(documents) == unnamed(records)
    numbers = [
        [(row.model, row.value, row.ci_low, row.ci_high, row.n) for row in report.metrics]
        for report in (records, documents)
    ]
    assert numbers[0] == numbers[1]
    assert documents.summary == records.summary
    assert documents.usage == records.usage or any(None in row for row in rows)
