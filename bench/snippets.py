"""Measure the cost of calling a snippet: CPU time of the engine's process and its children.

    python bench/snippets.py [CALLS]

The threshold is 40 µs per call with a small sample, if at least a hundred calls are made at once.
`run_solver` calls a model once, which the threshold does not cover.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.sources import Source

BAR_US = 40.0
TEXT = """
def compute_scores(sample, solver_output):
    return {"is_correct": solver_output.output.choices[0].message.content == sample["target"]}

def on_rows(sample):
    return {"is_correct": sample["target"] == "4"}

async def awaited(sample):
    return {"is_correct": sample["target"] == "4"}

async def run_solver(sample, model, trace):
    trace.append_user_message(sample["question"])
    trace.add_model_response(await model.predict(trace.items))
    return trace
"""
SAMPLE = {"id": 7, "question": "What is two and two?", "target": "4", "category": "arithmetic"}
RAW = {"choices": [{"message": {"role": "assistant", "content": "4"}}]}
TRACE = {
    "items": [
        {"type": "message", "role": "user", "content": "What is two and two?"},
        {"type": "message", "role": "assistant", "content": "4"},
    ],
    "raw_outputs": [RAW],
    "direct_ios": [],
}
KINDS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "on_rows": ([SAMPLE], {}),
    "compute_scores": ([SAMPLE, TRACE], {"objects": ("", "SolverTrace")}),
    "awaited": ([SAMPLE], {}),
    "run_solver": ([SAMPLE, None, {}], {"objects": ("", "Model", "SolverTrace")}),
}


async def predict(_question: Any, _kwargs: dict[str, Any]) -> dict[str, Any]:
    return RAW


def cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


async def work(name: str, calls: int, at_once: int) -> None:
    arguments, more = KINDS[name]
    if name == "run_solver":
        more = {**more, "predict": predict}
    pool = SnippetPool({"x": Source(TEXT, "bench.py")}, log=print)
    left = iter(range(calls))

    async def one_after_another() -> None:
        for _ in left:
            await pool.call(f"x:{name}", arguments, **more)

    await asyncio.gather(*(one_after_another() for _ in range(at_once)))
    await pool.close()


def measured(run: Callable[[], None]) -> tuple[float, float]:
    cpu, wall = cpu_s(), time.perf_counter()
    run()
    return cpu_s() - cpu, time.perf_counter() - wall


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{'function':16} {'at once':>8} {'CPU/call':>10} {'wall/call':>10}   start")
    for name in KINDS:
        start, _ = measured(lambda name=name: asyncio.run(work(name, 1, 1)))  # type: ignore[misc]
        for at_once in (1, 100, 500):
            few = calls if at_once > 1 else calls // 20
            cpu, wall = measured(
                lambda name=name, n=few, at_once=at_once: asyncio.run(work(name, n, at_once))  # type: ignore[misc]
            )
            each, waited = (cpu - start) / few * 1e6, wall / few * 1e6
            barred = at_once > 1 and name != "run_solver"
            over = "  over the threshold" if each > BAR_US and barred else ""
            print(f"{name:16} {at_once:8} {each:7.1f} µs {waited:7.1f} µs  {start:5.2f} s{over}")


if __name__ == "__main__":
    main()
