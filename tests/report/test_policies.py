from typing import Any

import pytest
from msgspec import structs
from tests.report.made import outcome, report_of
from tests.report.test_verdicts import row

from evalwright.report.policies import Evidence, evidence_of, judge, looks_around
from evalwright.report.report import FailureRow, PolicyRow
from evalwright.spec.documents.models.policy import PolicyDocument

ACCURACY: Any = {"key": "accuracy", "own_key": True}
OWN = Evidence(
    run_id="own",
    evaluation="nightly",
    rows=(
        row(0.9, (0.85, 0.95), task="a", scorer="x", metric="is_correct_mean", **ACCURACY),
        row(0.7, (0.6, 0.8), task="b", scorer="x", metric="is_correct_mean", **ACCURACY),
        row(12, task="b", scorer="y", metric="length_max", key="max"),
        row(None, task="b", scorer="y", metric="empty_mean", key="mean", reason="all are null"),
    ),
)
WEEKLY = Evidence(
    run_id="other", evaluation="weekly", rows=(row(0.5, (0.4, 0.6), task="c", metric="bleu"),)
)


def policy(metric: str, scope: Any = None, **definition: Any) -> PolicyDocument:
    told = {"type": "exists", "metric": metric, **definition}
    rule = {"key": "rule", "definition": told, **({"scope": scope} if scope else {})}
    return PolicyDocument.model_validate({"key": "policy", "rules": [rule]})


def at_least(threshold: float, metric: str, scope: Any = None) -> PolicyDocument:
    return policy(metric, scope, type="threshold", operator=">=", threshold=threshold)


def judged(one: PolicyDocument, own: Evidence = OWN, **more: Any) -> PolicyRow:
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
            "not met by 1 of 2 figures: nightly, b, m, x, is_correct_mean: 0.700 < 0.800, but the "
            "interval reaches up to 0.800",
            id="all must meet",
        ),
        pytest.param(
            at_least(0.5, "accuracy"),
            True,
            "all 2 figures meet it; the nearest to failing is nightly, b, m, x, is_correct_mean: "
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
            "2 of 2 figures have a value; nightly, a, m, x, is_correct_mean: "
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
            "no figure of a task specification `bb`; did you mean `b`?",
            id="a key of a scope that nothing answers to",
        ),
        pytest.param(
            policy("is_correct_mean", {"task_specification_keys": ["a"], "scorer_keys": ["y"]}),
            False,
            "no figure is in all lists of its scope at once",
            id="a scope that matches nothing",
        ),
        pytest.param(
            policy("is_correct_mean", {"metric_keys": ["accuracy"], "scorer_keys": ["x"]}),
            True,
            "2 of 2 figures have a value; nightly, a, m, x, is_correct_mean: "
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
            "0.500, interval [0.400, 0.600]; there is none of the evaluation `nightly`",
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
    found = judged(at_least(0.7, "accuracy"), Evidence(run_id="r", evaluation="", rows=rows))

    assert found.reason.startswith("not met by 6 of 9 figures: t1, m, s, accuracy: 0.100 < 0.700")
    assert found.reason.endswith("; and 3 more")
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
    stopped = Evidence(run_id="r1", evaluation="", unfinished="is gone", rows=OWN.rows)

    for one in (policy("length_max"), at_least(0.1, "is_correct_mean")):
        found = judged(one, stopped)
        assert (found.holds, found.reason) == (False, "run r1 is gone")


def broken(**where: Any) -> FailureRow:
    facts: dict[str, Any] = {"model": "m", "stage": "metric", "type": "ZeroDivisionError"}
    words: dict[str, Any] = {"message": "a: ZeroDivisionError", "hint": "", "count": 1}
    return FailureRow(**facts, **words, sample_ids=[], **where)


def test_what_could_not_be_computed_is_told_and_strictly_fails() -> None:
    own = structs.replace(OWN, broken=[broken(task="a", scorer="x", metric="mine")])
    rule = at_least(0.8, "is_correct_mean", {"task_specification_keys": ["a"]})
    one, strict = (judged(rule, own, strict=way) for way in (False, True))

    assert one.reason.endswith("; not everything could be computed: a: ZeroDivisionError")
    assert "and then no rule about it holds strictly: a: Zero" in strict.reason
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
    own = structs.replace(OWN, rows=(*OWN.rows, check), broken=[broken(**where)])

    assert ("computed" in judged(policy("is_correct_mean", scope), own).reason) == counts


def test_figures_that_were_renamed_are_found_by_their_own_name() -> None:
    rows = (
        row(0.9, metric="first_total", name="total", key="first"),
        row(0.3, metric="second_total", name="total", key="second"),
    )
    own = Evidence(run_id="r", evaluation="", rows=rows)
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
    own = Evidence(run_id="r", evaluation="", rows=rows)

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
        "12.000, without an interval; there is none of the task specification `a`"
    )


