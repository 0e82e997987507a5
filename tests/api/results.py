"""A small project with results to move, for the tests of this folder."""

import json
from pathlib import Path
from typing import Any

from tests.servers.model_server import Asked, chat, status

import evalwright as ew
from evalwright.report.report import Report

TASK = """\
key: capitals
display_name: Capitals
description: Does the model know capitals?
config_spec:
  - {type: string, key: word, display_name: Word, default_value: capital}
definition:
  dataset: {key: countries}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "The << config.word >> of {{ sample.country }}?"}
  scorers:
    - {type: string_equals, display_name: Exact, ground_truth: "{{ sample.capital }}"}
    - type: string_equals
      key: polite
      purpose: qa
      ground_truth: "Please"
      metrics: [{type: mean, field: is_correct}]
  actions:
    - key: no-island
      action: exclude_from_metrics
      filter: {op: equals, expression: "{{ sample.country }}", value: Malta}
"""
DATASET = """\
key: countries
display_name: Countries
source: {type: local, file_path: countries.jsonl}
"""
ROWS = [
    {"sample_id": "fr", "country": "France", "capital": "Paris"},
    {"sample_id": "it", "country": "Italy", "capital": "Rome"},
    {"sample_id": "eg", "country": "مصر", "capital": "القاهرة"},
    {"sample_id": "mt", "country": "Malta", "capital": "Valletta"},
    {"sample_id": "xx", "country": "Nowhere", "capital": "None"},
]
RUN = """\
models:
  - $provider: openai/atlas
evaluation:
  key: geography
  display_name: Geography
  task_specifications:
    - {key: first, task_key: capitals, model_key: openai$atlas, task_config: {word: capital}}
"""
CAPITALS = {"France": "Paris", "Italy": "Milan", "مصر": "القاهرة", "Malta": "Valletta"}
FIRST = "task_results/first/task_result_log.json"


async def atlas(asked: Asked) -> Any:
    """Knows some capitals, and breaks over a place that there is not."""
    country = asked.prompt.removeprefix("The capital of ").removesuffix("?")
    if country not in CAPITALS:
        return await status(400, "no such place")(asked)
    return await chat(CAPITALS[country])(asked)


def write_project(folder: Path, **files: str) -> None:
    """The project; `files` are more of it, by their names without `.yaml`."""
    whole = {
        "run.yaml": RUN,
        "tasks/capitals.yaml": TASK,
        "datasets/countries.yaml": DATASET,
        "datasets/countries.jsonl": "".join(f"{json.dumps(one)}\n" for one in ROWS),
        **{f"{name}.yaml": text for name, text in files.items()},
    }
    for name, text in whole.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def figures(report: Report) -> dict[str, Any]:
    """Every figure, with all that is said of it."""
    return {f"{row.task}/{row.scorer}/{row.metric}": row for row in report.metrics}


def log_in(path: Path) -> dict[str, Any]:
    """A log, without what is other in every run."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert found.pop("execution")
    return found


def run_here(**options: Any) -> Report:
    """The project of the current folder."""
    return ew.run("run.yaml", **options)
