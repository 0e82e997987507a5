"""Ctrl-C during an evaluation: once is gentle, twice is at once, and nothing is left behind."""

import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Held, evalwright, finished, report_of, start
from tests.e2e.projects import (
    ASKED,
    SOLVER,
    questions,
    run_file,
    scorer,
    task,
    write_project,
    write_rows,
)
from tests.living import descendants, ends, wait_until
from tests.servers.model_server import ModelServer, chat, never

SAMPLES = 30
CONNECTIONS = 10
RUN = ("run", "run.yaml", "--json", "--concurrency", str(CONNECTIONS))
EACH = "def compute_scores(sample, trace):\n    return {'ok': '1' in sample['question']}"
STUCK = """
from pathlib import Path
from time import sleep

def compute_scores(*things):
    Path("scoring").touch()
    while not Path("open").exists():
        sleep(0.01)
    return {scores}
"""
ONE = "{'ok': True}"
ALL = "[{'ok': True} for one in things[0]]"


def project(folder: Path, *scorers: str) -> None:
    write_rows(folder, questions(SAMPLES))
    asks = task(f"{SOLVER}  scorers:\n{''.join(scorers)}")
    write_project(folder, run=run_file(ASKED), tasks__ask=asks)


def interrupt(process: subprocess.Popen[str]) -> set[int]:
    """Ctrl-C; the processes that it has."""
    family = descendants(process.pid) - {process.pid}
    process.send_signal(signal.SIGINT)
    return family


def stopped(done: subprocess.CompletedProcess[str]) -> Any:
    """The report of a run that can be gone on with."""
    report = report_of(done, exit_code=130)
    assert report["status"] == "stopped"
    assert "resumes it" in " ".join(report["notes"])
    assert "Traceback" not in done.stderr
    return report


def test_once_waits_for_what_is_in_flight_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    project(tmp_path, scorer(EACH))
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) == CONNECTIONS)
        interrupt(process)
        assert process.stderr
        line = process.stderr.readline()
        held.open()
        first = stopped(finished(process))
        resumed = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert line == "stopping: waiting for 10 samples in flight; Ctrl-C again stops at once\n"
    assert first["summary"]["completed"] == CONNECTIONS
    assert (resumed["status"], resumed["summary"]["reused"]) == ("finished", CONNECTIONS)
    assert len(server.log) == SAMPLES


def test_twice_gives_up_what_is_in_flight(tmp_path: Path) -> None:
    project(tmp_path, scorer(EACH))
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) == CONNECTIONS)
        interrupt(process)
        assert process.stderr
        process.stderr.readline()
        interrupt(process)
        first = stopped(finished(process))
        held.open()
        resumed = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert first["summary"]["samples"] == 0
    assert resumed["summary"]["completed"] == SAMPLES
    assert len(server.log) == SAMPLES + CONNECTIONS


def test_twice_ends_a_snippet_that_would_go_on_for_long(tmp_path: Path) -> None:
    project(tmp_path, scorer(STUCK.replace("{scores}", ONE)))
    with ModelServer(chat("4")) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until((tmp_path / "scoring").exists)
        family = interrupt(process)
        assert process.stderr
        process.stderr.readline()
        interrupt(process)
        stopped(finished(process))

    assert family, "there were processes of snippets"
    assert all(ends(pid) for pid in family)


def test_once_ends_what_comes_after_the_last_sample_and_can_be_gone_on_with(tmp_path: Path) -> None:
    project(tmp_path, scorer(STUCK.replace("{scores}", ALL), kind="python_all_samples"))
    with ModelServer(chat("4")) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until((tmp_path / "scoring").exists)
        family = interrupt(process)
        first = stopped(finished(process))
        (tmp_path / "open").touch()
        resumed = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert first["notes"] == [
        (
            "not finished (interrupted): all 30 samples done, but no metrics computed; "
            "the same command resumes it"
        )
    ]
    assert (first["summary"]["completed"], first["metrics"]) == (SAMPLES, [])
    assert family, "there were processes of snippets"
    assert all(ends(pid) for pid in family)
    assert resumed["run_id"] == first["run_id"]
    assert [(row["value"], row["n"]) for row in resumed["metrics"]] == [(1.0, SAMPLES)]
    assert len(server.log) == SAMPLES


@pytest.mark.parametrize("arguments", [(), ("--fresh",)], ids=["as it is", "fresh"])
def test_an_interrupt_while_the_last_samples_land_is_gone_on_with(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    project(tmp_path, scorer(EACH))
    write_rows(tmp_path, questions(CONNECTIONS))
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, *arguments, cwd=tmp_path)
        wait_until(lambda: len(server.log) == CONNECTIONS)
        interrupt(process)
        assert process.stderr
        process.stderr.readline()
        held.open()
        first = stopped(finished(process))
        resumed = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert (first["summary"]["completed"], first["metrics"]) == (CONNECTIONS, [])
    assert [row["n"] for row in resumed["metrics"]] == [CONNECTIONS]
    assert len(server.log) == CONNECTIONS


def test_an_interrupt_before_the_first_sample_is_one_word(tmp_path: Path) -> None:
    project(tmp_path, scorer(EACH))
    asked = ASKED.replace("openai$x", "openai$y")  # not declared: the server is asked for its list
    write_project(tmp_path, run=run_file(asked))
    with ModelServer(never) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) > 0)
        interrupt(process)
        done = finished(process)

    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "interrupted")
