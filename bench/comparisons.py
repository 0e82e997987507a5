"""Measure the CPU time of reports that compare many models. Exits with code 1 above a threshold.

    .venv/bin/python bench/comparisons.py [--samples]

A run with recorded answers is stored once. Then the process `evalwright report latest` is measured,
including its start-up: it reads the store, ranks the models and compares every pair.

    400 models × 50 samples, scores of many values (f1)    under 10 s
    400 models × 50 samples, scores of 0 and 1             under 10 s
    25 models × 12,000 samples (with --samples)            under 10 s
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
BAR_S = 10.0
WORDS = [f"word{number}" for number in range(12)]
PROBE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, len(done.stdout.splitlines()))
sys.exit(done.stderr.decode()[-500:] if done.returncode else 0)
"""


class Size(NamedTuple):
    """The size of a run, and its metric."""

    models: int
    samples: int
    metric: str


class Used(NamedTuple):
    """CPU seconds of a process, and the lines that it printed."""

    seconds: float
    lines: int


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", action="store_true", help="25 models × 12,000 samples, too")
    options = parser.parse_args()
    sizes = [Size(400, 50, "f1"), Size(400, 50, "exact_match")]
    sizes += [Size(25, 12_000, "f1")] if options.samples else []
    is_kept = True
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            used = measure_report(Path(folder), size)
        is_kept &= used.seconds < BAR_S
        print(
            f"{size.models} models × {size.samples:,} samples, {size.metric}: "
            f"{used.seconds:.1f} s of CPU time, threshold {BAR_S:g} s "
            f"({'held' if used.seconds < BAR_S else 'MISSED'}), {used.lines} lines of text"
        )
    return 0 if is_kept else 1


def measure_report(folder: Path, size: Size) -> Used:
    """Store a run of this size and measure its report."""
    models = write_files(folder, size)
    options = [option for model in models for option in ("-m", model)]
    store = ["--store", "runs.db"]
    run = [EVALWRIGHT, "run", "tasks.jsonl", *options, *store, "--json"]
    stored = subprocess.run(run, cwd=folder, check=False, capture_output=True, text=True)
    if stored.returncode:
        raise SystemExit(stored.stderr[-500:])
    done = subprocess.run(
        [sys.executable, "-c", PROBE, EVALWRIGHT, "report", "latest", *store],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, lines = done.stdout.split()
    return Used(float(seconds), int(lines))


def write_files(folder: Path, size: Size) -> list[str]:
    """Write the records, and one file of answers per model; return the names of the models."""
    rng = random.Random(0)
    ids = [f"task_{number:07d}" for number in range(size.samples)]
    with (folder / "tasks.jsonl").open("w") as file:
        for task_id in ids:
            record = {
                "task_id": task_id,
                "category": "arithmetic",
                "prompt": f"Say all words of {task_id}.",
                "targets": [" ".join(WORDS)],
                "metric_name": size.metric,
                "post_process": "strip_whitespace",
            }
            file.write(json.dumps(record) + "\n")
    for model in range(size.models):
        skill = 0.4 + 0.5 * model / size.models
        with (folder / f"m{model:03d}.jsonl").open("w") as file:
            for task_id in ids:
                said = [word for word in WORDS if rng.random() < skill]
                is_right = size.metric == "exact_match" and rng.random() < skill
                output = " ".join(WORDS if is_right else said)
                file.write(json.dumps({"id": task_id, "output": output}) + "\n")
    return [f"replay/m{model:03d}.jsonl" for model in range(size.models)]


if __name__ == "__main__":
    sys.exit(main())
