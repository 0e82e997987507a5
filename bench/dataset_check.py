"""Measure CPU time and memory of `evalwright dataset check`.

    .venv/bin/python bench/dataset_check.py [--rows 200000]

Checks a CSV file and a JSON Lines file with the same rows: an id, a text of 60 words, a number, a
date and a label. Whole processes are measured, including start-up. The baseline reads and decodes
the same file. Thresholds: 0.3 s of CPU time per MB, and 700 MB of memory (of which the
comparison of texts needs most) plus 100 bytes per row. Exits with code 1 if a threshold is missed.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
CPU_BAR, MEMORY_BAR_MB, ROW_BAR_BYTES = 0.3, 700.0, 100.0
BASELINES = {
    ".csv": "import csv, sys\nfor row in csv.DictReader(open(sys.argv[1], newline='')): pass",
    ".jsonl": (
        "import sys, msgspec\ndecode = msgspec.json.Decoder().decode\n"
        "for line in open(sys.argv[1], 'rb'): decode(line)"
    ),
}
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, done.returncode)
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    count = parser.parse_args().rows
    missed = False
    limit = MEMORY_BAR_MB + ROW_BAR_BYTES * count / 1e6
    print(f"{'file':8} {'MB':>7} {'CPU s':>7} {'s/MB':>7} {'baseline':>9} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for ending, baseline in BASELINES.items():
            path = Path(folder, f"rows{ending}")
            write_rows(path, count)
            size = path.stat().st_size / 1e6
            plain, _ = measure([sys.executable, "-c", baseline, str(path)])
            seconds, peak = measure([EVALWRIGHT, "dataset", "check", str(path)])
            missed |= seconds / size > CPU_BAR or peak > limit
            figures = f"{size:7.1f} {seconds:7.1f} {seconds / size:7.3f}"
            print(f"{ending:8} {figures} {plain:9.1f} {peak:8.0f}")
    print(f"thresholds: {CPU_BAR} s/MB, {limit:.0f} MB: {'MISSED' if missed else 'met'}")
    return int(missed)


def write_rows(path: Path, count: int) -> None:
    """Write rows with random words, so that few of them are nearly equal."""
    chance = random.Random(0)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20_000)]
    with path.open("w", encoding="utf-8") as file:
        if path.suffix == ".csv":
            file.write("id,text,age,joined,label\n")
        for number in range(count):
            text = " ".join(chance.choices(words, k=60))
            day = f"2026-{1 + number % 12:02}-{1 + number % 28:02}"
            age, label = chance.randrange(90), chance.choice(["yes", "no", "maybe"])
            if path.suffix == ".csv":
                file.write(f'{number},"{text}",{age},{day},{label}\n')
            else:
                row = {"id": number, "text": text, "age": age, "joined": day, "label": label}
                file.write(msgspec.json.encode(row).decode() + "\n")


def measure(command: list[str]) -> tuple[float, float]:
    """Return CPU seconds and peak memory in MB of a process."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command], check=True, capture_output=True, text=True
    )
    seconds, peak, code = done.stdout.split()
    if code != "0":
        raise RuntimeError(done.stderr)
    return float(seconds), float(peak)


if __name__ == "__main__":
    sys.exit(main())
