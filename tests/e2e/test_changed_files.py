"""Files that change while a run uses them: the run says so, and `list` and `report` do later."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp.web import StreamResponse
from tests.e2e.commands import evalwright, record, report_of, write_tasks
from tests.servers.model_server import Asked, ModelServer, chat

RUN = ("run", "tasks.jsonl", "-m", "openai/x", "--json")
NOTE = "tasks.jsonl changed during the run: the results are of its earlier content"


def run_and_change(folder: Path, count: int, *options: str, **changes: Any) -> tuple[Any, ...]:
    """Run so many records; when the first is asked, the file changes. Return what came of it."""
    records = [record(f"t{number}") for number in range(count)]
    write_tasks(folder, records)
    answer = chat("4")

    async def change_and_answer(asked: Asked) -> StreamResponse:
        if asked.prompt == "t0":
            write_tasks(folder, [one | changes for one in records])
        return await answer(asked)

    with ModelServer(change_and_answer) as server:
        done = evalwright(server, *RUN, *options, cwd=folder)
        (listed,) = json.loads(evalwright(server, "list", "--json", cwd=folder).stdout)
        table = evalwright(server, "list", cwd=folder).stdout
        report = evalwright(server, "report", "--json", cwd=folder)
        return done, listed, table, report, evalwright(server, *RUN, cwd=folder)


@pytest.mark.parametrize(
    "changes", [{"targets": ["5"]}, {"targets": ["a longer one"]}], ids=["same length", "longer"]
)
def test_a_file_that_changes_after_its_last_record_was_read_marks_the_run(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    done, listed, table, report, again = run_and_change(tmp_path, 3, **changes)

    assert report_of(done)["leaderboard"][0]["mean"] == 1.0, "of the records that were asked"
    assert NOTE in done.stderr
    assert NOTE in report_of(done)["notes"]
    assert NOTE in report_of(report)["notes"]
    assert (listed["status"], listed["changed_files"]) == ("finished", ["tasks.jsonl"])
    assert "finished, input changed" in table
    assert report_of(again)["leaderboard"][0]["mean"] == 0.0
    assert report_of(again)["notes"] == []


def test_a_file_that_changes_before_its_last_record_was_read_stops_and_marks_the_run(
    tmp_path: Path,
) -> None:
    options = ("--concurrency", "1")
    done, listed, table, report, again = run_and_change(tmp_path, 40, *options, targets=["5"])

    assert done.returncode == 1
    assert "evalwright: tasks.jsonl: the file changed while it was in use" in done.stderr
    assert listed["done"], "what was in flight is stored"
    assert (listed["status"], listed["changed_files"]) == ("stopped", ["tasks.jsonl"])
    assert "stopped, input changed" in table
    assert report_of(report)["status"] == "stopped"
    assert NOTE in report_of(report)["notes"]
    assert report_of(again)["summary"]["completed"] == 40
    assert report_of(again)["notes"] == []
