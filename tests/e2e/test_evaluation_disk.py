"""What lies under an evaluation fails or moves: a full disk, a locked store, files that change."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.e2e.commands import (
    COMMAND,
    Held,
    environment,
    evalwright,
    finished,
    metrics_of,
    outcomes_in,
    report_of,
    start,
)
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
from tests.living import PATIENCE_S, ends, wait_until
from tests.servers.model_server import ModelServer, chat

SAMPLES = 100
LITTLE = 2 * 2**20
RUN = ("run", "run.yaml", "--json", "--concurrency", "10")
STORE = Path(".evalwright") / "runs.db"
LIMITED = """
import os, resource, sys
size, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), resource.RLIM_INFINITY))
os.execv(command[0], command)
"""
EQUALS = '    - {type: string_equals, ground_truth: "{{ sample.answer }}"}\n'
NOISY = """
import os, random
from pathlib import Path

def compute_scores(samples, solver_outputs):
    Path("pid").write_text(str(os.getpid()))
    return [
        {"scores": {"ok": 1}, "metadata": {"noise": random.Random(place).randbytes(50_000).hex()}}
        for place, one in enumerate(samples)
    ]
"""


def write(folder: Path, *scorers: str, count: int = SAMPLES) -> None:
    write_rows(folder, questions(count))
    asks = task(f"{SOLVER}  scorers:\n{''.join(scorers)}")
    write_project(folder, run=run_file(ASKED), tasks__ask=asks)


def on_little_space(server: ModelServer, *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command, where no file may grow beyond a little."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(LITTLE), *COMMAND, *RUN],
        cwd=cwd,
        env=environment(server),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


def test_a_disk_that_fills_up_after_the_last_sample_costs_no_answer(tmp_path: Path) -> None:
    write(tmp_path, EQUALS, scorer(NOISY, kind="python_all_samples"))
    with ModelServer(chat("4")) as server:
        full = on_little_space(server, cwd=tmp_path)
        asked = len(server.log)
        pid = int((tmp_path / "pid").read_text())
        assert ends(pid), "no process is left behind"
        mended = report_of(evalwright(server, *RUN, cwd=tmp_path))
        calm = report_of(evalwright(server, *RUN, "--store", "other.db", cwd=tmp_path))

    assert asked == SAMPLES, "it was full after the last sample"
    assert full.returncode == 4
    assert full.stdout == ""
    error, hint = full.stderr.splitlines()
    assert error.startswith(
        f"evalwright: {tmp_path / STORE}: the disk could not be read or written"
    )
    assert "run again: finished samples are kept" in hint
    assert mended["summary"]["reused"] == SAMPLES
    assert metrics_of(mended) == metrics_of(calm)
    assert len(server.log) == 2 * SAMPLES, "and none of them for the mended run"


def test_a_store_that_another_keeps_locked_is_waited_for(tmp_path: Path) -> None:
    write(tmp_path, EQUALS, count=10)
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) == 10)
        with closing(sqlite3.connect(tmp_path / STORE, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            held.open()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=1)
            other.execute("ROLLBACK")
        report = report_of(finished(process))

    assert report["summary"]["completed"] == 10


def test_rows_that_were_changed_are_another_plan_that_says_so(tmp_path: Path) -> None:
    write(tmp_path, EQUALS, count=10)
    with ModelServer(chat("4")) as server:
        first = report_of(evalwright(server, *RUN, cwd=tmp_path))
        write_rows(tmp_path, [*questions(10), {"question": "one more", "answer": "4"}])
        again = evalwright(server, *RUN, cwd=tmp_path)

    assert again.stderr == (
        f"new run: since {first['run_id']}, ask has changed; unchanged results are reused\n"
    )
    report = report_of(again)
    assert report["run_id"] != first["run_id"]
    assert (report["summary"]["samples"], report["summary"]["reused"]) == (11, 10)
    assert len(server.log) == 11


@pytest.mark.parametrize("count", [20, 40, 60], ids=["fewer", "as many", "more"])
def test_rows_that_change_during_the_run_stop_it(tmp_path: Path, count: int) -> None:
    write(tmp_path, EQUALS, count=40)
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) == 10)
        other = [{"question": f"other {n}", "answer": "4"} for n in range(count)]
        path = write_rows(tmp_path, other)
        held.open()
        broken = finished(process)
        asked = {one.prompt for one in server.log}
        again = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert broken.returncode == 1, broken.stderr
    error, hint = broken.stderr.splitlines()
    assert (
        error == f"evalwright: {path.relative_to(tmp_path)}: the file changed while it was in use"
    )
    assert "run the command again" in hint
    assert not any(prompt.startswith("other") for prompt in asked)
    assert again["summary"]["completed"] == count
    assert {str(one.sample["question"])[:5] for one in outcomes_in(tmp_path)} == {"other"}


def test_a_task_that_is_edited_during_the_run_counts_from_the_next_on(tmp_path: Path) -> None:
    write(tmp_path, EQUALS, count=10)
    held = Held(chat("4"))
    with ModelServer(held) as server:
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) == 10)
        edited = task(f"{SOLVER}  scorers:\n" + EQUALS.replace("{{ sample.answer }}", "4"))
        write_project(tmp_path, run=run_file(ASKED), tasks__ask=edited)
        held.open()
        first = report_of(finished(process))
        again = report_of(evalwright(server, *RUN, cwd=tmp_path))

    assert [row["value"] for row in first["metrics"]] == [0.6]
    assert [row["value"] for row in again["metrics"]] == [1.0]
    assert len(server.log) == 10
    assert first["notes"] == [
        "tasks/ask.yaml changed during the run: the results are of its earlier content"
    ]
    assert again["notes"] == []


def test_a_run_of_old_rows_that_is_gone_on_with_reads_its_own_results(tmp_path: Path) -> None:
    """A newer run of the same tasks has other ones."""
    asks = task(SOLVER + "  scorers:\n" + EQUALS)
    later = (
        "key: later\ndisplay_name: Later\ndescription: What came of it?\ndefinition:\n"
        "  evaluated_entity_type: dataset\n  dataset: {key: ask, source: task_result}\n  scorers:\n"
        + scorer("def compute_scores(sample):\n    return {'ok': sample['sample']['old']}")
    )
    write_project(
        tmp_path,
        run=run_file(ASKED, "{key: again, task_key: later}"),
        tasks__ask=asks,
        tasks__later=later,
    )
    rows = {old: [one | {"old": old} for one in questions(20)] for old in (True, False)}
    held = Held(chat("4"))
    with ModelServer(held) as server:
        write_rows(tmp_path, rows[True])
        process = start(server, *RUN, cwd=tmp_path)
        wait_until(lambda: len(server.log) == 10)
        process.kill()
        finished(process)
        held.open()
        write_rows(tmp_path, rows[False])
        newer = report_of(evalwright(server, *RUN, cwd=tmp_path))
        write_rows(tmp_path, rows[True])
        older = report_of(evalwright(server, *RUN, cwd=tmp_path))

    found = [
        next(row["value"] for row in report["metrics"] if row["task"] == "again")
        for report in (newer, older)
    ]
    assert found == [0.0, 1.0]
    assert older["run_id"] != newer["run_id"]
