from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.report.made import outcome, report_of

from evalwright.plan.outline import PlanOutline
from evalwright.report.policies import (
    Judgement,
    Operator,
    RunEvidence,
    check_exists,
    compare,
    gate_lines,
    gate_markdown,
    judge,
    needs_other_runs,
    report_evidence,
)
from evalwright.report.report import FailureRow, MetricRow, PolicyRow
from evalwright.report.to_tables import policies_table
from evalwright.spec.documents.models.policy import PolicyDocument

NUMBERS = st.floats(-1e6, 1e6)
OPERATORS: tuple[Operator, ...] = (">", ">=", "=", "<", "<=")


def row(value: float | None, interval: tuple[float, float] | None = None, **more: Any) -> MetricRow:
    low, high = interval or (None, None)
    facts: dict[str, Any] = {
        "task": "t",
        "model": "m",
        "scorer": "s",
        "metric": "accuracy",
        "n": 100,
        "failed": 0,
        "excluded": 0,
        "purpose": "score",
        "reason": "",
        "interval": "wilson" if interval else None,
    }
    return MetricRow(value=value, ci_low=low, ci_high=high, **{**facts, **more})


@pytest.mark.parametrize(
    ("value", "interval", "operator", "threshold", "meets", "reason"),
    [
        (0.91, (0.87, 0.94), ">=", 0.8, True, "0.910 ≥ 0.800, interval [0.870, 0.940]"),
        (
            0.81,
            (0.77, 0.85),
            ">=",
            0.8,
            True,
            "0.810 ≥ 0.800, but the interval reaches down to 0.770",
        ),
        (
            0.79,
            (0.7, 0.86),
            ">=",
            0.8,
            False,
            "0.790 < 0.800, but the interval reaches up to 0.860",
        ),
        (0.5, (0.4, 0.6), ">=", 0.8, False, "0.500 < 0.800, interval [0.400, 0.600]"),
        (0.8, (0.8, 0.9), ">", 0.8, False, "0.800 = 0.800, but the interval reaches up to 0.900"),
        (3.0, None, "<=", 3, True, "3.000 ≤ 3.000, without an interval"),
        (3.1, (2.5, 3.7), "<", 3, False, "3.100 > 3.000, but the interval reaches down to 2.500"),
        (2.0, (1.5, 3.7), "<", 3, True, "2.000 < 3.000, but the interval reaches up to 3.700"),
        (1.0, (1.0, 1.0), "=", 1, True, "1.000 = 1.000, interval [1.000, 1.000]"),
        (
            0.9,
            (0.8, 1.1),
            "=",
            1,
            False,
            "0.900 < 1.000, but the interval includes it: [0.800, 1.100]",
        ),
        (1.0, (0.8, 1.0), "=", 1, True, "1.000 = 1.000, but the interval reaches down to 0.800"),
        (0.7999, None, ">=", 0.8, False, "0.7999 < 0.8000, without an interval"),
        (0.8, None, ">=", 0.8125, False, "0.8000 < 0.8125, without an interval"),
        (-0.5, (-0.6, -0.4), ">", -1, True, "-0.500 > -1.000, interval [-0.600, -0.400]"),
        (1e-15, None, ">", 1e-3, False, "0.000 < 0.001, without an interval"),
        (2.5e-6, None, "<", 1e-5, True, "2.5e-06 < 1e-05, without an interval"),
        (1e-5, (0.0, 2e-5), ">", 0, True, "1e-05 > 0, but the interval reaches down to 0"),
        (12_345_678.0, None, ">=", 1e7, True, "1.235e+07 ≥ 1e+07, without an interval"),
        (10_000_001.0, None, ">", 1e7, True, "10000001 > 10000000, without an interval"),
    ],
)
def test_a_comparison_is_told_with_its_interval(
    value: float,
    interval: tuple[float, float] | None,
    operator: Operator,
    threshold: float,
    meets: bool,  # noqa: FBT001 - a column
    reason: str,
) -> None:
    verdict = compare(row(value, interval), operator, threshold, strict=False)

    assert (verdict.meets, verdict.reason) == (meets, reason)


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize("operator", OPERATORS)
def test_without_a_value_no_threshold_is_met(operator: Operator, value: float | None) -> None:
    verdict = compare(row(value, reason="there are no scores"), operator, 0, strict=False)

    assert (verdict.meets, verdict.reason) == (False, "no value: there are no scores")
    assert not check_exists(row(value), strict=False).meets


