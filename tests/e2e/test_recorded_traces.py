"""What other tools have recorded is scored, and what broke there is no wrong answer here."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import evalwright as ew

LOGS = Path(__file__).parents[1] / "datasets" / "inspect"
TASK = """\
key: recorded
display_name: Recorded
description: Did it end as expected?
definition:
  dataset: {key: rows}
  solver: {type: pass_through_solver, trace_column: trace}
  scorers:
    - {type: string_equals, key: exact, ground_truth: "{{ sample.EXPECTED }}"}
"""


def project(folder: Path, source: str, expected: str) -> None:
    for name, text in {
        "tasks/recorded.yaml": TASK.replace("EXPECTED", expected),
        "datasets/rows.yaml": f"key: rows\ndisplay_name: Rows\nsource: {source}\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def lines(path: Path, some: Iterable[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in some))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_sample_that_broke_in_inspect_fails_here_with_the_same_words(tmp_path: Path) -> None:
    project(tmp_path, "{type: inspect_ai, file_path: log.json}", "output")
    shutil.copy(LOGS / "greetings.json", tmp_path / "datasets" / "log.json")

    report = ew.run("tasks/recorded.yaml")

    (row,) = report.metrics
    assert (row.value, row.n, row.failed) == (1.0, 2, 1)
    (failure,) = report.failures
    assert (failure.stage, failure.sample_ids) == ("solver", ["2"])
    assert failure.message == (
        "column `trace` contains no trace: Inspect recorded an error: "
        "ValueError('the shop is closed')"
    )


def test_a_chat_without_an_answer_fails_alone(tmp_path: Path) -> None:
    project(tmp_path, "{type: chat_jsonl, file_path: chats.jsonl}", "expected")
    asked = [{"role": "user", "content": "2 + 2?"}]
    body = {"choices": [{"message": {"role": "assistant", "content": "4"}}]}
    lines(
        tmp_path / "datasets" / "chats.jsonl",
        [
            {"custom_id": "a", "response": {"status_code": 200, "body": body}, "expected": "4"},
            {"custom_id": "b", "response": {"status_code": 500, "body": "oh"}, "expected": "4"},
            {"custom_id": "c", "messages": asked, "expected": "4"},
        ],
    )

    report = ew.run("tasks/recorded.yaml")

    (row,) = report.metrics
    assert (row.value, row.n, row.failed) == (1.0, 1, 2)
    failed = {
        one.sample_id: one.failure.message for one in report.samples(failed=True) if one.failure
    }
    assert failed["b"].endswith("the server answered 500: oh")
    assert "a request without an answer" in failed["c"]


def test_calls_of_a_log_packed_with_zstandard_are_scored(tmp_path: Path) -> None:
    project(tmp_path, "{type: inspect_ai, directory_path: logs}", "output")
    path = tmp_path / "tasks" / "recorded.yaml"
    calls = "    - {type: function_call_coverage, key: calls, function_calls: '[\"look_up\"]'}\n"
    path.write_text(path.read_text() + calls)
    (tmp_path / "datasets" / "logs").mkdir()
    shutil.copy(LOGS / "orders.eval", tmp_path / "datasets" / "logs" / "orders.eval")

    report = ew.run("tasks/recorded.yaml")

    values = {(row.scorer, row.metric): row.value for row in report.metrics}
    assert values["exact", "is_correct_mean"] == 1.0
    assert all(value == 1.0 for (scorer, _), value in values.items() if scorer == "calls")
    assert report.summary.samples == 4
