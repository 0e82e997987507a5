"""SIGTERM and SIGHUP act as one Ctrl-C: what is in flight is kept, and no process stays behind."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import COMMAND, Held, environment, evalwright, finished, report_of, start
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

from evalwright import api

SAMPLES, CONNECTIONS = 12, 4
RUN = ("run", "run.yaml", "--json", "--concurrency", str(CONNECTIONS))
HELD = """
from pathlib import Path
from time import sleep

def compute_scores(sample, trace):
    Path(f"scoring-{sample['question']}").touch()
    while not Path("open").exists():
        sleep(0.01)
    return {'ok': True}
"""
GRACE = "stopping: waiting at most 8 s for 4 samples in flight; a second signal stops at once\n"
ENDLESS = "while True:\n    pass\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Its snippet holds every sample until there is a file `open`."""
    write_rows(tmp_path, questions(SAMPLES))
    asks = task(f"{SOLVER}  scorers:\n{scorer(HELD)}")
    return write_project(tmp_path, run=run_file(ASKED), tasks__ask=asks)


def held(folder: Path, process: subprocess.Popen[str], how: signal.Signals) -> set[int]:
    """Signal a process whose samples are all held by snippets; return its child processes."""
    wait_until(lambda: len(list(folder.glob("scoring-*"))) > 0 or process.poll() is not None)
    family = descendants(process.pid) - {process.pid}
    process.send_signal(how)
    return family


def stopped(done: subprocess.CompletedProcess[str]) -> Any:
    report = report_of(done, exit_code=130)
    assert report["status"] == "stopped"
    assert "resumes it" in " ".join(report["notes"])
    assert "Traceback" not in done.stderr
    return report


def test_one_signal_keeps_the_samples_that_land(project: Path) -> None:
    answers = Held(chat("4"))
    (project / "open").touch()
    with ModelServer(answers) as server:
        process = start(server, *RUN, cwd=project)
        wait_until(lambda: len(server.log) == CONNECTIONS)
        process.send_signal(signal.SIGTERM)
        assert process.stderr
        line = process.stderr.readline()
        answers.open()
        first = stopped(finished(process))
        resumed = report_of(evalwright(server, *RUN, cwd=project))

    assert line == GRACE
    assert first["summary"]["completed"] == CONNECTIONS
    assert (resumed["status"], resumed["summary"]["reused"]) == ("finished", CONNECTIONS)
    assert len(server.log) == SAMPLES


def test_a_second_signal_stops_at_once_and_leaves_no_process(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        process = start(server, *RUN, cwd=project)
        family = held(project, process, signal.SIGHUP)
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        stopped(finished(process))

    assert family, "there were processes of snippets"
    assert all(ends(pid) for pid in family)


def test_a_signal_stops_a_rescoring(project: Path) -> None:
    with ModelServer(chat("4")) as server:
        (project / "open").touch()
        report_of(evalwright(server, *RUN, cwd=project))
        (project / "open").unlink()
        for mark in project.glob("scoring-*"):
            mark.unlink()
        write_project(project, tasks__ask=task(f"{SOLVER}  scorers:\n{scorer(HELD + '# v2')}"))
        process = start(server, "score", "latest", "--json", cwd=project)
        family = held(project, process, signal.SIGTERM)
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        stopped(finished(process))

    assert family, "there were processes of snippets"
    assert all(ends(pid) for pid in family)


@pytest.mark.parametrize("ignored", [False, True], ids=["from a terminal", "from a script with &"])
def test_a_signal_before_the_first_sample_is_one_word(project: Path, *, ignored: bool) -> None:
    asked = ASKED.replace("openai$x", "openai$y")  # not declared: the server is asked for its list
    write_project(project, run=run_file(asked))
    ignore: Callable[[], object] = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    with ModelServer(never) as server:
        process = subprocess.Popen(
            [*COMMAND, *RUN],
            cwd=project,
            env=environment(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            preexec_fn=ignore if ignored else None,  # noqa: PLW1509 - no other thread is running
        )
        wait_until(lambda: len(server.log) > 0)
        process.send_signal(signal.SIGTERM)
        done = finished(process)

    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "interrupted")


def test_a_signal_that_is_ignored_stays_ignored(project: Path) -> None:
    """`nohup evalwright run …` survives its terminal."""
    answers = Held(chat("4"))
    (project / "open").touch()
    with ModelServer(answers) as server:
        process = subprocess.Popen(
            ["nohup", *COMMAND, *RUN],
            cwd=project,
            env=environment(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        wait_until(lambda: len(server.log) == CONNECTIONS)
        process.send_signal(signal.SIGHUP)
        answers.open()
        report = report_of(finished(process))

    assert (report["status"], report["summary"]["completed"]) == ("finished", SAMPLES)


def test_a_terminal_that_is_closed_stops_the_run_and_keeps_what_lands(project: Path) -> None:
    answers = Held(chat("4"))
    (project / "open").touch()
    with ModelServer(answers) as server:
        pid, terminal = pty.fork()
        if not pid:
            os.chdir(project)
            os.execve(sys.executable, [*COMMAND, *RUN[:2], *RUN[3:]], environment(server))  # noqa: S606 - a terminal of its own
        wait_until(lambda: len(server.log) == CONNECTIONS)
        family = descendants(pid)
        os.close(terminal)
        answers.open()
        assert all(ends(each) for each in family - {pid})
        _, status = os.waitpid(pid, 0)
        (run,) = api.runs(project / ".evalwright" / "runs.db")
        resumed = report_of(evalwright(server, *RUN, cwd=project))

    assert os.waitstatus_to_exitcode(status) == 130
    assert run.status == "stopped"
    assert resumed["summary"]["reused"] == CONNECTIONS
    assert len(server.log) == SAMPLES


def test_a_signal_leaves_no_process_of_a_sandbox(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    process = subprocess.Popen(
        [*COMMAND, "exec", "endless.py", "--target", "True", "--timeout", "30"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    family: set[int] = set()

    def has_children() -> bool:
        with suppress(FileNotFoundError):  # one has ended since it was listed
            family.update(descendants(process.pid) - {process.pid})
        return len(family) > 1 or process.poll() is not None

    wait_until(has_children)
    process.send_signal(signal.SIGTERM)
    done = finished(process)

    assert done.returncode == 130, done.stderr
    assert family
    assert all(ends(pid) for pid in family)
