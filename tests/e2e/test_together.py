"""Several processes and one store: each run ends, and none takes anything from another."""

from collections import Counter
from pathlib import Path
from time import sleep

import pytest
from tests.e2e.commands import (
    Held,
    evalwright,
    finished,
    metrics_of,
    outcomes_in,
    record,
    report_of,
    start,
    write_tasks,
)
from tests.servers.model_server import Asked, ModelServer, after, chat

from evalwright import api

SAMPLES = 150
NAMES = [f"t{number}" for number in range(SAMPLES)]


def run(model: str) -> tuple[str, ...]:
    return ("run", "tasks.jsonl", "-m", f"openai/{model}", "--json", "--concurrency", "20")


def sometimes_right(asked: Asked) -> str:
    return "4" if asked.prompt < "t5" else "5"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tasks(tmp_path, map(record, NAMES))
    return tmp_path


@pytest.fixture
def server() -> ModelServer:
    return ModelServer(after(0.02, chat(sometimes_right)))


def stored(folder: Path) -> dict[str, list[str]]:
    """The samples of each run that is stored."""
    runs = api.runs(str(folder / ".evalwright" / "runs.db"))
    return {run.id: [one.sample_id for one in outcomes_in(folder, run.id)] for run in runs}


def test_three_plans_at_once_are_three_whole_runs(folder: Path, server: ModelServer) -> None:
    models = ("a", "b", "c")
    with server:
        under_way = [start(server, *run(model), cwd=folder) for model in models]
        reports = [report_of(finished(process)) for process in under_way]

    kept = stored(folder)
    assert [report["status"] for report in reports] == ["finished"] * 3
    assert kept.keys() == {report["run_id"] for report in reports}
    assert all(names == NAMES for names in kept.values())
    asked = Counter(asked.body["model"] for asked in server.log)
    assert asked == dict.fromkeys(models, SAMPLES)
    assert len({str(report["metrics"][0]["value"]) for report in reports}) == 1


def test_one_plan_twice_at_once_ends_twice_with_the_same_report(
    folder: Path, server: ModelServer
) -> None:
    with server:
        under_way = [start(server, *run("x"), cwd=folder) for _ in range(2)]
        reports = [report_of(finished(process)) for process in under_way]
        again = report_of(evalwright(server, *run("x"), cwd=folder))

    kept = stored(folder)
    for report in reports:
        assert report["summary"]["completed"] == SAMPLES
        assert metrics_of(report) == metrics_of(again)
        assert kept[report["run_id"]] == NAMES
    assert again["summary"]["reused"] == SAMPLES


def test_who_joins_a_run_under_way_takes_what_is_there(folder: Path, server: ModelServer) -> None:
    with server:
        first = start(server, *run("x"), cwd=folder)
        while len(server.log) < SAMPLES // 2 and first.poll() is None:
            sleep(0.01)
        second = start(server, *run("x"), cwd=folder)
        reports = [report_of(finished(process)) for process in (first, second)]

    assert reports[0]["run_id"] == reports[1]["run_id"]
    assert list(stored(folder).values()) == [NAMES]
    assert metrics_of(reports[0]) == metrics_of(reports[1])
    assert reports[1]["summary"]["reused"] > 0
    assert len(server.log) < 2 * SAMPLES


def test_a_run_that_is_deleted_under_way_says_so(folder: Path) -> None:
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *run("x"), cwd=folder)
        while not server.log and process.poll() is None:
            sleep(0.01)
        api.delete("latest", str(folder / ".evalwright" / "runs.db"))
        held.open()
        ended = finished(process)

    assert ended.returncode == 2
    assert "was it deleted by another process?" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert stored(folder) == {}
