import json

from tests.report.export.made import RECORD, completed, failed, judged, written

from evalwright.report.export import write_jsonl
from evalwright.types import Score


def test_a_line_has_the_promised_shape() -> None:
    (line,) = written(write_jsonl, [completed()]).splitlines()

    assert json.loads(line) == {
        "task": "tasks",
        "model": "scripted/oracle",
        "sample_id": "a",
        "trial": 0,
        "status": "completed",
        "input": "2 + 2",
        "output": " 4\n",
        "post_processed": "4",
        "scores": {"record": {"score": 1.0}},
        "metadata": {},
        "failure": None,
        "usage": {
            "requests": 1,
            "prompt_tokens": 5,
            "completion_tokens": 2,
            "total_tokens": 7,
            "cost": 0.25,
        },
        "latency_s": 0.5,
        "reasons": {},
    }


def test_the_keys_come_in_the_promised_order() -> None:
    keys = list(json.loads(written(write_jsonl, [failed()])))

    assert keys == [
        "task",
        "model",
        "sample_id",
        "trial",
        "status",
        "input",
        "output",
        "post_processed",
        "scores",
        "metadata",
        "failure",
        "usage",
        "latency_s",
        "reasons",
    ]


def test_a_failure_says_where_what_and_what_next() -> None:
    row = json.loads(written(write_jsonl, [failed()]))

    assert row["failure"] == {
        "stage": "solver",
        "type": "timeout",
        "message": "no answer in 60 s",
        "hint": "wait",
    }
    assert row["scores"] == {}
    assert row["usage"] is None


def test_a_program_that_was_run_has_its_record() -> None:
    assert json.loads(written(write_jsonl, [judged()]))["metadata"] == {"record": RECORD}


def test_text_of_any_kind_stays_on_its_line() -> None:
    said = 'naïve 数 👩‍👩‍👧 "quoted"\r\n\u2028\u2029\x00\x1b[31m \\n'

    lines = written(write_jsonl, [completed(output=said), completed("c")]).split(b"\n")

    assert len(lines) == 3
    assert json.loads(lines[0])["output"] == said
    assert "数".encode() in lines[0], "UTF-8, not escapes"


def test_half_a_surrogate_pair_comes_back_as_it_was() -> None:
    outcome = completed(output="\ud800", scores={"record": Score(values={"score": float("nan")})})

    row = json.loads(written(write_jsonl, [outcome]))

    assert row["output"] == "\ud800"
    assert row["scores"] == {"record": {"score": None}}


def test_no_outcomes_are_no_lines() -> None:
    assert written(write_jsonl, []) == b""
