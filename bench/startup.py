"""Measure the CPU time of start-up, as a multiple of `python -c pass` in the same run.

    .venv/bin/python bench/startup.py

Thresholds: 8 × for `evalwright --help`, 12 × for `evalwright validate small.jsonl`, and neither
imports asyncio, numpy, jinja2, pydantic, aiohttp or rich. Exits with code 1 if a threshold is
missed. Rounds alternate and the fastest of each counts, because the machine is shared.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from evalwright.spec.records.fixtures import TASKS

ROUNDS = 25
HEAVY = {"asyncio", "numpy", "jinja2", "pydantic", "aiohttp", "rich"}
EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.jsonl"
        small.write_bytes(TASKS.read_bytes())
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import click'": [sys.executable, "-c", "import click"],
            "python -c 'import click, msgspec'": [sys.executable, "-c", "import click, msgspec"],
            "evalwright --help": [EVALWRIGHT, "--help"],
            "evalwright validate small.jsonl": [EVALWRIGHT, "validate", str(small)],
        }
        bars = {"evalwright --help": 8.0, "evalwright validate small.jsonl": 12.0}
        best = dict.fromkeys(commands, float("inf"))
        for _ in range(ROUNDS):
            for name, command in commands.items():
                best[name] = min(best[name], cpu_seconds(command))
        bare = best["python -c pass"]
        missed = False
        print(f"{'command':36} {'CPU ms':>8} {'×':>6} {'threshold':>9}")
        for name, seconds in best.items():
            ratio, bar = seconds / bare, bars.get(name)
            missed |= bar is not None and ratio > bar
            print(f"{name:36} {1000 * seconds:8.1f} {ratio:6.1f} {bar or '':>9}")
        for arguments in (["--help"], ["validate", str(small)]):
            found = heavy_imports(arguments)
            missed |= bool(found)
            print(
                f"evalwright {arguments[0]} imports, of {sorted(HEAVY)}: {sorted(found) or 'none'}"
            )
    return int(missed)


def cpu_seconds(command: list[str]) -> float:
    before = children()
    subprocess.run(command, check=True, capture_output=True)
    return children() - before


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def heavy_imports(arguments: list[str]) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "evalwright", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    modules = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }
    return modules & HEAVY


if __name__ == "__main__":
    sys.exit(main())
