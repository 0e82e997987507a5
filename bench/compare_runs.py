"""Measure what comparing two runs costs: CPU seconds and peak memory.

    .venv/bin/python bench/compare_runs.py [--samples 100000]

Thresholds: `evalwright compare` of two runs with 100,000 samples takes less than 5 s of CPU and
less than 500 MB of memory, for task records and for rows of a project. Exits with code 1 if a
threshold is missed.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

CPU_S, MEMORY_MB = 5.0, 500.0
RUN_FILE = """
models:
  - $provider: replay/answers.jsonl
datasets:
  - key: rows
    display_name: Rows
    source: {type: local, file_path: rows.jsonl}
tasks:
  - key: rows
    display_name: Rows
    description: Rows
    definition:
      dataset: {key: rows}
      solver:
        type: single_turn_solver
        input_builder:
          type: chat_completion
          input_messages: [{role: user, content: "Question {{ sample.number }}"}]
      scorers:
        - {type: string_equals, ground_truth: "{{ sample.answer }}"}
        - {type: levenshtein, ground_truth: "{{ sample.answer }}"}
evaluation:
  key: rows
  display_name: Rows
  task_specifications:
    - {key: rows, task_key: rows, model_key: replay$answers.jsonl}
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=100_000)
    samples = parser.parse_args().samples
    held = True
    for kind in ("records", "project"):
        with TemporaryDirectory() as folder:
            write_runs(kind, Path(folder), samples)
            cpu, memory = measure(Path(folder))
        is_good = cpu < CPU_S and memory < MEMORY_MB
        held = held and is_good
        print(
            f"  {'held  ' if is_good else 'MISSED'}  {kind}: {samples:,} samples: {cpu:.2f} s of "
            f"CPU (threshold {CPU_S:g}), {memory:.0f} MB (threshold {MEMORY_MB:g})"
        )
    return 0 if held else 1


def write_runs(kind: str, folder: Path, samples: int) -> None:
    """Run the same samples twice, with a tenth of the answers changed."""
    if kind == "records":
        with (folder / "tasks.jsonl").open("w") as file:
            for number in range(samples):
                record = {"task_id": f"t{number}", "category": "arithmetic"}
                record |= {"prompt": f"Question {number}", "targets": ["yes"]}  # type: ignore[dict-item]
                record |= {"metric_name": "exact_match", "post_process": "none"}
                file.write(json.dumps(record) + "\n")
        keys = [f"t{number}" for number in range(samples)]
        target = "tasks.jsonl"
    else:
        rows = ({"number": number, "answer": "yes"} for number in range(samples))
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "run.yaml").write_text(RUN_FILE)
        target, keys = "run.yaml", [str(number) for number in range(samples)]
    for name, wrong in (("a", 3), ("b", 4)):
        answers = (
            {"id": key, "output": "no" if place % 10 < wrong else "yes"}
            for place, key in enumerate(keys)
        )
        replay = folder / "answers.jsonl"
        replay.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        evalwright(folder, "run", target, "-m", "replay/answers.jsonl", "--name", name)


def measure(folder: Path) -> tuple[float, float]:
    """Return CPU seconds and peak megabytes of one comparison."""
    pid = os.fork()
    if not pid:
        done = evalwright(folder, "compare", "a", "b", "--json")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = json.loads(done.stdout)
        if report["comparisons"][0]["verdict"] != "worse":
            sys.exit("the comparison did not find the regression")
        (folder / "used.json").write_text(
            json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024])
        )
        os._exit(0)
    os.waitpid(pid, 0)
    cpu, memory = json.loads((folder / "used.json").read_text())
    return cpu, memory


def evalwright(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalwright", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return done


if __name__ == "__main__":
    sys.exit(main())
