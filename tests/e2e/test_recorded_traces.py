"""What other tools have recorded is scored, and what broke there is no wrong answer here."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.in_process import evalwright
from tests.servers.model_server import Behaviour, ModelServer
from tests.servers.trace_servers import KEY, langsmith, phoenix

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


SERVICES = {
    "langsmith": "{type: langsmith, project: shop, api_url: ADDRESS, api_key: << secrets.KEY >>}",
    "phoenix": "{type: phoenix, project: shop, base_url: ADDRESS, api_key: << secrets.KEY >>}",
}
RUN = """\
secrets: {KEY: SECRET}
evaluation:
  key: whole
  display_name: Whole
  task_specifications:
    - {key: recorded, task_key: recorded}
"""


def recorded_by(service: str, *answers: str) -> Behaviour:
    """A server that has one trace per answer."""
    names = list(enumerate(answers))
    times = {"start_time": "2026-03-02T09:00:00+00:00", "end_time": "2026-03-02T09:00:01+00:00"}
    if service == "langsmith":
        runs = [
            {"id": f"t{n}", "inputs": {"q": "4"}, "outputs": {"a": text}, **times}
            for n, text in names
        ]
        return langsmith(runs=runs)
    spans = [
        {
            "context": {"trace_id": f"t{n}", "span_id": f"s{n}"},
            "span_kind": "CHAIN",
            "attributes": {"input.value": "4", "output.value": text},
            **times,
        }
        for n, text in names
    ]
    return phoenix(spans=spans, key=KEY)


@pytest.mark.parametrize("service", SERVICES)
def test_traces_of_a_service_are_scored_and_the_same_rows_are_seen_again(
    tmp_path: Path, service: str
) -> None:
    with ModelServer(recorded_by(service, "4", "5")) as server:
        project(tmp_path, SERVICES[service].replace("ADDRESS", server.origin), "input")
        (tmp_path / "run.yaml").write_text(RUN.replace("SECRET", KEY))
        checked = evalwright("validate", ".", cwd=tmp_path)
        assert (checked.returncode, len(server.log)) == (0, 0), "checks need no network"

        report = ew.run("run.yaml")
        server.behave(recorded_by(service, "6"))
        again = ew.run("run.yaml")

    assert [(row.value, row.n) for row in report.metrics] == [(0.5, 2)]
    assert [(row.value, row.n) for row in again.metrics] == [(0.5, 2)]
    (tmp_path / "datasets" / "rows.yaml").write_text(
        "key: rows\ndisplay_name: Rows\n"
        f"source: {{type: {service}, project: shop, api_key: {KEY}}}\n"
    )
    exported = evalwright("dataset", "export", "rows", cwd=tmp_path)
    assert "api_key: '[redacted]'" in exported.stdout
    (tmp_path / "datasets" / "rows.yaml").unlink()
    for path in (one for one in tmp_path.rglob("*") if one.is_file() and one.name != "run.yaml"):
        assert KEY.encode() not in path.read_bytes(), path


def test_the_key_of_a_service_is_redacted_if_the_service_says_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP", KEY)
    source = SERVICES["phoenix"].replace("<< secrets.KEY >>", "$SHOP")
    with ModelServer(recorded_by("phoenix", f"4, says {KEY}")) as server:
        project(tmp_path, source.replace("ADDRESS", server.origin), "input")
        report = ew.run("tasks/recorded.yaml")

    (sample,) = report.samples()
    assert "4, says [redacted]" in str(sample)
    assert KEY not in str(sample)
