"""Measure the cost of a row and of a prompt in a project.

    .venv/bin/python bench/documents.py [--million] [--rounds 3]

rows      a dataset task with one `python` scorer, with 10,000 and 100,000 (or a million) rows
          thresholds: 0.15 ms of CPU time per row in total, for snippet, engine and store; peak
          memory at most 100 bytes per row above that for 10,000 rows
all       the same with `python_all_samples`, which receives all rows at once
          threshold: the peak grows in proportion to the rows and is at most 25 times the size of
          their file (a row consists of a few dicts and strings, about five times the size of its
          JSON, and is held in memory twice)
prompts   50,000 samples, two messages with Jinja templates, `scripted/echo`, `string_equals`
          threshold: 0.4 ms of CPU time per sample, including the scripted model

Exits with code 1 if a threshold is missed. The CPU time is that of the command and all its
processes, as counted by the kernel, minus that of the same command on one row. The memory is the
peak of the largest process. The fastest round counts for CPU time, the highest for memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

EVALWRIGHT = str(Path(sys.executable).with_name("evalwright"))
ROW_BAR_MS, GROWTH_BAR_BYTES, ALL_BAR_TIMES, PROMPT_BAR_MS = 0.15, 100.0, 25.0, 0.4
SMALL, LARGE, MILLION, PROMPTS = 10_000, 100_000, 1_000_000, 50_000
PROBE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(done.stderr.decode()[-500:] if done.returncode else 0)
"""
"""A process of its own, because a child inherits the peak of a large parent."""

DATASET = "key: rows\ndisplay_name: Rows\nsource: {type: local, file_path: rows.jsonl}\n"
TASKS = {
    "each": """\
key: each
display_name: Each row
description: Is the text short?
definition:
  evaluated_entity_type: dataset
  scorers:
    - type: python
      compute_scores_snippet: |
        def compute_scores(sample):
            return {"is_short": len(sample["text"]) < 22}
      metrics: [{type: mean, field: is_short}]
""",
    "all": """\
key: all
display_name: All rows
description: Is the label seldom?
definition:
  evaluated_entity_type: dataset
  scorers:
    - type: python_all_samples
      compute_scores_snippet: |
        from collections import Counter
        def compute_scores(samples):
            counts = Counter(sample["label"] for sample in samples)
            return [{"is_seldom": counts[sample["label"]] < 5} for sample in samples]
      metrics: [{type: mean, field: is_seldom}]
""",
    "ask": """\
key: ask
display_name: Ask
description: Does the model repeat what it is told?
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - role: system
          content: "You are an assistant for label {{ sample.label }}."
        - role: user
          content: "{% if sample.label > 3 %}Please{% else %}Do{% endif %}: {{ sample.text }}"
  scorers:
    - {type: string_equals, ground_truth: "Do: {{ sample.text }}"}
""",
}


class Used(NamedTuple):
    """Resources that a command used: CPU seconds, and peak MB of its largest process."""

    seconds: float
    peak: float


class Bar(NamedTuple):
    """A threshold, and whether it was met."""

    what: str
    value: float
    most: float
    unit: str


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--million", action="store_true", help="a million rows, not 100,000")
    options.add_argument("--rounds", type=int, default=3)
    told = options.parse_args()
    large = MILLION if told.million else LARGE
    bars = [*rows(large, told.rounds), *everything(large), *prompts(told.rounds)]
    for bar in bars:
        verdict = "met" if bar.value <= bar.most else "MISSED"
        print(f"{bar.what:<44} {bar.value:>9.3f} {bar.unit:<12} threshold {bar.most:g}: {verdict}")
    return int(any(bar.value > bar.most for bar in bars))


def rows(large: int, rounds: int) -> list[Bar]:
    start = min(one.seconds for one in measured("each", 1, rounds))
    few = max(one.peak for one in measured("each", SMALL, 1))
    many = measured("each", large, rounds)
    cost = (min(one.seconds for one in many) - start) / large * 1000
    growth = (max(one.peak for one in many) - few) * 2**20 / (large - SMALL)
    return [
        Bar(f"a python scorer, {large:,} rows: CPU", cost, ROW_BAR_MS, "ms per row"),
        Bar("the same: memory above 10,000 rows", growth, GROWTH_BAR_BYTES, "bytes per row"),
    ]


def everything(large: int) -> list[Bar]:
    (few,) = measured("all", SMALL, 1)
    (many,) = measured("all", large, 1)
    size = sum(len(line(number)) for number in range(SMALL, large)) / 2**20
    return [
        Bar(
            f"python_all_samples, {large:,} rows: memory",
            (many.peak - few.peak) / size,
            ALL_BAR_TIMES,
            "x the file",
        )
    ]


def prompts(rounds: int) -> list[Bar]:
    start = min(one.seconds for one in measured("ask", 1, rounds))
    many = measured("ask", PROMPTS, rounds)
    cost = (min(one.seconds for one in many) - start) / PROMPTS * 1000
    return [Bar(f"two messages, {PROMPTS:,} samples: CPU", cost, PROMPT_BAR_MS, "ms per sample")]


def measured(task: str, count: int, rounds: int) -> list[Used]:
    return [once(task, count) for _ in range(rounds)]


def once(task: str, count: int) -> Used:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("tasks", "datasets"):
            (root / name).mkdir()
        (root / "tasks" / "task.yaml").write_text(TASKS[task])
        (root / "datasets" / "rows.yaml").write_text(DATASET)
        with (root / "datasets" / "rows.jsonl").open("w") as file:
            file.writelines(map(line, range(count)))
        command = [EVALWRIGHT, "run", "tasks/task.yaml"]
        command += ["-m", "scripted/echo"] if task == "ask" else ["--set", "dataset_key=rows"]
        probe = [sys.executable, "-c", PROBE, *command]
        done = subprocess.run(probe, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        seconds, peak = map(float, done.stdout.split())
        return Used(seconds, peak)


def line(number: int) -> str:
    return json.dumps({"text": f"row number {number} of many", "label": number % 7}) + "\n"


if __name__ == "__main__":
    sys.exit(main())
