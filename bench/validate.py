"""Compare `evalwright validate` on a million lines with only reading and decoding them.

    .venv/bin/python bench/validate.py [--lines 1000000]

Thresholds, as ratios of CPU time in the same run: 4.0 × if all lines are valid and 40 × if every
line is invalid, with peak memory of 300 MB. Exits with code 1 if a threshold is missed. Whole
processes are measured, including start-up. The baseline decodes into the same struct as the
validator.

The script also measures jsonschema with the published JSON Schema on a part of the same lines. It
cannot detect a duplicate key or id. lm-eval is not included, because it does not check records: it
reads any JSONL rows.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

from evalwright import api

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
GOOD_BAR, BAD_BAR, MEMORY_BAR_MB = 4.0, 40.0, 300.0
ROUNDS = 3
SCHEMA_LINES = 5_000
FLOOR = """
import sys
import msgspec
from evalwright.types import TaskSpec
decode = msgspec.json.Decoder(TaskSpec).decode
with open(sys.argv[1], "rb") as file:
    for line in file:
        decode(line)
"""
KINDS = [
    ("arithmetic", "exact_match", "strip_whitespace", "95"),
    ("mcq", "exact_match", "extract_letter", "B"),
    ("classification", "accuracy", "lower", "negative"),
    ("summary", "rouge_l", "none", "The bridge is closed for three weeks."),
    ("code_exec", "code_exec", "extract_code_block", "clamp(5, 0, 3) == 3"),
]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1_000_000)
    count = parser.parse_args().lines
    with tempfile.TemporaryDirectory() as folder:
        good, bad = Path(folder) / "good.jsonl", Path(folder) / "bad.jsonl"
        write(good, records(count))
        write(bad, map(broken, records(count), range(count)))
        print(f"{count:,} lines, {good.stat().st_size / count:.0f} bytes each")
        rows: dict[str, tuple[float, float]] = {}
        for _ in range(ROUNDS):
            for name, command in {
                "read and decode": [sys.executable, "-c", FLOOR, str(good)],
                "validate, all good": [EVALWRIGHT, "validate", str(good)],
                "validate, all bad": [EVALWRIGHT, "validate", str(bad)],
            }.items():
                seconds, peak = measured(command)
                fastest, highest = rows.get(name, (seconds, peak))
                rows[name] = min(seconds, fastest), max(peak, highest)
        schema = schema_seconds_a_line(good) * count
    return table(rows, schema)


def table(rows: dict[str, tuple[float, float]], schema: float) -> int:
    floor = rows["read and decode"][0]
    bars = {"validate, all good": GOOD_BAR, "validate, all bad": BAD_BAR}
    missed = False
    print(f"{'case':24} {'CPU s':>8} {'×':>7} {'threshold':>9} {'peak MB':>8}")
    for name, (seconds, peak) in rows.items():
        ratio, bar = seconds / floor, bars.get(name)
        missed |= bar is not None and (ratio > bar or peak > MEMORY_BAR_MB)
        print(f"{name:24} {seconds:8.2f} {ratio:7.1f} {bar or '':>9} {peak:8.0f}")
    print(f"{'jsonschema (scaled)':24} {schema:8.2f} {schema / floor:7.1f}")
    return int(missed)


def records(count: int) -> Iterator[dict[str, Any]]:
    randomness = random.Random(1)
    for number in range(count):
        category, metric, post_process, target = KINDS[number % len(KINDS)]
        a, b = randomness.randint(10, 99), randomness.randint(10, 99)
        yield {
            "task_id": f"task_{number:07d}",
            "category": category,
            "prompt": f"Read this and answer in a few words. Question: what is {a} + {b}?\nAnswer:",
            "targets": [target],
            "metric_name": metric,
            "post_process": post_process,
            "few_shot_examples": [{"prompt": "Question: 2 + 2\nAnswer:", "completion": "4"}],
            "metadata": {"difficulty": "easy", "source": "made for a benchmark"},
        }


def broken(record: dict[str, Any], number: int) -> dict[str, Any] | str:
    """Return a line with one of nine mistakes, in turn."""
    kind = number % 9
    if kind == 0:
        del record["metric_name"]
    elif kind == 1:
        record[f"few_shot{number}"] = []
    elif kind == 2:
        record["targets"] = "95"
    elif kind == 3:
        record["prompt"] += " "
    elif kind == 4:
        record["metric_name"] = f"exact_match{number}"
    elif kind == 5:
        return json.dumps(record)[:-7]
    elif kind == 6:
        return json.dumps(record)[:-1] + ', "prompt": "again"}'
    elif kind == 7:
        record["category"], record["targets"] = "mcq", ["A", "B"]
    else:
        record["post_process"] = "extract_code_block"
        record["category"], record["metric_name"] = "summary", "f1"
    return record


def write(path: Path, rows: Iterator[dict[str, Any] | str]) -> None:
    with path.open("w") as file:
        for row in rows:
            file.write((row if isinstance(row, str) else json.dumps(row)) + "\n")


def measured(command: list[str]) -> tuple[float, float]:
    """Return CPU seconds and peak MB of one process."""
    probe = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *command], check=True, capture_output=True, text=True
    )
    seconds, peak = done.stdout.split()
    return float(seconds), float(peak)


def schema_seconds_a_line(path: Path) -> float:
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(api.schema("records"))
    started = process_time()
    with path.open("rb") as file:
        for _, line in zip(range(SCHEMA_LINES), file, strict=False):
            validator.validate(json.loads(line))
    return (process_time() - started) / SCHEMA_LINES


if __name__ == "__main__":
    sys.exit(main())