@given(st.floats(-1e6, 1e6), st.sampled_from([-1.0, 0.0, 1.0]))
def test_what_is_nearer_than_the_last_digits_is_equal(value: float, away: float) -> None:
    near = row(value + away * 1e-10)

    met = [one for one in OPERATORS if compare(near, one, value, strict=False).meets]
    assert met == [">=", "=", "<="]


@given(NUMBERS, NUMBERS)
def test_a_figure_is_above_below_or_equal(value: float, threshold: float) -> None:
    met = {one for one in OPERATORS if compare(row(value), one, threshold, strict=False).meets}

    assert len(met & {"<", "=", ">"}) == 1
    assert (">=" in met) == bool(met & {">", "="})
    assert ("<=" in met) == bool(met & {"<", "="})


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(OPERATORS))
def test_who_meets_strictly_meets(
    value: float, one: float, other: float, threshold: float, operator: Operator
) -> None:
    figure = row(value, (min(value, one, other), max(value, one, other)))

    if compare(figure, operator, threshold, strict=True).meets:
        assert compare(figure, operator, threshold, strict=False).meets


@given(NUMBERS, NUMBERS, NUMBERS)
def test_what_is_not_equal_does_not_look_equal(value: float, other: float, limit: float) -> None:
    figure = row(value, (min(value, other), max(value, other)))
    verdict = compare(figure, ">=", limit, strict=False)
    said, sign, threshold = verdict.reason.replace(",", "").split()[:3]

    equal = compare(row(value), "=", limit, strict=False).meets
    assert equal or said != threshold
    assert sign == ("≥" if verdict.meets else "<")


@pytest.mark.parametrize(
    ("figure", "reason"),
    [
        pytest.param(
            row(0.81, (0.77, 0.85)),
            "0.810 ≥ 0.800, but the interval reaches down to 0.770; "
            "the whole interval must meet it",
            id="an interval that reaches over",
        ),
        pytest.param(
            row(0.9),
            "0.900 ≥ 0.800, without an interval; a strict rule needs an interval",
            id="no interval",
        ),
        pytest.param(
            row(0.9, (0.85, 0.95), n=1, absent=19),
            "0.900 ≥ 0.800, interval [0.850, 0.950]; over 1 of 20 samples: 19 scores have no "
            "value; no score may be without a value",
            id="scores without a value",
        ),
        pytest.param(
            row(0.9, (0.85, 0.95), failed=12),
            "0.900 ≥ 0.800, interval [0.850, 0.950]; 12 samples failed, and are not included; "
            "no sample may fail",
            id="failed samples",
        ),
    ],
)
def test_strictly_a_figure_does_not_meet_with(figure: MetricRow, reason: str) -> None:
    verdict = compare(figure, ">=", 0.8, strict=True)

    assert (verdict.meets, verdict.reason) == (False, reason)


def test_failed_samples_are_told() -> None:
    one = compare(row(0.9, (0.85, 0.95), failed=1), ">=", 0.8, strict=False)

    assert one.meets
    assert (
        one.reason == "0.900 ≥ 0.800, interval [0.850, 0.950]; 1 sample failed, and is not included"
    )
    assert check_exists(row(0.9, failed=2), strict=False).meets
    assert not check_exists(row(0.9, failed=2), strict=True).meets
    assert not check_exists(row(0.9, absent=1), strict=True).meets


@pytest.mark.parametrize(
    ("n", "absent", "words"),
    [
        (1, 0, "; over 1 sample"),
        (29, 0, "; over 29 samples"),
        (30, 0, ""),
        (0, 0, ""),
        (40, 1, "; over 40 of 41 samples: 1 score has no value"),
    ],
)
def test_few_samples_and_missing_values_are_told(n: int, absent: int, words: str) -> None:
    verdict = check_exists(row(0.9, n=n, absent=absent), strict=False)

    assert verdict.meets
    assert verdict.reason == f"0.900, without an interval{words}"


