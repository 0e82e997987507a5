from typing import Any

import pytest
from msgspec import structs, to_builtins

from evalwright.judge_check.agreement import (
    estimate_share,
    measure_label_agreement,
    measure_score_agreement,
)
from evalwright.report.judges import (
    CLASSIFIER,
    Figure,
    Judge,
    JudgeCheck,
    ProbeRow,
    RepeatsRow,
    format_figure,
    judge_rows,
    read_judges,
)
from evalwright.report.to_tables import judges_table
from evalwright.types import Run

JUDGE = Judge(
    task="answers",
    scorer="right",
    type=CLASSIFIER,
    judge="judge",
    model="openai/judge",
    identity="one",
    correct_labels=["correct"],
    incorrect_labels=["incorrect"],
)
AGREES = measure_label_agreement(
    [("a", "correct", "correct"), ("b", "incorrect", "incorrect"), ("c", "correct", "incorrect")],
    source="labels.csv",
    compared="labels",
)


def check(**more: Any) -> JudgeCheck:
    given: dict[str, Any] = {
        "run_id": "r1",
        "judge": JUDGE,
        "checked": "2026-11-16T05:00:00+00:00",
        "seed": 0,
    }
    return JudgeCheck(**{**given, **more})


def run(name: str = "r1", *judges: Judge, checks: tuple[JudgeCheck, ...] = ()) -> Run:
    manifest = {
        "judges": to_builtins(list(judges or (JUDGE,))),
        "judge_checks": to_builtins(list(checks)),
    }
    return Run(id=name, created="", updated="", status="finished", plan_key="", manifest=manifest)


def test_a_run_without_judges_has_no_rows() -> None:
    bare = structs.replace(run(), manifest={})

    assert read_judges(bare) == []
    assert judge_rows(bare, [bare]) == []


def test_of_a_judge_that_nobody_checked_nothing_is_known_and_the_command_is_said() -> None:
    one = run()
    (row,) = judge_rows(one, [one])

    assert row.known == (
        "this judge has not been checked: "
        "`evalwright judge check r1 --labels FILE` compares it with people"
    )
    assert (row.checked, row.run_id) == ("", "")


def test_of_several_judges_the_command_names_each() -> None:
    one = run("r1", JUDGE, structs.replace(JUDGE, scorer="other", identity="two"))

    assert "check r1 --task answers --scorer other --labels" in judge_rows(one, [one])[1].known


def test_a_scorer_that_gives_no_verdict_cannot_be_compared() -> None:
    one = run("r1", structs.replace(JUDGE, type="rag_checker"))

    assert judge_rows(one, [one])[0].known == (
        "this judge cannot be checked: `rag_checker` gives no verdict to compare"
    )


def test_the_newest_of_each_kind_is_taken_from_any_run() -> None:
    early = run("r0", checks=(check(run_id="r0", agreement=AGREES, checked="2026-01-01T00:00"),))
    probe = ProbeRow(probe="swap", n=9, flips=estimate_share(1, 9))
    older = ProbeRow(probe="swap", n=9, flips=estimate_share(9, 9))
    late = run(
        "r1",
        checks=(
            check(probes=[older], checked="2026-02-01T00:00"),
            check(probes=[probe], checked="2026-03-01T00:00"),
        ),
    )

    (row,) = judge_rows(late, [late, early])

    assert row.agreement == AGREES
    assert row.probes == [probe]
    assert row.checked == "2026-03-01T00:00"
    assert row.known == (
        "agreement with 3 human labels 0.67 [0.21, 0.94], kappa 0.40 [0.00, 1.00]; "
        "checked 2026-01-01 in run r0; "
        "probe swap changes 0.11 [0.02, 0.43]; checked 2026-03-01 in this run"
    )


def test_a_check_of_more_samples_is_not_hidden_by_a_newer_one_of_fewer() -> None:
    few = measure_label_agreement([("a", "correct", "correct")], source="x", compared="labels")
    small, large = (ProbeRow(probe="swap", n=n, flips=estimate_share(1, n)) for n in (2, 9))
    one = run(
        "r1",
        checks=(
            check(agreement=AGREES, probes=[large], checked="2026-01-01T00:00"),
            check(agreement=few, probes=[small], checked="2026-03-01T00:00"),
        ),
    )

    (row,) = judge_rows(one, [one])

    assert (row.agreement, row.probes) == (AGREES, [large])
    assert "checked 2026-01-01" in row.known


def test_one_label_is_said_in_the_singular() -> None:
    few = measure_label_agreement([("a", "correct", "correct")], source="x", compared="labels")
    one = run("r1", checks=(check(agreement=few),))

    assert judge_rows(one, [one])[0].known.startswith("agreement with 1 human label ")


def test_a_check_on_another_task_names_it() -> None:
    there = structs.replace(JUDGE, task="big")
    one = run("r1", checks=(check(judge=there, agreement=AGREES),))

    assert judge_rows(one, [one])[0].known.endswith("in this run on task `big`")


def test_a_check_of_another_judge_does_not_count() -> None:
    other = structs.replace(JUDGE, identity="two")
    one = run("r1", JUDGE, checks=(check(judge=other, agreement=AGREES),))

    assert judge_rows(one, [one])[0].known.startswith("this judge has not been checked")


def test_a_check_of_another_version_is_passed_over() -> None:
    one = run("r1")
    one.manifest["judge_checks"] = [{"something": "else"}]

    assert judge_rows(one, [one])[0].known.startswith("this judge has not been checked")


def test_probes_without_people_say_that_people_were_not_asked() -> None:
    repeats = RepeatsRow(
        times=3, n=8, all_equal=estimate_share(6, 8), pairwise=estimate_share(7, 8)
    )
    failed = ProbeRow(probe="pad", n=0, flips=Figure(value=None, reason="no answer"))
    one = run("r1", checks=(check(repeats=repeats, probes=[failed]),))

    assert judge_rows(one, [one])[0].known == (
        "not compared with people; 3 verdicts per sample all equal in 0.75 [0.41, 0.93]; "
        "probe pad could not be applied; checked 2026-11-16 in this run"
    )


def test_scores_are_told_by_how_far_they_are_apart() -> None:
    pairs = [("a", 1.0, 2.0), ("b", 3.0, 3.0), ("c", 5.0, 4.0), ("d", 2.0, 2.0)]
    found = measure_score_agreement(pairs, (1, 5), source="x")
    one = run("r1", checks=(check(agreement=found),))

    known = judge_rows(one, [one])[0].known

    assert known.startswith("differs from 4 human scores by 0.12 [")
    assert ", Spearman 0.9" in known


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (Figure(value=None, reason="why"), "undefined (why)"),
        (Figure(value=None), "undefined"),
        (Figure(value=0.5), "0.50"),
        (Figure(value=0.5, ci_low=0.25, ci_high=0.75), "0.50 [0.25, 0.75]"),
    ],
    ids=["a reason", "none", "no interval", "an interval"],
)
def test_a_figure_is_shown_with_what_is_known_of_it(figure: Figure, text: str) -> None:
    assert format_figure(figure) == text


def test_the_table_of_a_report_has_a_row_a_judge() -> None:
    one = run()
    table = judges_table(judge_rows(one, [one]))

    assert table.title == "Judges"
    assert table.rows[0] == (
        "answers",
        "right",
        "openai/judge",
        "this judge has not been checked",
    )
    assert table.note == "`evalwright judge check RUN --labels FILE` compares a judge with people"
