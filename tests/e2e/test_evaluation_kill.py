"""kill -9 of an evaluation, wherever it stands: it ends as if nobody had, and leaves nothing."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.e2e.commands import (
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
    of_rows,
    questions,
    run_file,
    scorer,
    task,
    write_project,
    write_rows,
)
from tests.living import descendants, ends, wait_until
from tests.servers.model_server import ModelServer, after, chat

SAMPLES = 120
CONNECTIONS = 8
RUN = ("run", "run.yaml", "--json", "--concurrency", str(CONNECTIONS))
ALL = """
from pathlib import Path
from time import sleep

def compute_scores(samples, solver_outputs):
    Path("scoring").touch()
    while Path("hold").exists():
        sleep(0.01)
    return [{"ok": len(samples) == len(solver_outputs) and "7" in one["question"]}
            for one in samples]
"""
EACH = "def compute_scores(sample, trace):\n    return {'ok': '1' in sample['question']}"
SECOND = (
    "def compute_scores(sample):\n    return {'ok': sample['scores']['judged']['values']['ok']}"
)
RULE = """\
  actions:
    - key: round
      action: exclude_from_metrics
      filter: {op: in, expression: "{{ sample.question }}", values: [q10, q20, q30]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task with every kind of scorer, and one that reads its results."""
    asks = task(
        SOLVER
        + '  scorers:\n    - {type: string_equals, ground_truth: "{{ sample.answer }}"}\n'
        + scorer(EACH)
        + scorer(ALL, kind="python_all_samples", key="together")
        + RULE
    )
    later = of_rows(SECOND).replace("key: ask", "key: later")
    write_rows(tmp_path, questions(SAMPLES))
    return write_project(
        tmp_path,
        run=run_file("{key: again, task_key: later}", ASKED),
        tasks__ask=asks,
        tasks__later=later.replace("{key: rows}", "{key: ask, source: task_result}"),
    )


def killed(
    folder: Path, server: ModelServer, when: Callable[[], bool], *, seconds: float = 0.0
) -> set[int]:
    """The command, until then and a little longer; the processes that it had."""
    process = start(server, *RUN, cwd=folder)
    wait_until(lambda: when() or process.poll() is not None)
    sleep(seconds)
    family = descendants(process.pid) if process.poll() is None else set()
    process.kill()
    finished(process)
    return family - {process.pid}


def copied(folder: Path, to: Path) -> Path:
    """The same project elsewhere."""
    for path in folder.rglob("*.*"):
        copy = to / path.relative_to(folder)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return to


def stored(folder: Path) -> int:
    """How many outcomes are kept; to look at them mends nothing."""
    with closing(sqlite3.connect(f"file:{folder}/.evalwright/runs.db?mode=ro", uri=True)) as file:
        ((count,),) = file.execute("SELECT count(*) FROM outcomes").fetchall()
        return int(count)


def same(report: Any) -> Any:
    """All that a kill must not change."""
    kept = ("samples", "completed", "failed", "excluded")
    summary = {name: report["summary"][name] for name in kept}
    return metrics_of(report) | summary | {name: report[name] for name in ("usage", "rules")}


def test_an_evaluation_that_is_killed_again_and_again_ends_as_if_it_was_not(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    calm = copied(folder, tmp_path_factory.mktemp("calm"))
    scoring, hold = folder / "scoring", folder / "hold"
    with ModelServer(after(0.01, chat("4"))) as server:
        undisturbed = report_of(evalwright(server, *RUN, cwd=calm))
        server.log.clear()
        family = killed(folder, server, lambda: True, seconds=random.Random(5).uniform(0.05, 0.4))
        family |= killed(folder, server, lambda: len(server.log) > SAMPLES // 4)
        kept = stored(folder)
        family |= killed(folder, server, lambda: len(server.log) > SAMPLES * 3 // 4)
        assert 0 < kept < stored(folder) < SAMPLES, "what was finished stays"
        hold.touch()
        family |= killed(folder, server, scoring.exists)
        assert stored(folder) == SAMPLES, "in the middle of what comes after a task's last sample"
        hold.unlink()
        scoring.unlink()
        family |= killed(folder, server, scoring.exists, seconds=0.03)
        report = report_of(evalwright(server, *RUN, cwd=folder))

    assert same(report) == same(undisturbed)
    assert report["status"] == "finished"
    assert (report["summary"]["samples"], report["summary"]["excluded"]) == (2 * SAMPLES, 3)
    asked = Counter(one.prompt for one in server.log)
    assert len(asked) == SAMPLES
    assert sum(asked.values()) <= SAMPLES + 2 * CONNECTIONS, "only what was in flight is paid twice"
    assert len(outcomes_in(folder)) == 2 * SAMPLES
    assert family, "there were processes of snippets"
    assert all(ends(pid) for pid in family)


def test_a_report_of_a_killed_evaluation_says_how_to_go_on(folder: Path) -> None:
    with ModelServer(after(0.01, chat("4"))) as server:
        killed(folder, server, lambda: len(server.log) > SAMPLES // 2)
        shown = evalwright(server, "report", "latest", cwd=folder)

    assert (shown.returncode, shown.stdout) == (2, "")
    assert "has no report yet" in shown.stderr
    assert "the command that started it resumes it" in shown.stderr