ACCURACY: Any = {"key": "accuracy", "own_key": True}
OWN = RunEvidence(
    run_id="own",
    evaluation="nightly",
    rows=(
        row(0.9, (0.85, 0.95), task="a", scorer="x", metric="is_correct_mean", **ACCURACY),
        row(0.7, (0.6, 0.8), task="b", scorer="x", metric="is_correct_mean", **ACCURACY),
        row(12, task="b", scorer="y", metric="length_max", key="max"),
        row(None, task="b", scorer="y", metric="empty_mean", key="mean", reason="all are null"),
    ),
)
WEEKLY = RunEvidence(
    run_id="other", evaluation="weekly", rows=(row(0.5, (0.4, 0.6), task="c", metric="bleu"),)
)


def policy(metric: str, scope: Any = None, **definition: Any) -> PolicyDocument:
    told = {"type": "exists", "metric": metric, **definition}
    rule = {"key": "rule", "definition": told, **({"scope": scope} if scope else {})}
    return PolicyDocument.model_validate({"key": "policy", "rules": [rule]})


def at_least(threshold: float, metric: str, scope: Any = None) -> PolicyDocument:
    return policy(metric, scope, type="threshold", operator=">=", threshold=threshold)


def judged(one: PolicyDocument, own: RunEvidence = OWN, **more: Any) -> PolicyRow:
    (found,) = judge([one], own, [WEEKLY], **more)
    return found


@pytest.mark.parametrize(
    ("one", "holds", "reason"),
    [
        pytest.param(
            at_least(0.8, "is_correct_mean", {"task_specification_keys": ["a"]}),
            True,
            "0.900 ≥ 0.800, interval [0.850, 0.950]",
            id="one figure that meets",
        ),
        pytest.param(
            at_least(0.8, "is_correct_mean"),
            False,
            "not met by 1 of 2 metrics:\nnightly, b, m, x, is_correct_mean: 0.700 < 0.800, but the "
            "interval reaches up to 0.800",
            id="all must meet",
        ),
        pytest.param(
            at_least(0.5, "accuracy"),
            True,
            "met by all 2 metrics; closest to failing:\nnightly, b, m, x, is_correct_mean: "
            "0.700 ≥ 0.500, interval [0.600, 0.800]",
            id="by the key of the metric",
        ),
        pytest.param(
            at_least(0.1, "empty_mean"), False, "no value: all are null", id="an undefined one"
        ),
        pytest.param(policy("empty_mean"), False, "no value: all are null", id="nor does it exist"),
        pytest.param(policy("length_max"), True, "12.000, without an interval", id="exists"),
        pytest.param(
            policy("is_correct_mean"),
            True,
            "2 of 2 metrics have a value; nightly, a, m, x, is_correct_mean: "
            "0.900, interval [0.850, 0.950]",
            id="several exist",
        ),
        pytest.param(
            policy("is_corect_mean"),
            False,
            "there is no metric `is_corect_mean`; did you mean `is_correct_mean`?",
            id="a misspelt metric",
        ),
        pytest.param(
            policy("rouge"),
            False,
            "there is no metric `rouge`; there are `empty_mean`, `is_correct_mean`, `length_max`",
            id="another metric",
        ),
        pytest.param(
            policy("length_max", {"scorer_keys": ["x"]}),
            False,
            "there is no metric `length_max` in its scope; there is `is_correct_mean`",
            id="not in the scope",
        ),
        pytest.param(
            policy("is_correct_mean", {"task_specification_keys": ["a", "bb"]}),
            False,
            "no metric has the task specification `bb`; did you mean `b`?",
            id="a key of a scope that nothing answers to",
        ),
        pytest.param(
            policy("is_correct_mean", {"task_specification_keys": ["a"], "scorer_keys": ["y"]}),
            False,
            "no metric matches all lists of its scope",
            id="a scope that matches nothing",
        ),
        pytest.param(
            policy("is_correct_mean", {"metric_keys": ["accuracy"], "scorer_keys": ["x"]}),
            True,
            "2 of 2 metrics have a value; nightly, a, m, x, is_correct_mean: "
            "0.900, interval [0.850, 0.950]",
            id="by the key of a metric in the scope",
        ),
        pytest.param(
            policy("bleu"),
            False,
            "there is no metric `bleu`; there are `empty_mean`, `is_correct_mean`, `length_max`",
            id="without a scope, the run alone",
        ),
        pytest.param(
            policy("bleu", "all_latest"),
            True,
            "0.500, interval [0.400, 0.600]; no such metric for the evaluation `nightly`",
            id="all_latest",
        ),
        pytest.param(
            at_least(0.4, "bleu", {"evaluation_keys": ["weekly"]}),
            True,
            "0.500 ≥ 0.400, interval [0.400, 0.600]",
            id="another evaluation",
        ),
        pytest.param(
            at_least(12, "length_max", {"evaluation_keys": ["nightly"]}),
            True,
            "12.000 ≥ 12.000, without an interval",
            id="the run's own evaluation",
        ),
        pytest.param(
            policy("bleu", {"evaluation_keys": ["weakly"]}),
            False,
            "there is no finished run of the evaluation `weakly`; did you mean `weekly`?",
            id="an evaluation without a run",
        ),
    ],
)
def test_a_rule_has_its_verdict_and_reason(
    one: PolicyDocument,
    holds: bool,  # noqa: FBT001 - a column
    reason: str,
) -> None:
    found = judged(one)

    assert (found.holds, found.reason) == (holds, reason)


