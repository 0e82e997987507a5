"""Measure commands on a large stored run: 25 models, 12,500 records, 312,500 outcomes.

    .venv/bin/python bench/store.py [--records 12500] [--models 25] [--store FILE]

The run is created by `evalwright run` with 25 models that replay one file of outputs, so `run` can
resume it and `score` can score it again. `--store` keeps the store and reuses it.

Thresholds: 0.3 s for `show RUN SAMPLE`, 2 s for `report`, and 3 s for repeating the same `run`, in
CPU seconds without start-up (that is, minus those of `list` on an empty store).

Exits with code 1 if a threshold is missed. The CPU time is that of the whole process, as counted by
the kernel; the fastest of three rounds counts. `score` after one changed target is measured once,
without a threshold, and so is the growth of the store.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
BARS = {"show a sample": 0.3, "report": 2.0, "run again": 3.0}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=12_500)
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--store", type=Path, help="keep the store in this folder")
    parser.add_argument("--score", action="store_true", help="also change a target and score")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.store or Path(temporary)
        folder.mkdir(exist_ok=True)
        command = prepare(folder, options.records, options.models)
        return measure(folder, command, options)


def prepare(folder: Path, records: int, models: int) -> list[str]:
    """Write the files, and run the tasks if the store does not have the run yet."""
    lines = [record(number) for number in range(records)]
    write_tasks(folder, lines)
    names = [f"m{number:02d}.jsonl" for number in range(models)]
    for number, name in enumerate(names):
        outputs = (
            json.dumps({"id": line["task_id"], "output": answer(place, number)})
            for place, line in enumerate(lines)
        )
        (folder / name).write_text("\n".join(outputs) + "\n")
    command = ["run", "tasks.jsonl"]
    for name in names:
        command += ["-m", f"replay/{name}"]
    if not (folder / "runs.db").exists():
        print(f"  {cpu_seconds(folder, command):8.2f} s  the run itself")
    return command


def answer(place: int, model: int) -> str:
    return str(place + 17) if (place * 7 + model) % 10 else "no"


def record(number: int) -> dict[str, object]:
    return {
        "task_id": f"task_{number:07d}",
        "category": "arithmetic",
        "prompt": f"Read this and answer in a few words. Question: what is {number} + 17?\nAnswer:",
        "targets": [str(number + 17)],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
    }


def write_tasks(folder: Path, lines: list[dict[str, object]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "tasks.jsonl").write_text(text)


def measure(folder: Path, command: list[str], options: argparse.Namespace) -> int:
    middle = f"task_{options.records // 2:07d}"
    commands = {
        "show a sample": ["show", "latest", middle],
        "report": ["report", "latest"],
        "run again": command,
    }
    start = min(cpu_seconds(folder, ["list"], store="none.db") for _ in range(3))
    missed = 0
    for name, arguments in commands.items():
        seconds = min(cpu_seconds(folder, arguments) for _ in range(3)) - start
        held = seconds < BARS[name]
        missed += not held
        print(f"  {seconds:8.2f} s  {name:15} limit {BARS[name]} s  {'held' if held else 'MISSED'}")
    if options.score:
        size = (folder / "runs.db").stat().st_size
        lines = [record(number) for number in range(options.records)]
        write_tasks(folder, [{**lines[0], "targets": ["42"]}, *lines[1:]])
        seconds = cpu_seconds(folder, ["score", "latest"]) - start
        growth = (folder / "runs.db").stat().st_size / size
        print(f"  {seconds:8.2f} s  score after one changed target; the store grew {growth:.2f} ×")
    return 1 if missed else 0


def cpu_seconds(folder: Path, command: list[str], store: str = "runs.db") -> float:
    """Run a command in the folder; return its CPU seconds."""
    with subprocess.Popen(
        [EVALWRIGHT, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "EVALWRIGHT_STORE": store},
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"exit {process.returncode}: {' '.join(command)}")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
