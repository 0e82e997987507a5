"""A small project of task documents, for tests of whole evaluations."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DATASET = "key: rows\ndisplay_name: Rows\nsource: {type: local, file_path: rows.jsonl}\n"
SOLVER = """\
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.question }}"}
"""


def task(definition: str, key: str = "ask") -> str:
    """A task document."""
    named = f"key: {key}\ndisplay_name: A task\ndescription: Does it hold?\n"
    return f"{named}definition:\n{definition}"


def of_rows(snippet: str, more: str = "", *, kind: str = "python") -> str:
    """A task on a dataset, with one snippet as its scorer."""
    return task(
        "  evaluated_entity_type: dataset\n  dataset: {key: rows}\n  scorers:\n"
        + scorer(snippet, kind=kind)
        + more
    )


def scorer(snippet: str, *, kind: str = "python", key: str = "judged") -> str:
    """A scorer in Python, of a task; its score is `ok`."""
    lines = "".join(f"        {line}\n" if line else "\n" for line in snippet.strip().split("\n"))
    return (
        f"    - type: {kind}\n      key: {key}\n      metrics: [{{type: mean, field: ok}}]\n"
        f"      compute_scores_snippet: |\n{lines}"
    )


def run_file(*specifications: str, more: str = "") -> str:
    """`run.yaml`, with one model."""
    listed = "".join(f"    - {one}\n" for one in specifications)
    return (
        f"models:\n  - $provider: openai/x\n{more}evaluation:\n  key: whole\n"
        f"  display_name: Whole\n  task_specifications:\n{listed}"
    )


ASKED = "{key: ask, task_key: ask, model_key: openai$x}"


def write_project(folder: Path, **files: str) -> Path:
    """The files of a project; `tasks__ask` is `tasks/ask.yaml`."""
    whole = {"datasets__rows": DATASET, **files}
    for name, text in whole.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def write_rows(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Those of the dataset."""
    path = folder / "datasets" / "rows.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return path


def questions(count: int) -> list[dict[str, Any]]:
    """Rows; every third is answered otherwise than it should be."""
    return [
        {"question": f"q{number}", "answer": "4" if number % 3 else "5"} for number in range(count)
    ]