def test_the_worst_figures_are_told_first_and_not_all_of_them() -> None:
    rows = tuple(row(one / 10, task=f"t{one}", key="k") for one in range(9, 0, -1))
    found = judged(at_least(0.7, "accuracy"), RunEvidence(run_id="r", evaluation="", rows=rows))

    assert found.reason.startswith("not met by 6 of 9 metrics:\nt1, m, s, accuracy: 0.100 < 0.700")
    assert found.reason.endswith(";\nand 3 more")
    assert [one.meets for one in found.figures] == [True] * 3 + [False] * 6


def test_a_verdict_has_what_it_was_made_of() -> None:
    found = judged(at_least(0.8, "is_correct_mean"))

    assert (found.policy, found.rule, found.name) == ("policy", "rule", "rule")
    assert found.demand == "is_correct_mean >= 0.8"
    assert judged(policy("x")).demand == "x exists"
    assert [(one.task, one.value, one.ci_low, one.meets) for one in found.figures] == [
        ("a", 0.9, 0.85, True),
        ("b", 0.7, 0.6, False),
    ]


def test_a_run_that_is_not_finished_has_shown_nothing() -> None:
    stopped = RunEvidence(run_id="r1", evaluation="", unfinished="is gone", rows=OWN.rows)

    for one in (policy("length_max"), at_least(0.1, "is_correct_mean")):
        found = judged(one, stopped)
        assert (found.holds, found.reason) == (False, "run r1 is gone")


def broken(**where: Any) -> FailureRow:
    facts: dict[str, Any] = {"model": "m", "stage": "metric", "type": "ZeroDivisionError"}
    words: dict[str, Any] = {"message": "a: ZeroDivisionError", "hint": "", "count": 1}
    return FailureRow(**facts, **words, sample_ids=[], **where)


def test_what_could_not_be_computed_is_told_and_strictly_fails() -> None:
    own = structs.replace(OWN, task_failures=[broken(task="a", scorer="x", metric="mine")])
    rule = at_least(0.8, "is_correct_mean", {"task_specification_keys": ["a"]})
    one, strict = (judged(rule, own, strict=way) for way in (False, True))

    assert one.reason.endswith("; not everything could be computed: a: ZeroDivisionError")
    assert "so no rule about it can hold strictly: a: Zero" in strict.reason
    assert (one.holds, strict.holds) == (True, False)


