"""Kill a run at random moments: measure what is lost or paid for twice, and check the result.

    .venv/bin/python bench/durability.py [--samples 2000] [--connections 100] [--kills 20]

Thresholds: after resuming, every sample is stored exactly once; a kill costs at most one request
per connection; the tokens in the report equal those that the server's own log lists for the replies
of the stored outcomes; the metrics equal those of an uninterrupted run. Exits with code 1 if a
threshold is missed. The server is a separate process on loopback and survives all kills.

A moment is a random point in the run's progress, plus up to 50 ms. If a run is already past that
point when it starts, it is killed during start-up.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from evalwright import api

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
SERVER = str(Path(__file__).with_name("model_server.py"))
LONGEST_START_S = 0.5
LONGEST_DELAY_S = 0.05
PATIENCE_S = 120.0
SPREAD = 0.5


class Size(NamedTuple):
    """Size of the experiment."""

    samples: int = 2000
    connections: int = 100
    kills: int = 20
    latency: float = 0.1
    seed: int = 0


class Kill(NamedTuple):
    """State after one kill."""

    arrived: int
    """Requests, at the server, since the beginning."""
    stored: int
    lost: int
    """Requests of this part of the run that left nothing in the store."""


class Reply(NamedTuple):
    """A delivered reply. No two have the same completion tokens."""

    prompt: str
    prompt_tokens: int
    completion_tokens: int


class Found(NamedTuple):
    """Results of the experiment."""

    size: Size
    kills: list[Kill]
    arrived: int
    delivered: list[Reply]
    stored: list[tuple[str, Reply]]
    """Each outcome: its sample, and the reply it was made from."""
    report: Any
    uninterrupted: Any


def main() -> int:
    parser = argparse.ArgumentParser()
    for name, value in Size()._asdict().items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    size = Size(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory() as folder:
        found = experiment(Path(folder), size)
    print(f"{size.samples} samples, {size.connections} connections, seed {size.seed}")
    print(f"{'kill':>4} {'requests':>9} {'stored':>7} {'lost':>5} {'allowed':>8}")
    for number, kill in enumerate(found.kills, 1):
        print(f"{number:4} {kill.arrived:9} {kill.stored:7} {kill.lost:5} {size.connections:8}")
    extra = found.arrived - size.samples
    print(f"{found.arrived} requests: {extra} extra, {extra / size.kills:.1f} per kill")
    missed = list(problems(found))
    print("\n".join(missed) or "every threshold is met")
    return int(bool(missed))


def experiment(folder: Path, size: Size) -> Found:
    """Run without kills, then with kills, each with its own server and store."""
    tasks = folder / "tasks.jsonl"
    write_tasks(tasks, size.samples)
    with server(size.latency, folder / "calm.log") as url:
        uninterrupted = finish(start(url, tasks, folder / "calm.db", size.connections))
    store = folder / "runs.db"
    with server(size.latency, folder / "server.log") as url:
        log = Log(folder / "server.log")
        kills = list(_kills(url, tasks, store, log, size))
        report = finish(start(url, tasks, store, size.connections))
    log.read().close()
    return Found(
        size=size,
        kills=kills,
        arrived=log.arrived,
        delivered=log.replies,
        stored=read_store(store),
        report=report,
        uninterrupted=uninterrupted,
    )


def problems(found: Found) -> Iterator[str]:
    """Return every threshold that was missed."""
    size = found.size
    names = sorted(sample for sample, _ in found.stored)
    if names != sorted(f"t{number}" for number in range(size.samples)):
        yield f"{len(names)} outcomes of {len(set(names))} samples are stored, not {size.samples}"
    for number, kill in enumerate(found.kills, 1):
        if kill.lost > size.connections:
            yield f"kill {number} cost {kill.lost} requests"
    if found.arrived > size.samples + size.kills * size.connections:
        yield f"{found.arrived} requests were sent"
    delivered = set(found.delivered)
    yield from (
        f"{sample}: {reply} was not delivered"
        for sample, reply in found.stored
        if reply not in delivered
    )
    (usage,) = found.report["usage"].values()
    for kind in ("prompt_tokens", "completion_tokens"):
        total = sum(getattr(reply, kind) for _, reply in found.stored)
        if usage[kind] != total:
            yield f"the report has {usage[kind]} `{kind}`, but stored outcomes have {total}"
    if usage["requests"] != size.samples:
        yield f"the report counts {usage['requests']} requests for {size.samples} samples"
    for part in ("status", "metrics", "leaderboard", "calibration", "failures", "notes"):
        if found.report[part] != found.uninterrupted[part]:
            yield f"`{part}` is {found.report[part]}, but {found.uninterrupted[part]} without kills"


def write_tasks(path: Path, count: int) -> None:
    """Write tasks, two in three of which are answered correctly."""
    with path.open("w") as file:
        for number in range(count):
            prompt = f"What is {number} + {number}? Reply with the number."
            target = str(zlib.crc32(prompt.encode()) % 100) if number % 3 else "another"
            record = {
                "task_id": f"t{number}",
                "category": "arithmetic",
                "prompt": prompt,
                "targets": [target],
                "metric_name": "exact_match",
                "post_process": "strip_whitespace",
            }
            file.write(json.dumps(record) + "\n")


@contextmanager
def server(latency: float, log: Path) -> Iterator[str]:
    """Start the server and yield its base URL."""
    process = subprocess.Popen(
        [
            *(sys.executable, SERVER, "--log", str(log)),
            *("--latency", str(latency), "--spread", str(SPREAD)),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin  # noqa: S101 - for the type checker
    assert process.stdout  # noqa: S101 - the same
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def start(url: str, tasks: Path, store: Path, connections: int) -> subprocess.Popen[str]:
    """Start the command as a user would."""
    environment = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "bench-key-bench-key"}
    command = [EVALWRIGHT, "run", str(tasks), "-m", "openai/bench", "--json"]
    command += ["--concurrency", str(connections), "--store", str(store)]
    return subprocess.Popen(
        command,
        env=environment,
        cwd=tasks.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Any:
    """Return the report of a run that is not interrupted."""
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said  # noqa: S101 - else nothing was measured
    return json.loads(said)


class Log:
    """The server's log so far; `read` reads new lines."""

    def __init__(self, path: Path) -> None:
        self._file = path.open()
        self._rest = ""
        self.arrived = 0
        self.replies: list[Reply] = []
        self.prompts: set[str] = set()
        """Those that a reply was delivered for."""

    def read(self) -> Self:
        """Read up to the last complete line."""
        *lines, self._rest = (self._rest + self._file.read()).split("\n")
        for line in lines:
            note = json.loads(line)
            self.arrived += "prompt" not in note
            if "prompt" in note:
                reply = Reply(note["prompt"], note["prompt_tokens"], note["completion_tokens"])
                self.replies.append(reply)
                self.prompts.add(reply.prompt)
        return self

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_store(store: Path) -> list[tuple[str, Reply]]:
    """Return each outcome of the newest run: its sample and its reply."""
    found = []
    for outcome in api.export(store=str(store)):
        assert outcome.trace, outcome.failure  # noqa: S101 - this server never fails
        used = outcome.trace.usage
        reply = Reply(outcome.trace.input, used.prompt_tokens, used.completion_tokens)
        found.append((outcome.sample_id, reply))
    return found


