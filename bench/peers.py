"""Compare the cost of a run with Inspect AI and lm-eval: same records, server and connections.

    .venv/bin/python bench/peers.py [--samples 2000] [--rounds 3]

Thresholds: each of them uses at least 8 × as much CPU time as evalwright for the whole command,
including start-up, and at least 10 × as much per sample, beyond the CPU time of the bare aiohttp
loop.

    per sample  =  (CPU of the command − CPU of the same command on one record) / samples
                   − the same for the bare loop

Exits with code 1 if a threshold is missed. All use the chat completions API, store every sample,
and score by exact match; a run counts only if the server received one request per sample and the
score is the expected one. Rounds alternate; the lowest CPU time of each harness counts.

The other harnesses are installed into bench/.peers/inspect-ai and bench/.peers/lm-eval on the first
run (half a gigabyte each; neither needs torch for this). A harness that cannot be installed or run
is reported as NOT CHECKED, with the reason, and does not affect the others.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
WHOLE_BAR, SAMPLE_BAR = 8.0, 10.0
CONNECTIONS = 100
PATIENCE_S = 900

INSPECT_TASK = """\
from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import exact
from inspect_ai.solver import generate


@task
def bench(records):
    fields = FieldSpec(input="prompt", target="targets", id="task_id")
    return Task(dataset=json_dataset(records, fields), solver=generate(), scorer=exact())