@pytest.mark.parametrize(
    ("where", "scope", "counts"),
    [
        ({"task": "a", "scorer": "x"}, {"task_specification_keys": ["b"]}, False),
        ({"task": "a", "scorer": "y"}, {"scorer_keys": ["x"]}, False),
        ({"task": "a", "scorer": "x", "metric": "k"}, {"metric_keys": ["accuracy"]}, False),
        ({"task": "b"}, {"scorer_keys": ["x"], "metric_keys": ["accuracy"]}, True),
        ({}, {"task_specification_keys": ["b"]}, True),
        ({"task": "a", "scorer": "x"}, None, True),
        ({"task": "b", "scorer": "check"}, None, False),
    ],
    ids=["a task", "a scorer", "a metric", "all scorers of a task", "any", "no scope", "a check"],
)
def test_what_broke_counts_where_the_scope_has_it(
    where: dict[str, str],
    scope: Any,
    counts: bool,  # noqa: FBT001 - a column
) -> None:
    check = row(1, task="b", scorer="check", metric="share", purpose="qa")
    own = structs.replace(OWN, rows=(*OWN.rows, check), task_failures=[broken(**where)])

    assert ("computed" in judged(policy("is_correct_mean", scope), own).reason) == counts


def test_figures_that_were_renamed_are_found_by_their_own_name() -> None:
    rows = (
        row(0.9, metric="first_total", name="total", key="first"),
        row(0.3, metric="second_total", name="total", key="second"),
    )
    own = RunEvidence(run_id="r", evaluation="", rows=rows)
    found = judged(at_least(0.5, "total"), own)

    assert [one.metric for one in found.figures] == ["first_total", "second_total"]
    assert not found.holds
    assert judged(at_least(0.5, "first_total"), own).holds


def test_a_key_is_looked_at_where_no_figure_has_the_name_and_an_author_wrote_it() -> None:
    rows = (
        row(0.9, metric="mean", key="other", own_key=True),
        row(0.1, metric="length", key="mean", own_key=True),
        row(0.1, metric="size", key="max"),
    )
    own = RunEvidence(run_id="r", evaluation="", rows=rows)

    assert [one.metric for one in judged(policy("mean"), own).figures] == ["mean"]
    assert [one.metric for one in judged(policy("other"), own).figures] == ["mean"]
    assert judged(policy("max"), own).reason.startswith("there is no metric `max`")


def test_a_check_is_judged_only_where_its_scorer_is_named() -> None:
    check = row(0.2, scorer="clean", metric="is_correct_mean", purpose="qa")
    own = structs.replace(
        OWN, rows=(*OWN.rows, check, row(1, scorer="c", metric="q", purpose="qa"))
    )

    assert judged(at_least(0.5, "is_correct_mean"), own).holds
    assert not judged(at_least(0.5, "is_correct_mean", {"scorer_keys": ["clean"]}), own).holds
    found = judged(policy("q"), own)
    assert not found.holds
    assert "only if `scorer_keys` names its scorer, `c`" in found.reason
    elsewhere = {"scorer_keys": ["x"], "task_specification_keys": ["a"]}
    assert judged(policy("q", elsewhere), own).reason == (
        "there is no metric `q` in its scope; there is `is_correct_mean`"
    )


def test_members_of_a_scope_without_such_a_figure_are_told() -> None:
    found = judged(policy("length_max", {"task_specification_keys": ["a", "b"]}))

    assert found.holds
    assert found.reason == (
        "12.000, without an interval; no such metric for the task specification `a`"
    )


def test_of_figures_that_meet_the_nearest_to_failing_is_shown_and_doubts_of_the_others() -> None:
    rows = (
        row(0.9, (0.5, 0.95), task="wide"),
        row(0.85, (0.82, 0.9), task="near"),
        row(0.9, (0.7, 0.95), task="other", failed=2),
        row(0.9, (0.85, 0.95), task="sparse", n=50, absent=3),
    )
    found = judged(at_least(0.8, "accuracy"), RunEvidence(run_id="r", evaluation="", rows=rows))

    assert found.reason == (
        "met by all 4 metrics; closest to failing:\nwide, m, s, accuracy: 0.900 ≥ 0.800, but "
        "the interval reaches down to 0.500;\n"
        "the intervals of 1 more metric cross the threshold;\n"
        "failed samples are excluded from 1 more metric (2 in total);\n"
        "scores without a value are excluded from 1 more metric (3 in total)"
    )


def test_strictly_only_figures_of_all_samples_exist() -> None:
    rows = (row(0.9, task="a", failed=1), row(0.9, task="b"))
    own = RunEvidence(run_id="r", evaluation="", rows=rows)

    assert judged(policy("accuracy"), own).reason.startswith("2 of 2 metrics have a value; a, m")
    assert judged(policy("accuracy"), own, strict=True).reason == (
        "1 of 2 metrics has a value of all samples; b, m, s, accuracy: 0.900, without an interval"
    )