def test_of_figures_that_meet_the_nearest_to_failing_is_shown_and_doubts_of_the_others() -> None:
    rows = (
        row(0.9, (0.5, 0.95), task="wide"),
        row(0.85, (0.82, 0.9), task="near"),
        row(0.9, (0.7, 0.95), task="other", failed=2),
        row(0.9, (0.85, 0.95), task="sparse", n=50, absent=3),
    )
    found = judged(at_least(0.8, "accuracy"), Evidence(run_id="r", evaluation="", rows=rows))

    assert found.reason == (
        "all 4 figures meet it; the nearest to failing is wide, m, s, accuracy: 0.900 ≥ 0.800, but "
        "the interval reaches down to 0.500; the interval of 1 more reaches over; 1 more left out "
        "failed samples, 2 in all; 1 more left out scores without a value, 3 in all"
    )


def test_strictly_only_figures_of_all_samples_exist() -> None:
    rows = (row(0.9, task="a", failed=1), row(0.9, task="b"))
    own = Evidence(run_id="r", evaluation="", rows=rows)

    assert judged(policy("accuracy"), own).reason.startswith("2 of 2 figures have a value; a, m")
    assert judged(policy("accuracy"), own, strict=True).reason == (
        "1 of 2 figures has a value of all samples; b, m, s, accuracy: 0.900, without an interval"
    )


def test_a_run_that_was_limited_is_told_as_such() -> None:
    own = structs.replace(OWN, limit=100)

    assert judged(policy("length_max"), own).reason == (
        "12.000, without an interval; the run was limited to 100 samples a task"
    )
    assert "limited" not in judged(policy("length_max"), structs.replace(OWN, limit=101)).reason


def test_a_run_without_figures_says_so() -> None:
    found = judged(policy("mean"), Evidence(run_id="r", evaluation=""))

    assert (found.holds, found.reason) == (False, "there are no figures at all")


def test_a_strict_judge_wants_the_whole_interval() -> None:
    one = at_least(0.65, "is_correct_mean", {"task_specification_keys": ["b"]})

    assert judged(one).holds
    assert not judged(one, strict=True).holds


def test_other_runs_are_looked_for_only_if_a_rule_asks() -> None:
    assert not looks_around([policy("a"), policy("a", {"scorer_keys": ["b"]})])
    assert looks_around([policy("a"), policy("a", "all_latest")])
    assert looks_around([policy("a", {"evaluation_keys": ["b"]})])


def test_the_figures_of_task_records_have_keys_too() -> None:
    report = report_of([outcome("m", "1", 1.0), outcome("m", "2", 0.0), outcome("m", "3", None)])
    own = evidence_of(report, "")
    found = judged(at_least(0.5, "mean", {"metric_keys": ["mean"], "scorer_keys": ["record"]}), own)

    assert found.holds
    assert found.reason.endswith("; 1 sample failed, and is not in it; over 2 samples")
    assert (found.figures[0].n, found.figures[0].failed) == (2, 1)
    assert own.broken == []


def test_a_report_of_a_stopped_run_is_not_finished() -> None:
    report = report_of([outcome("m", "1", 1.0)], unfinished=2, stopped=True)

    assert evidence_of(report, "").unfinished == "is not finished (stopped; samples done: 1)"
