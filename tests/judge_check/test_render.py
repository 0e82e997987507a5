from typing import Any

from evalwright.judge_check.agreement import estimate_share, measure_label_agreement
from evalwright.judge_check.render import render_judge_check
from evalwright.report.judges import (
    CLASSIFIER,
    Agreement,
    Figure,
    Judge,
    JudgeCheck,
    ProbeRow,
    RepeatsRow,
)
from evalwright.report.layout import lay_out_blocks

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


def shown(**more: Any) -> list[str]:
    return list(lay_out_blocks(render_judge_check(check(**more)), None))


def test_lines_show_counts_confusion_and_what_was_seen_differently() -> None:
    text = "\n".join(shown(agreement=AGREES, notes=["a note"]))

    assert "answers/right: model_as_a_judge_classifier, judged by openai/judge, run r1" in text
    assert "compared with 3 human labels (labels.csv), by label" in text
    assert "people ↓, judge →  correct  incorrect" in text
    assert "c: people `correct`, judge `incorrect`" in text
    assert text.endswith("note: a note")


def test_lines_of_probes_say_where_verdicts_went_and_what_failed() -> None:
    probe = ProbeRow(
        probe="pad",
        n=4,
        flips=estimate_share(2, 4),
        directions={"to correct": 2},
        examples=["a", "b\n\x1b[31m"],
        change=Figure(value=0.5),
        failed=1,
        not_applicable=1,
        reason="why",
    )
    repeats = RepeatsRow(
        times=2,
        n=4,
        all_equal=estimate_share(4, 4),
        pairwise=estimate_share(4, 4),
        spread=Figure(value=0.0),
        failed=2,
        reason="busy",
    )

    lines = shown(probes=[probe], repeats=repeats)

    assert "  verdicts that changed  0.50 [0.15, 0.85]" in lines
    assert "    to correct: 2" in lines
    assert "  without a verdict: 1 (why)" in lines
    assert "  not applicable: 1 (why)" in lines
    assert "  without a verdict: 2 (busy)" in lines
    assert not any("\x1b" in line or "\n" in line for line in lines)


def test_many_labels_are_cut_for_people_and_said_so() -> None:
    many = measure_label_agreement(
        [(str(n), f"l{n}", f"l{n}") for n in range(20)], source="x", compared="labels"
    )

    text = "\n".join(shown(agreement=many))

    assert "… and 8 more labels: see --json" in text
    assert len(many.labels) == 20


def test_nothing_compared_is_nothing_known() -> None:
    empty: Agreement = measure_label_agreement([], source="x", compared="labels")

    assert empty.figures["agreement"].value is None
    assert empty.figures["kappa"].reason == "nothing was compared"
    assert shown(agreement=empty)