def test_a_run_that_was_limited_is_told_as_such() -> None:
    own = structs.replace(OWN, limit=100)

    assert judged(policy("length_max"), own).reason == (
        "12.000, without an interval; the run was limited to 100 samples per task"
    )
    assert "limited" not in judged(policy("length_max"), structs.replace(OWN, limit=101)).reason


def test_a_run_without_figures_says_so() -> None:
    found = judged(policy("mean"), RunEvidence(run_id="r", evaluation=""))

    assert (found.holds, found.reason) == (False, "the run has no metrics")


def test_a_strict_judge_wants_the_whole_interval() -> None:
    one = at_least(0.65, "is_correct_mean", {"task_specification_keys": ["b"]})

    assert judged(one).holds
    assert not judged(one, strict=True).holds


def test_other_runs_are_looked_for_only_if_a_rule_asks() -> None:
    assert not needs_other_runs([policy("a"), policy("a", {"scorer_keys": ["b"]})])
    assert needs_other_runs([policy("a"), policy("a", "all_latest")])
    assert needs_other_runs([policy("a", {"evaluation_keys": ["b"]})])


def test_the_figures_of_task_records_have_keys_too() -> None:
    report = report_of([outcome("m", "1", 1.0), outcome("m", "2", 0.0), outcome("m", "3", None)])
    own = report_evidence(report, PlanOutline(tasks=(), models=()))
    found = judged(at_least(0.5, "mean", {"metric_keys": ["mean"], "scorer_keys": ["record"]}), own)

    assert found.holds
    assert found.reason.endswith("; 1 sample failed, and is not included; over 2 samples")
    assert (found.figures[0].n, found.figures[0].failed) == (2, 1)
    assert own.task_failures == []


def test_a_report_of_a_stopped_run_is_not_finished() -> None:
    report = report_of([outcome("m", "1", 1.0)], unfinished=2, stopped=True)

    assert (
        report_evidence(report, PlanOutline(tasks=(), models=())).unfinished
        == "is not finished (stopped; samples done: 1)"
    )


def verdict(rule: str, *, holds: bool, reason: str = "why") -> PolicyRow:
    return PolicyRow(
        policy="release",
        rule=rule,
        name=rule.title(),
        demand="bleu >= 0.5",
        holds=holds,
        reason=reason,
        figures=[],
    )


ROWS = [verdict("one", holds=True), verdict("other", holds=False)]


def judgement(*rows: PolicyRow, strict: bool = False) -> Judgement:
    holds = all(row.holds for row in rows)
    return Judgement(run_id="r1", holds=holds, strict=strict, policies=list(rows))


def test_a_rule_is_a_row() -> None:
    table = policies_table(ROWS)

    assert table.rows == [
        ("release", "One", "bleu >= 0.5", "holds", "why"),
        ("release", "Other", "bleu >= 0.5", "FAILS", "why"),
    ]
    assert table.note == "2 rules, 1 fails"
    assert policies_table(ROWS[:1]).note == "1 rule, none fails"


def test_a_gate_prints_what_must_hold_and_why() -> None:
    assert list(gate_lines(judgement(*ROWS))) == [
        "holds  release/one    bleu >= 0.5",
        "       why",
        "FAILS  release/other  bleu >= 0.5",
        "       why",
        "r1: 2 rules, 1 fails",
    ]


def test_what_an_author_or_a_model_wrote_acts_on_no_terminal_and_no_page() -> None:
    row = verdict("one", holds=False, reason="a\x1b[31m | <b>\u202e")

    assert "\x1b" not in "".join(gate_lines(judgement(row)))
    assert "\u202e" not in "".join(gate_lines(judgement(row)))
    assert "\\| \\<b\\>" in gate_markdown(judgement(row))


def test_a_page_says_at_once_whether_all_holds() -> None:
    assert gate_markdown(judgement(*ROWS)).startswith("# The policies do not hold\n\nRun `r1`.\n")
    strict = gate_markdown(judgement(ROWS[0], strict=True))
    assert strict.startswith("# The policies hold\n\nRun `r1`, judged by whole intervals.\n")
