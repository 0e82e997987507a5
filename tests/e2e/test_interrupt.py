"""Ctrl-C while a hundred requests are in flight: once is gentle, twice is at once."""

import signal
import subprocess
from pathlib import Path
from time import sleep

import pytest
from tests.e2e.commands import (
    Held,
    evalwright,
    finished,
    outcomes_in,
    record,
    report_of,
    start,
    write_tasks,
)
from tests.servers.model_server import ModelServer, chat, status

SAMPLES = 250
CONNECTIONS = 100
RUN = ("run", "tasks.jsonl", "-m", "openai/x", "--json", "--concurrency", f"{CONNECTIONS}")


def interrupt(process: subprocess.Popen[str], server: ModelServer) -> str:
    """Once, when all connections are in use; the line that is said then."""
    while len(server.log) < CONNECTIONS and process.poll() is None:
        sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.stderr
    return process.stderr.readline()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tasks(tmp_path, (record(f"t{number}") for number in range(SAMPLES)))
    return tmp_path


def test_once_waits_for_what_is_in_flight_and_pays_for_nothing_twice(folder: Path) -> None:
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=folder)
        line = interrupt(process, server)
        held.open()
        stopped = finished(process)
        asked = len(server.log)
        resumed = evalwright(server, *RUN, cwd=folder)

    assert line == ("stopping: waiting for 100 samples in flight; Ctrl-C again stops at once\n")
    report = report_of(stopped, exit_code=130)
    assert report["status"] == "stopped"
    assert report["summary"]["completed"] == asked == CONNECTIONS, "no more, and none given up"
    assert "the same command resumes it" in " ".join(report["notes"])
    report = report_of(resumed)
    assert report["status"] == "finished"
    assert (report["summary"]["completed"], report["summary"]["reused"]) == (SAMPLES, CONNECTIONS)
    assert len(server.log) == SAMPLES


def test_twice_gives_up_what_is_in_flight_and_can_be_gone_on_with(folder: Path) -> None:
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=folder)
        interrupt(process, server)
        process.send_signal(signal.SIGINT)
        stopped = finished(process)  # with nothing answered yet
        held.open()
        resumed = evalwright(server, *RUN, cwd=folder)

    report = report_of(stopped, exit_code=130)
    assert (report["status"], report["summary"]["samples"]) == ("stopped", 0)
    assert "the same command resumes it" in " ".join(report["notes"])
    assert stopped.stderr == ""
    assert report_of(resumed)["summary"]["completed"] == SAMPLES
    assert [one.sample_id for one in outcomes_in(folder)] == [
        f"t{number}" for number in range(SAMPLES)
    ]
    assert len(server.log) == CONNECTIONS + SAMPLES


def test_twice_does_not_wait_for_a_retry_that_is_due_in_minutes(folder: Path) -> None:
    with ModelServer(status(429, retry_after="200")) as server:
        process = start(server, *RUN, cwd=folder)
        interrupt(process, server)
        process.send_signal(signal.SIGINT)
        stopped = finished(process)

    assert report_of(stopped, exit_code=130)["summary"]["samples"] == 0
    assert len(server.log) == CONNECTIONS