"""
LM_EVAL_TASK = """\
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {records}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{targets[0]}}}}"
generation_kwargs: {{until: []}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""
PROBE = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
done = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=float(sys.argv[1]))
wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
sys.stderr.write(done.stderr[-5000:])
print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak, "said": done.stdout}))
sys.exit(done.returncode)
"""
"""A process of its own, because a child inherits the peak of a large parent."""


class Trouble(Exception):
    """Why a harness was not measured."""


class Work(NamedTuple):
    """The records to run, and the server."""

    folder: Path
    records: Path
    url: str


class Harness(NamedTuple):
    """How to run all records, and how to read the score."""

    name: str
    package: str
    command: Callable[[Work], list[str]]
    score: Callable[[str], float] | None
    also: tuple[str, ...] = ()
    """Packages that are needed beside it."""


class Used(NamedTuple):
    """Resources that a process and its children used: CPU and wall seconds, and peak MB."""

    cpu: float
    wall: float
    peak: float


class Cost(NamedTuple):
    """Resources used for one record, and for all records."""

    one: Used
    all: Used

    def a_sample(self, samples: int) -> float:
        """Return CPU milliseconds per sample, without start-up."""
        return 1000 * (self.all.cpu - self.one.cpu) / samples


def bare_loop(work: Work) -> list[str]:
    script = str(HERE / "bare_loop.py")
    return [sys.executable, script, work.url, str(work.records), str(CONNECTIONS)]


def evalwright(work: Work) -> list[str]:
    command = [EVALWRIGHT, "run", str(work.records), "-m", "openai/bench", "--json", "--fresh"]
    return [*command, "--concurrency", str(CONNECTIONS), "--store", str(work.folder / "runs.db")]


def inspect_ai(work: Work) -> list[str]:
    (work.folder / "inspect_task.py").write_text(INSPECT_TASK)
    command = [_installed("inspect-ai", "inspect"), "eval", "inspect_task.py"]
    command += ["-T", f"records={work.records}", "--model", "openai/bench"]
    command += ["-M", "responses_api=false", "--max-connections", str(CONNECTIONS)]
    return [*command, "--display", "plain", "--log-dir", str(work.folder / "inspect")]


def lm_eval(work: Work) -> list[str]:
    name = f"bench_{work.records.stem}"
    tasks = work.folder / "lm_eval_tasks"
    tasks.mkdir(exist_ok=True)
    text = LM_EVAL_TASK.format(name=name, records=json.dumps(str(work.records)))
    (tasks / f"{name}.yaml").write_text(text)
    told = f"model=bench,base_url={work.url}/chat/completions,num_concurrent={CONNECTIONS}"
    command = [_installed("lm-eval", "lm_eval"), "--model", "local-chat-completions"]
    command += ["--model_args", told, "--apply_chat_template", "--tasks", name]
    command += ["--include_path", str(tasks), "--log_samples"]
    return [*command, "--output_path", str(work.folder / "lm_eval")]


def _installed(package: str, name: str) -> str:
    return str(HERE / ".peers" / package / "bin" / name)


def _our_score(said: str) -> float:
    return float(json.loads(said)["leaderboard"][0]["mean"])


def _inspect_score(said: str) -> float:
    return _number(r"^mean +([\d.]+)", said)


def _lm_eval_score(said: str) -> float:
    return _number(r"exact_match *\|[^|]*\| *([\d.]+) *\|", said)


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise Trouble(f"no score in what it printed: {text[-200:]!r}")
    return float(found[1])


BARE = Harness("bare aiohttp loop", "aiohttp", bare_loop, None)
OURS = Harness("evalwright", "evalwright", evalwright, _our_score)
PEERS = (
    Harness("Inspect AI", "inspect-ai", inspect_ai, _inspect_score, also=("openai",)),
    Harness("lm-eval", "lm-eval[api]", lm_eval, _lm_eval_score),
)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    versions: dict[Harness, str] = {}
    troubles: dict[str, str] = {}
    for harness in (BARE, OURS, *PEERS):
        try:
            versions[harness] = prepared(harness)
        except Trouble as trouble:
            troubles[harness.name] = str(trouble)
    with tempfile.TemporaryDirectory() as folder:
        costs = measure(Path(folder), list(versions), told, troubles)
    print(
        f"{told.samples} records, {1000 * told.latency:.0f} ms latency, "
        f"{CONNECTIONS} connections, best of {told.rounds} rounds"
    )
    for name in (BARE.name, OURS.name):
        if name in troubles:
            raise SystemExit(f"nothing was measured: {name}: {troubles[name]}")
    table(costs, versions, told.samples)
    checked = list(bars(costs, told.samples))
    for held, text in checked:
        print(f"  {'held  ' if held else 'MISSED'}  {text}")
    for name, reason in troubles.items():
        print(f"  NOT CHECKED  {name}: {reason}")
    return 0 if all(held for held, _ in checked) else 1


def prepared(harness: Harness) -> str:
    """Return the version of a harness; install it first if needed."""
    package = harness.package.partition("[")[0]
    python = Path(sys.executable)
    if harness in PEERS:
        home = HERE / ".peers" / package
        python, ready = home / "bin" / "python", home / ".ready"
        if not ready.exists():
            print(f"installing {harness.name} (once)", file=sys.stderr)
            install = [str(python), "-m", "pip", "install", "--quiet", harness.package]
            _must([sys.executable, "-m", "venv", str(home)])
            _must([*install, *harness.also])
            ready.touch()
    ask = f"from importlib.metadata import version; print(version('{package}'))"
    return _must([str(python), "-c", ask]).strip()


def _must(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Trouble(_last_line(done.stderr or done.stdout) or f"exit {done.returncode}")
    return done.stdout


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def measure(
    folder: Path, harnesses: list[Harness], told: argparse.Namespace, troubles: dict[str, str]
) -> dict[Harness, Cost]:
    """Measure in alternating rounds; a harness that fails once is dropped."""
    one, every = write_records(folder, 1), write_records(folder, told.samples)
    costs: dict[Harness, Cost] = {}
    for _ in range(told.rounds):
        for harness in harnesses:
            if harness.name in troubles:
                continue
            try:
                cost = Cost(
                    run(harness, folder, one, told.latency),
                    run(harness, folder, every, told.latency),
                )
            except Trouble as trouble:
                troubles[harness.name] = str(trouble)
                costs.pop(harness, None)
            else:
                costs[harness] = best(costs.get(harness, cost), cost)
    return costs


def best(before: Cost, now: Cost) -> Cost:
    return Cost(*(_best(*pair) for pair in zip(before, now, strict=True)))


def _best(a: Used, b: Used) -> Used:
    return Used(min(a.cpu, b.cpu), min(a.wall, b.wall), max(a.peak, b.peak))


def write_records(folder: Path, count: int) -> Path:
    """Write records; every other target is the server's answer, so the mean is known."""
    path = folder / f"{count}.jsonl"
    with path.open("w") as file:
        for number in range(count):
            prompt = f"What is {number} + {number}? Reply with the number."
            answer = str(zlib.crc32(prompt.encode()) % 100)
            record = {
                "task_id": f"t{number}",
                "category": "arithmetic",
                "prompt": prompt,
                "targets": ["none" if number % 2 else answer],
                "metric_name": "exact_match",
                "post_process": "strip_whitespace",
            }
            file.write(json.dumps(record) + "\n")
    return path


