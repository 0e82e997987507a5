"""Two processes with the same plan share one run: each sample is requested once."""

import asyncio
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp.web import StreamResponse
from tests.e2e.commands import (
    finished,
    metrics_of,
    outcomes_in,
    record,
    report_of,
    start,
    write_tasks,
)
from tests.e2e.projects import (
    ASKED,
    SOLVER,
    run_file,
    scorer,
    task,
    write_project,
    write_rows,
)
from tests.living import wait_until
from tests.servers.model_server import Asked, ModelServer, chat

from evalwright import api

EQUALS = '    - {type: string_equals, ground_truth: "4"}\n'
SAMPLES, CONNECTIONS = 60, 3
RUN = ("run", "tasks.jsonl", "-m", "openai/x", "--json", "--concurrency", str(CONNECTIONS))


class Gate:
    """A behaviour that answers some requests, and the rest when it is opened."""

    def __init__(self, free: int) -> None:
        self._free = free
        self._is_open = False
        self.prompts: Counter[str] = Counter()
        self.waiting = 0

    async def __call__(self, asked: Asked) -> StreamResponse:
        self.prompts[asked.prompt] += 1
        if self.prompts.total() > self._free:
            self.waiting += 1
            try:
                while not self._is_open:  # noqa: ASYNC110 - opened by another thread
                    await asyncio.sleep(0.005)
            finally:
                self.waiting -= 1
        return await chat("4")(asked)

    def open(self) -> None:
        self._is_open = True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_tasks(tmp_path, (record(f"t{number}") for number in range(SAMPLES)))
    return tmp_path


def start_two(
    server: ModelServer,
    gate: Gate,
    folder: Path,
    *options: str,
    command: Sequence[str] = RUN,
) -> tuple[subprocess.Popen[str], subprocess.Popen[str]]:
    """Start a second process when the first waits for answers; return when both wait."""
    first = start(server, *command, *options, cwd=folder)
    wait_until(lambda: gate.waiting == CONNECTIONS or first.poll() is not None)
    second = start(server, *command, *options, cwd=folder)
    wait_until(lambda: gate.waiting == 2 * CONNECTIONS or second.poll() is not None)
    return first, second


def test_two_processes_share_a_run_and_print_the_same_report(folder: Path) -> None:
    gate = Gate(free=10)
    with ModelServer(gate) as server:
        first, second = start_two(server, gate, folder)
        gate.open()
        results = [finished(first), finished(second)]

    assert gate.prompts == {f"t{number}": 1 for number in range(SAMPLES)}
    reports = [report_of(result) for result in results]
    assert metrics_of(reports[0]) == metrics_of(reports[1])
    summaries = [{**report["summary"], "wall_seconds": 0.0} for report in reports]
    assert summaries[0] == summaries[1]
    assert reports[0]["summary"]["completed"] == SAMPLES
    (run,) = api.runs(str(folder / ".evalwright" / "runs.db"))
    assert run.status == "finished"
    for result in results:
        assert f"sharing run {run.id} with another process" in result.stderr
    assert len(outcomes_in(folder)) == SAMPLES


def test_processes_share_tasks_whose_rows_are_results_of_others(tmp_path: Path) -> None:
    """The later task asks about each answer of the first, and the last one counts both."""
    later = SOLVER.replace("{key: rows}", "{key: ask, source: task_result}")
    later = later.replace("{{ sample.question }}", "about {{ sample.sample.question }}")
    counted = "  evaluated_entity_type: dataset\n  dataset: {key: again, source: task_result}\n"
    snippet = "def compute_scores(sample):\n    return {'ok': len(sample['sample']['sample'])}"
    write_project(
        tmp_path,
        run=run_file(
            ASKED,
            "{key: again, task_key: again, model_key: openai$x}",
            "{key: counted, task_key: counted}",
        ),
        tasks__ask=task(f"{SOLVER}  scorers:\n{EQUALS}"),
        tasks__again=task(f"{later}  scorers:\n{EQUALS}", "again"),
        tasks__counted=task(f"{counted}  scorers:\n{scorer(snippet)}", "counted"),
    )
    write_rows(tmp_path, [{"question": f"t{number}"} for number in range(SAMPLES)])
    gate = Gate(free=10)
    with ModelServer(gate) as server:
        command = ("run", "run.yaml", "--json", "--concurrency", str(CONNECTIONS))
        processes = start_two(server, gate, tmp_path, command=command)
        gate.open()
        results = [finished(process) for process in processes]

    asked = [f"{about}t{number}" for about in ("", "about ") for number in range(SAMPLES)]
    assert gate.prompts == dict.fromkeys(asked, 1)
    reports = [report_of(result) for result in results]
    assert metrics_of(reports[0]) == metrics_of(reports[1])
    assert {row["task"]: row["n"] for row in reports[0]["metrics"]} == dict.fromkeys(
        ("ask", "again", "counted"), SAMPLES
    )
    (run,) = api.runs(str(tmp_path / ".evalwright" / "runs.db"))
    assert run.status == "finished"
    assert len(outcomes_in(tmp_path)) == 3 * SAMPLES


def test_a_killed_process_costs_its_requests_in_flight_and_loses_nothing(folder: Path) -> None:
    gate = Gate(free=10)
    with ModelServer(gate) as server:
        first, second = start_two(server, gate, folder)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        gate.open()
        result = finished(second)

    assert report_of(result)["summary"]["completed"] == SAMPLES
    assert gate.prompts.total() <= SAMPLES + CONNECTIONS
    assert set(gate.prompts) == {f"t{number}" for number in range(SAMPLES)}
    assert max(gate.prompts.values()) <= 2
    assert len(outcomes_in(folder)) == SAMPLES


@pytest.mark.slow
def test_a_process_that_is_stopped_leaves_its_samples_to_the_other(folder: Path) -> None:
    gate = Gate(free=10)
    with ModelServer(gate) as server:
        first, second = start_two(server, gate, folder)
        first.send_signal(signal.SIGINT)
        stderr = first.stderr
        assert stderr
        wait_until(lambda: "stopping" in stderr.readline())
        gate.open()
        results = finished(first), finished(second)

    assert results[0].returncode == 130
    assert report_of(results[1])["summary"]["completed"] == SAMPLES
    assert gate.prompts == {f"t{number}": 1 for number in range(SAMPLES)}
    (run,) = api.runs(str(folder / ".evalwright" / "runs.db"))
    assert run.status == "finished"


def test_processes_that_start_at_the_same_time_begin_one_run(folder: Path) -> None:
    gate = Gate(free=0)
    with ModelServer(gate) as server:
        processes = [start(server, *RUN, cwd=folder) for _ in range(2)]
        wait_until(lambda: gate.waiting == 2 * CONNECTIONS)
        gate.open()
        results = [finished(process) for process in processes]

    assert gate.prompts == {f"t{number}": 1 for number in range(SAMPLES)}
    assert len({str(metrics_of(report_of(result))) for result in results}) == 1
    assert len(api.runs(str(folder / ".evalwright" / "runs.db"))) == 1