def _kills(url: str, tasks: Path, store: Path, log: Log, size: Size) -> Iterator[Kill]:
    chance = random.Random(size.seed)
    lost = 0
    for point in sorted(chance.randrange(size.samples) for _ in range(size.kills)):
        deadline = time.monotonic() + PATIENCE_S
        process = start(url, tasks, store, size.connections)
        if len(log.read().prompts) >= point:
            time.sleep(chance.uniform(0, LONGEST_START_S))
        while len(log.read().prompts) < point and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, LONGEST_DELAY_S))
        process.kill()
        process.communicate()
        time.sleep(2 * size.latency)  # until the server has received everything that was sent
        arrived = log.read().arrived
        stored = _stored(store)
        yield Kill(arrived, stored, arrived - stored - lost)
        lost = arrived - stored


def _stored(store: Path) -> int:
    """Count in a copy, because opening the store would repair what the next run must repair."""
    with tempfile.TemporaryDirectory() as folder:
        for file in store.parent.glob(f"{store.name}*"):
            if not file.name.endswith("-shm"):
                shutil.copy(file, folder)
        copy = Path(folder) / store.name
        if not copy.exists() or not copy.stat().st_size:
            return 0
        return len(read_store(copy))


if __name__ == "__main__":
    sys.exit(main())
