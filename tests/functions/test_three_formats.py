"""The same task as records, as YAML and in Python: equal results, and each survives a kill."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import evalwright as ew

SIZE, KILLED_AT = 20, 12
SCRIPT = """\
import os
import signal
from pathlib import Path

import evalwright as ew

ROWS = [{"sample_id": f"s{n}", "prompt": f"{n} + {n} =", "target": str(2 * n)} for n in range(20)]


def ask(prompt: str) -> str:
    with Path("asked").open("a") as file:
        file.write(prompt + "\\n")
    if prompt == "12 + 12 =" and not Path("killed").exists():
        Path("killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    number = int(prompt.split()[0])
    return "wrong" if number % 5 == 0 else str(2 * number)


def run(kind: str) -> ew.Report:
    task = ew.Task("sums", ROWS, prompt="{prompt}", target="target", scorers=["string_equals"])
    tasks = {"records": "sums.jsonl", "yaml": "run.yaml", "python": task}[kind]
    return ew.run(tasks, ask, store="runs.db", concurrency=1)

"""
RECORD = {"category": "arithmetic", "metric_name": "exact_match", "post_process": "none"}
PROJECT = """\
datasets:
  - key: sums
    display_name: Sums
    source: { type: local, file_path: rows.jsonl }
tasks:
  - key: sums
    display_name: Sums
    description: D
    definition:
      dataset: { key: sums }
      solver:
        type: single_turn_solver
        input_builder:
          type: chat_completion
          input_messages: [{ role: user, content: "{{ sample.prompt }}" }]
      scorers: [{ type: string_equals, ground_truth: "{{ sample['target'] }}" }]
evaluation:
  key: e
  display_name: E
  task_specifications: [{ key: sums, task_key: sums }]
"""


def load_script(folder: Path) -> ModuleType:
    """Import the script; its functions have the source that the killed process ran."""
    (folder / "script.py").write_text(SCRIPT)
    spec = importlib.util.spec_from_file_location("script", folder / "script.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows: list[dict[str, str]] = module.ROWS
    records = [
        {"task_id": row["sample_id"], "prompt": row["prompt"], "targets": [row["target"]], **RECORD}
        for row in rows
    ]
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, records)))
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "run.yaml").write_text(PROJECT)
    return module


def test_a_task_in_three_formats_survives_a_kill_with_equal_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: dict[str, Any] = {}
    keys: dict[str, Any] = {}
    for kind in ("records", "yaml", "python"):
        folder = tmp_path / kind
        folder.mkdir()
        script = load_script(folder)
        command = [sys.executable, "-c", f"import script; script.run({kind!r})"]
        killed = subprocess.run(command, cwd=folder, check=False)
        monkeypatch.chdir(folder)

        report: ew.Report = script.run(kind)

        asked = (folder / "asked").read_text().splitlines()
        (row,) = report.metrics
        results[kind] = {
            "exit code": killed.returncode,
            "status": (report.status, report.summary.completed, report.summary.failed),
            "requests": (len(asked), len(asked) - len(set(asked)), len(ew.runs("runs.db"))),
            "metric": (row.value, row.ci_low, row.ci_high, row.interval, row.n, row.failed),
            "samples": {
                outcome.sample_id: (outcome.output, outcome.score) for outcome in report.samples()
            },
        }
        keys[kind] = [
            (outcome.sample_id, outcome.solve_key, outcome.score_keys)
            for outcome in report.samples()
        ]
        assert report.summary.reused == KILLED_AT, kind

    assert results["yaml"] == results["python"]
    assert results["records"] == results["python"]
    assert results["python"]["exit code"] == -9
    assert results["python"]["requests"] == (SIZE + 1, 1, 1)
    assert results["python"]["metric"][:1] == (0.8,)
    assert keys["yaml"] == keys["python"]
