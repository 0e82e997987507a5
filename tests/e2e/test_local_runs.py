"""A run of a real model that is killed ends as one that nobody killed, to the last digit."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import COMMAND, metrics_of, outcomes_in, record, write_tasks
from tests.living import PATIENCE_S
from tests.local_model import BESIDE, MODEL, needs_local_model

from evalwright.errors import EvalwrightError

pytestmark = needs_local_model

PARAMETERS = ("max_tokens=6", "context=256", "slots=2")
COUNT = 10
FEW = ("--limit", "2", "-p", "max_tokens=3")
"""Two threads wait for each other in a loop, which is slow where other processes are busy."""


def command(*more: str) -> list[str]:
    told = [part for one in PARAMETERS for part in ("-p", one)]
    return [*COMMAND, "run", "tasks.jsonl", "-m", MODEL, *told, "--json", *more]


def environment() -> dict[str, str]:
    ours = {name: one for name, one in os.environ.items() if name != "EVALWRIGHT_STORE"}
    return {**ours, **BESIDE}


def ran(folder: Path, *more: str) -> Any:
    done = subprocess.run(
        command(*more),
        cwd=folder,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def landed(folder: Path) -> int:
    try:
        return len(outcomes_in(folder))
    except EvalwrightError:  # no store yet, or no run in it
        return 0


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = [record(f"Name{' one more' * number} colour.") for number in range(COUNT)]
    named = [{**one, "task_id": f"t{number}"} for number, one in enumerate(made)]
    for name in ("killed", "whole"):
        (tmp_path / name).mkdir()
        write_tasks(tmp_path / name, named)
    return tmp_path / "killed", tmp_path / "whole"


def test_a_killed_run_loses_nothing_and_ends_as_one_that_was_not(
    folders: tuple[Path, Path],
) -> None:
    killed, whole = folders
    with subprocess.Popen(
        command(), cwd=killed, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        until = time.monotonic() + PATIENCE_S
        while landed(killed) < 3 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        hosts = children(process.pid)
        process.send_signal(signal.SIGKILL)
    stored = landed(killed)
    assert 3 <= stored < COUNT, "killed in the middle"
    assert hosts, "the model was at work"

    resumed, straight = ran(killed), ran(whole)

    assert resumed["summary"]["reused"] == stored
    assert resumed["summary"]["completed"] == COUNT
    assert metrics_of(resumed) == metrics_of(straight)
    for part in ("usage", "perplexity", "pairwise", "notes"):
        assert resumed[part] == straight[part]
    assert said(killed) == said(whole)
    assert not any(Path(f"/proc/{one}/cmdline").exists() for one in hosts), "it went with the run"


def said(folder: Path) -> list[tuple[str, str, float | None]]:
    return [
        (one.sample_id, one.trace.output, one.trace.nll)
        for one in outcomes_in(folder)
        if one.trace is not None
    ]


def test_threads_and_slots_change_nothing(folders: tuple[Path, Path]) -> None:
    one, other = folders

    once = ran(one, *FEW, "-p", "threads=1", "-p", "slots=1")
    again = ran(other, *FEW, "-p", "threads=2", "-p", "slots=4")

    assert metrics_of(once) == metrics_of(again)
    assert once["usage"] == again["usage"]
    assert said(one) == said(other)


def test_an_answer_of_the_same_question_is_taken_from_the_cache(
    folders: tuple[Path, Path],
) -> None:
    folder, _ = folders

    first = ran(folder, "--limit", "2", "--cache")
    second = ran(folder, "--limit", "2", "--cache", "--fresh")

    assert first["usage"][MODEL]["requests"] == 2
    assert second["usage"][MODEL]["requests"] == 0
    assert metrics_of(first) == metrics_of(second)
