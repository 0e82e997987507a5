"""Measure the overhead per sample with a scripted model, from ten thousand samples to a million.

    .venv/bin/python bench/scale.py [--million] [--rounds 3]

Measures `evalwright run FILE -m scripted/echo --store FILE` with the metric `exact_match`; every
outcome is stored. Thresholds:

    100,000 samples     0.15 ms of CPU time per sample, without start-up; peak memory of 250 MB, and
                        at most 200 bytes per sample above the peak for 10,000 samples
    1,000,000 samples   peak memory of 400 MB

Exits with code 1 if a threshold is missed. CPU time and memory are those of the whole process, as
counted by the kernel; start-up is the same command on one record. The fastest round counts for CPU
time, the highest for memory. The bare loop decodes the same records, computes one blake2b key per
record and inserts one row per record into SQLite, in one transaction. It does not score samples,
print a report or resume.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
CPU_BAR_MS, MEMORY_BAR_MB, GROWTH_BAR_BYTES, MILLION_BAR_MB = 0.15, 250.0, 200.0, 400.0
SMALL, LARGE, MILLION = 10_000, 100_000, 1_000_000
BARE = """
import sqlite3, sys
from hashlib import blake2b
import msgspec
from evalwright.types import TaskSpec
decode = msgspec.json.Decoder(TaskSpec).decode
file = sqlite3.connect(sys.argv[2])
file.execute("PRAGMA journal_mode = WAL")
file.execute("CREATE TABLE answers (id TEXT, key TEXT, body BLOB)")
with open(sys.argv[1], "rb") as lines, file:
    for line in lines:
        record = decode(line)
        key = blake2b(record.prompt.encode(), digest_size=16).hexdigest()
        file.execute("INSERT INTO answers VALUES (?, ?, ?)", (record.task_id, key, line))
"""
PROBE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(done.stderr.decode()[-500:] if done.returncode else 0)
"""
"""A process of its own, because a child inherits the peak of a large parent."""


class Used(NamedTuple):
    """Resources that a process used: CPU seconds and peak MB."""

    seconds: float
    peak: float


class Bar(NamedTuple):
    """A threshold, and whether it was met."""

    held: bool
    text: str


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--million", action="store_true", help="also measure a million samples")
    parser.add_argument("--rounds", type=int, default=3)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = [1, SMALL, LARGE, *([MILLION] if told.million else [])]
        ours: dict[int, Used] = {}
        bare: dict[int, Used] = {}
        for number in range(told.rounds):
            for size in sizes:
                if size == MILLION and number:
                    continue  # once: it takes minutes
                tasks = write_tasks(Path(folder), size)
                ours[size] = best(ours.get(size), our_run(tasks, Path(folder)))
                bare[size] = best(bare.get(size), bare_run(tasks, Path(folder)))
    table(ours, bare)
    bars = checked(ours)
    for bar in bars:
        print(f"  {'held  ' if bar.held else 'MISSED'}  {bar.text}")
    return 0 if all(bar.held for bar in bars) else 1


def table(ours: dict[int, Used], bare: dict[int, Used]) -> None:
    print(
        f"{'samples':>9} {'CPU s':>8} {'ms/sample':>12} {'bare loop':>10} {'×':>6} "
        f"{'peak MB':>8} {'bare loop':>10}"
    )
    for size, used in ours.items():
        each, floor = (1000 * a_sample(found, size) for found in (ours, bare))
        print(
            f"{size:9,} {used.seconds:8.2f} "
            + (f"{each:12.4f} {floor:10.4f} {each / floor:6.1f} " if size > 1 else f"{'':31}")
            + f"{used.peak:8.1f} {bare[size].peak:10.1f}"
        )
    print()


def checked(ours: dict[int, Used]) -> list[Bar]:
    each, peak = 1000 * a_sample(ours, LARGE), ours[LARGE].peak
    growth = (peak - ours[SMALL].peak) * (1 << 20) / (LARGE - SMALL)
    bars = [
        Bar(each < CPU_BAR_MS, f"{each:.4f} ms per sample, threshold {CPU_BAR_MS} ms"),
        Bar(peak < MEMORY_BAR_MB, f"peak {peak:.0f} MB, threshold {MEMORY_BAR_MB:.0f} MB"),
        Bar(
            growth <= GROWTH_BAR_BYTES,
            f"{growth:.0f} bytes per sample above the peak of {SMALL:,}, "
            f"threshold {GROWTH_BAR_BYTES:.0f} bytes",
        ),
    ]
    if MILLION in ours:
        highest = ours[MILLION].peak
        bars.append(
            Bar(
                highest < MILLION_BAR_MB,
                f"a million: peak {highest:.0f} MB, threshold {MILLION_BAR_MB:.0f} MB",
            )
        )
    return bars


def a_sample(found: dict[int, Used], size: int) -> float:
    """Return CPU seconds per sample, without start-up."""
    return (found[size].seconds - found[1].seconds) / size


def best(before: Used | None, now: Used) -> Used:
    if before is None:
        return now
    return Used(min(before.seconds, now.seconds), max(before.peak, now.peak))


def write_tasks(folder: Path, count: int) -> Path:
    path = folder / f"{count}.jsonl"
    if not path.exists():
        with path.open("w") as file:
            for number in range(count):
                file.write(json.dumps(record(number)) + "\n")
    return path


def record(number: int) -> dict[str, object]:
    return {
        "task_id": f"task_{number:07d}",
        "category": "arithmetic",
        "prompt": f"Read this and answer in a few words. Question: what is {number} + 17?\nAnswer:",
        "targets": [str(number + 17)],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
    }


def our_run(tasks: Path, folder: Path) -> Used:
    store = folder / "ours.db"
    command = [EVALWRIGHT, "run", str(tasks), "-m", "scripted/echo", "--store", str(store)]
    return measured(command, store)


def bare_run(tasks: Path, folder: Path) -> Used:
    store = folder / "bare.db"
    return measured([sys.executable, "-c", BARE, str(tasks), str(store)], store)


def measured(command: list[str], store: Path) -> Used:
    """Measure one process that starts with an empty store."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *command], check=False, capture_output=True, text=True
    )
    for left in store.parent.glob(f"{store.name}*"):
        left.unlink()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return Used(*map(float, done.stdout.split()))


if __name__ == "__main__":
    sys.exit(main())
