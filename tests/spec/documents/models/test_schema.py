import json
from typing import Any, get_args

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.spec.documents.made import DATASET, MODEL, TASK

from evalwright.spec.documents.models.schema import SchemaKind, json_schema

EVALUATION = """
key: weekly
display_name: Weekly
task_specifications:
  - {key: a, task_key: capitals, model_key: "<< config.model >>", num_samples: "<< config.n >>"}
"""
RUN = {
    "models": [{"$ref": "models/m.yaml"}, {"$provider": "openai/gpt-4o"}, yaml.safe_load(MODEL)],
    "datasets": [yaml.safe_load(DATASET)],
    "tasks": [yaml.safe_load(TASK)],
    "evaluation": {"$ref": "evaluations/e.yaml"},
    "run_config": {"num_samples": 3},
}
LOOP = """
key: t
display_name: T
description: D
tags: << config.tags >>
definition:
  type: declarative_task
  dataset: << config.dataset >>
  solver:
    type: multi_turn_solver
    message_builders:
      - type: loop
        max_iterations: << config.turns >>
        message_builders: [{type: generate}]
  scorers:
    - {$ref: scorer.yaml}
    - {type: bleu, ground_truth: a, metrics: [{type: mean, field: << config.field >>}]}
"""


def errors(kind: SchemaKind, data: Any) -> list[str]:
    found = Draft202012Validator(json_schema(kind)).iter_errors(data)
    return [one.message for one in found]


@pytest.mark.parametrize("kind", get_args(SchemaKind))
def test_a_schema_is_a_schema_and_always_the_same(kind: SchemaKind) -> None:
    schema = json_schema(kind)

    Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"evalwright {kind}"
    assert json.dumps(schema) == json.dumps(json_schema(kind))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        pytest.param("task", yaml.safe_load(TASK), id="task"),
        pytest.param("task", yaml.safe_load(LOOP), id="task with placeholders"),
        pytest.param("dataset", yaml.safe_load(DATASET), id="dataset"),
        pytest.param("model", yaml.safe_load(MODEL), id="model"),
        pytest.param("evaluation", yaml.safe_load(EVALUATION), id="evaluation"),
        pytest.param("run", RUN, id="run"),
    ],
)
def test_a_good_document_fits(kind: SchemaKind, data: Any) -> None:
    assert errors(kind, data) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param("task", TASK.replace("description", "descripton"), id="a key of a task"),
        pytest.param("task", TASK.replace("ground_truth", "groundtruth"), id="a key of a scorer"),
        pytest.param("task", TASK.replace("string_equals", "string_equal"), id="a type"),
        pytest.param("dataset", DATASET.replace("source", "sorce"), id="a key of a dataset"),
        pytest.param("model", MODEL.replace("placeholder", "place"), id="a connection"),
        pytest.param("evaluation", EVALUATION.replace("model_key", "modelkey"), id="a spec"),
        pytest.param("run", "modells: []\n", id="a key of a run file"),
    ],
)
def test_a_typo_does_not_fit(kind: SchemaKind, text: str) -> None:
    assert errors(kind, yaml.safe_load(text)) != []


def test_what_a_field_means_is_in_the_schema() -> None:
    properties = json_schema("task")["properties"]

    assert all(one.get("description") for one in properties.values())
