"""A judge of rows with columns of human labels: it is read as the run reads it, and counted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.judge_check.judged import DATASET, RUN
from tests.servers.model_server import ModelServer, chat

import evalwright as ew
from evalwright import api
from evalwright.judge_check.render import render_judge_check
from evalwright.judge_check.unreadable import count_unreadable
from evalwright.report.judges import Judge, JudgeCheck, UnreadableReplies
from evalwright.report.layout import lay_out_blocks
from evalwright.types import Failure, Outcome, Score

TASK = """\
key: answers
display_name: Judged
description: Rows with labels of people.
definition:
  dataset: {key: questions}
  scorers:
    - key: quality
      model_key: openai/judge
      user_prompt: "Grade: <text>{{ sample.text }}</text>"
"""
KINDS = {
    "classifier": "type: model_as_a_judge_classifier\ncorrect_labels: ['2']\n"
    "incorrect_labels: ['0', '1']\n",
    "scorer": "type: model_as_a_judge_scorer\nscore_min: 0\nscore_max: 2\n",
    "labeler": "type: labeler_via_model\nvalid_labels: ['0', '1', '2']\n",
}
PEOPLE = "0120120120"
"""The label that people gave each row."""
FORMAT = "{}\n\n### Reason: It has 2 faults.\n\n### Reference: 1. Oslo\n2. Bergen"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(chat("")) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-no-use")
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(folder: Path, judge: str, verdict: str, *, more: str = "") -> Any:
    """Run a judge of rows that also have columns with verdicts of others."""
    fields = "".join(f"      {line}\n" for line in (judge + more).splitlines())
    dataset = DATASET.replace("questions.csv", "questions.jsonl")
    rows = [
        {"sample_id": f"q{n}", "text": f"{n}", "human": label, "earlier": verdict.format(label)}
        for n, label in enumerate(PEOPLE)
    ]
    files = {
        "run.yaml": RUN.replace(", model_key: openai/model", ""),
        "tasks/answers.yaml": TASK + fields,
        "datasets/questions.yaml": dataset,
        "datasets/questions.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return ew.run(folder / "run.yaml")


def checked(**options: Any) -> JudgeCheck:
    return api.judge_check("latest", api.JudgeCheckOptions(column="human", **options))


def text_of(check: JudgeCheck) -> str:
    return "\n".join(lay_out_blocks(render_judge_check(check), None))


def grade(verdict: str, wrong: dict[int, str] | None = None) -> Any:
    """Reply as people labelled the row, but for some."""

    def reply(asked: Any) -> str:
        number = int(asked.prompt.partition("<text>")[2].partition("</text>")[0])
        return (wrong or {}).get(number, verdict.format(PEOPLE[number]))

    return chat(reply)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("verdict", "more"),
    [
        pytest.param("It reads well.\nScore: {}", "", id="named line"),
        pytest.param('It reads well.\n{{"score": {0}, "label": "{0}"}}', "", id="json"),
        pytest.param(FORMAT, "verdict_position: first_line\n", id="first line"),
    ],
)
def test_a_verdict_equal_to_a_label_column_is_a_verdict_in_a_run_and_in_a_check(
    folder: Path, server: ModelServer, kind: str, verdict: str, more: str
) -> None:
    server.behave(grade(verdict, {0: verdict.format(1)}))
    (figure, *_) = run(folder, KINDS[kind], verdict, more=more).metrics
    assert figure.n == 10

    check = checked(repeat=2)

    assert check.agreement is not None
    name = "exact" if kind == "scorer" else "agreement"
    assert check.agreement.figures[name].value == pytest.approx(0.9)
    assert (check.agreement.n, check.agreement.no_verdict) == (10, 0)
    assert check.repeats is not None
    assert (check.repeats.n, check.repeats.failed) == (10, 0)
    assert (check.replies, check.unreadable, check.unreadable_again) == (10, [], [])


def test_replies_without_a_verdict_are_counted_by_the_rule_that_they_break(
    folder: Path, server: ModelServer
) -> None:
    wrong = {1: "", 3: "Well.\n2", 5: "It is good.\n1", 8: "\n"}
    server.behave(grade(FORMAT, wrong))
    run(folder, KINDS["classifier"], FORMAT, more="verdict_position: first_line\n")

    check = checked()

    assert check.replies == 10
    assert check.unreadable == [
        UnreadableReplies(rule="empty", count=2, example="q1"),
        UnreadableReplies(rule="first_line", count=2, example="q3"),
    ]
    assert check.agreement is not None
    assert (check.agreement.n, check.agreement.no_verdict) == (6, 4)
    shown = text_of(check)
    assert "10 replies, 4 without a verdict, by rule" in shown
    assert "first_line  2 (for example q3)" in shown


def test_replies_without_a_verdict_to_repeats_are_counted_apart(
    folder: Path, server: ModelServer
) -> None:
    server.behave(grade("{}"))
    run(folder, KINDS["scorer"], "{}")
    server.behave(grade("{}", {2: "3", 4: "two"}))

    check = checked(repeat=3)

    assert check.unreadable == []
    assert check.unreadable_again == [
        UnreadableReplies(rule="no_verdict", count=2, example="q4"),
        UnreadableReplies(rule="off_scale", count=2, example="q2"),
    ]
    assert "replies to probes and repeats, 4 without a verdict" in text_of(check)


def test_labels_that_differ_only_in_case_are_compared_as_different_labels(
    folder: Path, server: ModelServer
) -> None:
    server.behave(grade("{}", {0: "a", 1: "A", 3: "A", 4: "A"}))
    run(folder, "type: labeler_via_model\nvalid_labels: [a, A, '0', '1', '2']\n", "{}")
    people = {"q0": "a", "q1": "a", "q3": "A", "q4": "A"}
    (folder / "labels.csv").write_text(
        "sample_id,label\n" + "".join(f"{name},{label}\n" for name, label in people.items())
    )

    check = api.judge_check("latest", api.JudgeCheckOptions(labels="labels.csv"))

    assert check.agreement is not None
    assert check.agreement.confusion == {"a": {"a": 1, "A": 1}, "A": {"a": 0, "A": 2}}


@pytest.mark.parametrize(
    ("message", "stage", "type_", "counted"),
    [
        pytest.param("the judge gave no verdict: x", "score", "NoVerdict", 1, id="one scorer"),
        pytest.param("`s`: the judge gave no verdict", "score", "NoVerdict", 1, id="of several"),
        pytest.param("`t`: the judge gave no verdict", "score", "NoVerdict", 0, id="another"),
        pytest.param("the judge `j`: timeout", "score", "timeout", 0, id="not a reply"),
        pytest.param("no answer", "solver", "NoVerdict", 0, id="no answer"),
    ],
)
def test_only_replies_of_this_judge_are_counted(
    message: str, stage: Any, type_: str, counted: int
) -> None:
    judge = Judge(task="t", scorer="s", type="labeler_via_model", judge="j", model="j", identity="")
    failure = Failure(stage=stage, type=type_, message=message, rule="empty")
    outcomes = [
        Outcome(task="t", model="m", sample_id="a", failure=failure),
        Outcome(task="t", model="m", sample_id="b", scores={"s": Score(values={"label": "x"})}),
        Outcome(task="t", model="m", sample_id="c", scores={"t": Score(values={"label": "x"})}),
    ]

    tally = count_unreadable(judge, outcomes)

    assert (tally.replies, sum(row.count for row in tally.to_rows())) == (1 + counted, counted)
