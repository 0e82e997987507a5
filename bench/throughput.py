"""Compare the throughput against an endpoint with a bare aiohttp loop in the same run.

    .venv/bin/python bench/throughput.py [--samples 5000] [--latency 0.1] [--rounds 3]

Thresholds: while samples are running, at least 90 % of the bare loop's requests per second at 100
connections, and at least 60 % at 500; the whole command, from start to printed report, takes at
most 1.5 × the loop's wall time plus 1 s. Exits with code 1 if a threshold is missed. The server is
a separate process on loopback. Rounds alternate and the fastest of each counts, because the machine
is shared.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
SERVER = str(Path(__file__).with_name("model_server.py"))
BARE_LOOP = str(Path(__file__).with_name("bare_loop.py"))
BARS = {100: 0.9, 500: 0.6}


class Spent(NamedTuple):
    """Seconds while requests were running, seconds from start to end, and CPU seconds."""

    asking: float
    whole: float
    cpu: float


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    n, held = told.samples, True
    print(f"{n} samples, {1000 * told.latency:.0f} ms latency, best of {told.rounds} rounds")
    print(
        f"{'connections':>11} {'bare/s':>8} {'ours/s':>8} {'share':>6} {'threshold':>9} "
        f"{'bare wall':>9} {'whole':>7} {'allowed':>7} {'CPU ms/sample: bare':>22} {'ours':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        tasks = Path(folder) / "tasks.jsonl"
        write_tasks(tasks, n)
        for connections, bar in BARS.items():
            floors, runs = [], []
            for _ in range(told.rounds):
                with server(told.latency) as url:
                    floors.append(bare(url, tasks, connections))
                with server(told.latency) as url:
                    runs.append(ours(url, tasks, connections, Path(folder)))
            floor, run = best(floors), best(runs)
            share, allowed = floor.asking / run.asking, 1.5 * floor.asking + 1
            held &= share >= bar and run.whole <= allowed
            print(
                f"{connections:11} {n / floor.asking:8.0f} {n / run.asking:8.0f} "
                f"{share:6.0%} {bar:9.0%} {floor.asking:9.2f} {run.whole:7.2f} {allowed:7.2f} "
                f"{1000 * floor.cpu / n:22.2f} {1000 * run.cpu / n:6.2f}"
            )
    return 0 if held else 1


def best(rounds: list[Spent]) -> Spent:
    return Spent(*map(min, zip(*rounds, strict=True)))


def write_tasks(path: Path, count: int) -> None:
    with path.open("w") as file:
        for number in range(count):
            record = {
                "task_id": f"t{number}",
                "category": "arithmetic",
                "prompt": f"What is {number} + {number}? Reply with the number.",
                "targets": [str(2 * number)],
                "metric_name": "exact_match",
                "post_process": "strip_whitespace",
            }
            file.write(json.dumps(record) + "\n")


@contextmanager
def server(latency: float) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, SERVER, "--latency", str(latency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None  # noqa: S101 - for the type checker
    assert process.stdout is not None  # noqa: S101 - the same
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def bare(url: str, tasks: Path, connections: int) -> Spent:
    before, started = children(), perf_counter()
    done = subprocess.run(
        [sys.executable, BARE_LOOP, url, str(tasks), str(connections)],
        check=True,
        capture_output=True,
        text=True,
    )
    return Spent(float(done.stdout), perf_counter() - started, children() - before)


def ours(url: str, tasks: Path, connections: int, folder: Path) -> Spent:
    environment = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench-key-bench-key"}
    command = [EVALWRIGHT, "run", str(tasks), "-m", "openai/bench", "--json", "--fresh"]
    command += ["--concurrency", str(connections), "--store", str(folder / f"{connections}.db")]
    before, started = children(), perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    whole = perf_counter() - started
    report = json.loads(done.stdout)
    if report["summary"]["failed"]:
        raise SystemExit(f"nothing was measured: {report['failures']}")
    return Spent(report["summary"]["wall_seconds"], whole, children() - before)


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