def run(harness: Harness, folder: Path, records: Path, latency: float) -> Used:
    """Run one process with its own server, and check what it did."""
    count = int(records.stem)
    with server(latency) as running:
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": running.url,
            "OPENAI_API_KEY": "bench-key-bench-key",
            "HF_HOME": str(folder / "hf"),
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
        }
        command = harness.command(Work(folder, records, running.url))
        done = subprocess.run(
            [sys.executable, "-c", PROBE, str(PATIENCE_S), *command],
            check=False,
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
        )
    if done.returncode:
        raise Trouble(_last_line(done.stderr) or f"exit {done.returncode}")
    found = json.loads(done.stdout)
    if running.requests != count:
        raise Trouble(f"it made {running.requests} requests for {count} records")
    right = (count + 1) // 2 / count
    score = harness.score(found["said"]) if harness.score else right
    if abs(score - right) > 0.001:
        raise Trouble(f"it found a score of {score}, and {right} is right")
    return Used(found["cpu"], found["wall"], found["peak"])


@contextmanager
def server(latency: float) -> Iterator["Server"]:
    process = subprocess.Popen(
        [sys.executable, str(HERE / "model_server.py"), "--latency", str(latency)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None  # noqa: S101 - for the type checker
    assert process.stdout is not None  # noqa: S101 - the same
    running = Server(f"http://127.0.0.1:{process.stdout.readline().strip()}/v1")
    try:
        yield running
    finally:
        process.stdin.close()
        running.requests = json.loads(process.stdout.read())["requests"]
        process.stdout.close()
        process.wait()


class Server:
    """The server's address and, after it has ended, its request count."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests = 0


def table(costs: dict[Harness, Cost], versions: dict[Harness, str], samples: int) -> None:
    ours, floor = costs.get(OURS), costs[BARE].a_sample(samples)
    print(
        f"{'':28} {'CPU s':>7} {'×':>6} {'of one':>7} {'ms/sample':>12} {'beyond bare':>12} "
        f"{'×':>6} {'wall s':>7} {'peak MB':>8}"
    )
    for harness, cost in costs.items():
        each = cost.a_sample(samples)
        whole_ratio = sample_ratio = beyond = ""
        if harness is not BARE:
            beyond = f"{each - floor:.3f}"
        if harness in PEERS and ours:
            whole_ratio = f"{cost.all.cpu / ours.all.cpu:.1f}"
            sample_ratio = f"{(each - floor) / (ours.a_sample(samples) - floor):.1f}"
        print(
            f"{f'{harness.name} {versions[harness]}':28} {cost.all.cpu:7.2f} {whole_ratio:>6} "
            f"{cost.one.cpu:7.2f} {each:12.3f} {beyond:>12} {sample_ratio:>6} "
            f"{cost.all.wall:7.1f} {cost.all.peak:8.0f}"
        )
    print()


def bars(costs: dict[Harness, Cost], samples: int) -> Iterator[tuple[bool, str]]:
    """Return each threshold that can be checked: whether it was met, and its description."""
    ours, floor = costs[OURS], costs[BARE].a_sample(samples)
    beyond = ours.a_sample(samples) - floor
    for peer in PEERS:
        if peer in costs:
            whole = costs[peer].all.cpu / ours.all.cpu
            text = f"{peer.name} uses {whole:.1f} × our CPU time, threshold {WHOLE_BAR:.0f} ×"
            yield whole >= WHOLE_BAR, text
            each = costs[peer].a_sample(samples) - floor
            text = f"{peer.name} adds {each:.2f} ms per sample, evalwright {beyond:.2f} ms"
            yield each >= SAMPLE_BAR * beyond, f"{text}, threshold {SAMPLE_BAR:.0f} ×"


if __name__ == "__main__":
    sys.exit(main())
