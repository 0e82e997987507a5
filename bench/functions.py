"""Measure what evalwright adds to a model that is a Python function, against a bare loop.

    .venv/bin/python bench/functions.py [--samples 5000] [--rounds 3]

The bare loop formats the prompt, calls the function and scores its answer; it stores nothing.
evalwright does the same, and stores every outcome, resumes and computes intervals. Threshold: at
most 0.2 ms of CPU time per sample more than the bare loop, for an async function and for one that
runs in threads. Exits with code 1 if a
threshold is missed. Rounds alternate and the fastest of each counts, because the machine is shared.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import process_time

import evalwright as ew

BAR_MS = 0.2
PROMPT = "What is {n} + {n}? Reply with the number."
Row = dict[str, object]
Model = Callable[[str], str] | Callable[[str], Awaitable[str]]


async def answer(prompt: str) -> str:
    return str(2 * int(prompt.split()[2]))


def answer_in_thread(prompt: str) -> str:
    return str(2 * int(prompt.split()[2]))


@ew.scorer
def is_sum(sample: Row, output: str) -> bool:
    return output == sample["sum"]


def make_rows(count: int) -> list[Row]:
    return [{"n": n, "sum": str(2 * n)} for n in range(count)]


def time_loop(model: Model, rows: list[Row]) -> float:
    async def ask_all() -> int:
        right = 0
        for row in rows:
            answered = model(PROMPT.format(**row))
            output = answered if isinstance(answered, str) else await answered
            right += output == row["sum"]
        return right

    started = process_time()
    right = asyncio.run(ask_all())
    spent = process_time() - started
    if right != len(rows):
        raise SystemExit("nothing was measured: the loop has wrong answers")
    return spent


def time_run(model: Model, rows: list[Row], folder: Path) -> float:
    task = ew.Task("sums", rows, prompt=PROMPT, scorers=[is_sum])
    started = process_time()
    report = ew.run(task, model, store=folder / "runs.db", fresh=True, progress=False)
    spent = process_time() - started
    if report["sums"].mean != 1:
        raise SystemExit(f"nothing was measured: {report.failures}")
    return spent


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows, holds = make_rows(options.samples), True
    print(f"{options.samples} samples, best of {options.rounds} rounds, CPU ms per sample")
    print(f"{'function':>16} {'bare loop':>10} {'evalwright':>10} {'added':>8} {'threshold':>9}")
    models: dict[str, Model] = {"async": answer, "in a thread": answer_in_thread}
    for name, model in models.items():
        loops, runs = [], []
        for number in range(options.rounds + 1):
            with tempfile.TemporaryDirectory() as folder:
                loop, run = time_loop(model, rows), time_run(model, rows, Path(folder))
            if number:  # the first round imports and compiles
                loops.append(loop)
                runs.append(run)
        bare, ours = (1000 * min(times) / len(rows) for times in (loops, runs))
        holds &= ours - bare <= BAR_MS
        print(f"{name:>16} {bare:10.4f} {ours:10.4f} {ours - bare:8.4f} {BAR_MS:9.1f}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
