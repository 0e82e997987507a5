"""What a run says it has done is what it has done: samples, failures, requests."""

from pathlib import Path

import pytest
from aiohttp import web
from tests.e2e.commands import evalwright as evalwright_with
from tests.e2e.commands import record, report_of, write_tasks
from tests.e2e.in_process import evalwright
from tests.e2e.projects import (
    ASKED,
    SOLVER,
    of_rows,
    run_file,
    task,
    write_project,
    write_rows,
)
from tests.servers.model_server import Asked, ModelServer, chat, status

BROKEN = "def compute_scores(samples):\n    raise ValueError('broken')"
SYSTEM = """\
  type: system_task
  compute_evidence_snippet: |
    def compute_evidence():
        return {"metrics": {"answer": {"value": 42}}}
"""
CHECKED = "{key: ask, task_key: ask}"
ABOUT_US = "{key: about, task_key: about}"


def write(folder: Path, *specifications: str, system: str = SYSTEM) -> Path:
    write_rows(folder, [{"n": number} for number in range(3)])
    return write_project(
        folder,
        run=run_file(*specifications),
        tasks__ask=of_rows(BROKEN, kind="python_all_samples"),
        tasks__about=task(system, key="about"),
    )


def test_a_failed_scorer_of_all_samples_completes_none(tmp_path: Path) -> None:
    folder = write(tmp_path, CHECKED)

    report = report_of(evalwright("run", "run.yaml", "--json", cwd=folder), exit_code=3)
    text = evalwright("run", "run.yaml", cwd=folder).stdout

    counts = {name: report["summary"][name] for name in ("samples", "completed", "failed")}
    assert counts == {"samples": 3, "completed": 0, "failed": 3}
    assert "0 of 3 samples completed, 3 failed" in text


def test_a_system_task_counts_no_sample(tmp_path: Path) -> None:
    folder = write(tmp_path, ABOUT_US)

    report = report_of(evalwright("run", "run.yaml", "--json", cwd=folder))
    text = evalwright("run", "run.yaml", cwd=folder).stdout

    summary = report["summary"]
    assert [summary[name] for name in ("samples", "completed", "failed", "planned")] == [0] * 4
    assert [row["value"] for row in report["metrics"]] == [42]
    assert "1 task without samples" in text


def test_a_system_task_that_fails_is_a_failure_of_the_run(tmp_path: Path) -> None:
    folder = write(tmp_path, ABOUT_US, system=SYSTEM.replace("return", "raise ValueError() #"))

    report = report_of(evalwright("run", "run.yaml", "--json", cwd=folder), exit_code=3)

    assert (report["status"], report["summary"]["failed"]) == ("finished_with_failures", 0)
    assert [row["count"] for row in report["failures"]] == [1]


@pytest.mark.parametrize("kind", ["records", "project"])
def test_a_sample_that_failed_after_retries_counts_its_requests(tmp_path: Path, kind: str) -> None:
    write_tasks(tmp_path, [record("a"), record("b")])
    write_rows(tmp_path, [{"question": "a"}, {"question": "b"}])
    exact = '  scorers:\n    - {type: string_equals, key: exact, ground_truth: "4"}\n'
    write_project(tmp_path, run=run_file(ASKED), tasks__ask=task(SOLVER + exact))
    path = ("tasks.jsonl", "-m", "openai/x") if kind == "records" else ("run.yaml",)

    async def behave(asked: Asked) -> web.StreamResponse:
        return await (status(500) if asked.prompt == "b" else chat("4"))(asked)

    with ModelServer(behave) as server:
        command = ("run", *path, "--json", "--retries", "1")
        report = report_of(evalwright_with(server, *command, cwd=tmp_path), exit_code=3)
        sent = len(server.log)

    assert report["usage"]["openai/x"]["requests"] == sent == 3
    assert report["usage"]["openai/x"]["total_tokens"] == 14
