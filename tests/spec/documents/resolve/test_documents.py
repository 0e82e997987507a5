"""What a parameter's value becomes follows the field that it stands in."""

from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import DATASET, MODEL, TASK, project

from evalwright.spec.documents.project import Project

ALL = """config_spec:
  - {type: int, key: n, display_name: N, default_value: 3}
  - {type: float, key: f, display_name: F, default_value: 0.5}
  - {type: boolean, key: b, display_name: B, default_value: true}
  - {type: list, key: l, display_name: L, dtype: string, default_value: [é, B]}
  - {type: dict, key: d, display_name: D, value_dtype: integer, default_value: {a: 1}}
  - {type: string, key: none, display_name: X, nullable: true}
definition:"""
SCORER = '{type: string_equals, ground_truth: "{{ sample.capital }}"}'
RUN = """
evaluation:
  key: e
  display_name: E
  task_specifications: [{task_key: capitals, model_key: bot}]
"""


def of(folder: Path, scorer: str, *, run: bool = True) -> Project:
    task = TASK.replace("definition:", ALL).replace(SCORER, scorer)
    files = {"tasks/t.yaml": task, "datasets/d.yaml": DATASET, "models/m.yaml": MODEL}
    return project(folder, {**files, "run.yaml": RUN} if run else files)


def scorer_of(made: Project) -> Any:
    resolved = made.tasks["capitals"].resolve({})
    assert [problem.detail for problem in resolved.problems] == []
    return resolved.document.definition.scorers[0]


@pytest.mark.parametrize(
    ("placeholder", "text"),
    [
        pytest.param("<< config.n >>", "3", id="int"),
        pytest.param("<< config.f >>", "0.5", id="float"),
        pytest.param("<<config.b>>", "True", id="bool"),
        pytest.param("<< config.l >>", '["é", "B"]', id="list"),
        pytest.param("<< config.d >>", '{"a": 1}', id="dict"),
    ],
)
def test_a_text_gets_the_value_written_out(tmp_path: Path, placeholder: str, text: str) -> None:
    made = of(tmp_path, f'{{type: string_equals, ground_truth: "{placeholder}"}}')

    assert [one.detail for one in made.problems] == []
    assert scorer_of(made).ground_truth.source == text


def test_texts_of_a_list_get_it_too(tmp_path: Path) -> None:
    task = TASK.replace("definition:", f"tags: [<< config.n >>, other]\n{ALL}")
    made = project(tmp_path, {"tasks/t.yaml": task, "datasets/d.yaml": DATASET})

    assert [one.detail for one in made.problems] == []
    assert made.tasks["capitals"].resolve({}).document.tags == ["3", "other"]


def test_an_evaluation_has_texts_too(tmp_path: Path) -> None:
    number = "config_spec: [{type: int, key: n, display_name: N, default_value: 3}]"
    evaluation = f"""
key: e
display_name: << config.n >>
description: D
{number}
task_specifications: [{{task_key: capitals, model_key: bot, task_config: {{n: << config.n >>}}}}]
"""
    task = TASK.replace("definition:", f"{number}\ndefinition:")
    files = {"tasks/t.yaml": task, "datasets/d.yaml": DATASET, "models/m.yaml": MODEL}
    made = project(tmp_path, {**files, "evaluations/e.yaml": evaluation})

    assert [one.detail for one in made.problems] == []
    assert [one.values for one in made.specs()[0]] == [{"n": 3}]


def test_a_field_of_another_type_gets_the_value_itself(tmp_path: Path) -> None:
    metric = "{type: weighted_average, field: is_correct, weights: << config.d >>}"
    made = of(tmp_path, f"{{type: string_equals, ground_truth: a, metrics: [{metric}]}}")

    assert scorer_of(made).metrics[0].weights == {"a": 1}


def test_a_value_that_the_author_wrote_is_not_made_a_text(tmp_path: Path) -> None:
    made = of(tmp_path, "{type: string_equals, ground_truth: 3}")

    assert [one.detail for one in made.problems] == ["expected `str`, got `int`"]


def test_what_is_written_out_is_checked_in_its_place(tmp_path: Path) -> None:
    made = of(tmp_path, "{type: python, metrics: [], compute_scores_snippet: << config.n >>}")

    assert {one.rule for one in made.problems} == {"bad_snippet"}
    assert {one.line for one in made.problems} == {20}


def test_a_list_is_no_scalar(tmp_path: Path) -> None:
    rule = '{key: r, action: exclude_from_metrics, filter: {op: equals, expression: "{{ sample }}"'
    made = of(tmp_path, f"{SCORER}\n  actions: [{rule}, value: << config.l >>}}}}]")

    assert {one.detail for one in made.problems} == {
        "expected `bool` or `int` or `float` or `str`, got `list`"
    }


def test_a_value_that_may_be_left_out_is_left_out(tmp_path: Path) -> None:
    scorer = "{type: string_equals, ground_truth: a, metrics: << config.none >>}"
    alone, used = of(tmp_path / "a", scorer, run=False), of(tmp_path / "b", scorer)

    assert [one.detail for one in (*alone.problems, *used.problems)] == []
    assert scorer_of(used).metrics is None


def test_null_is_no_text_in_a_run(tmp_path: Path) -> None:
    scorer = "{type: string_equals, ground_truth: << config.none >>}"
    alone, used = of(tmp_path / "a", scorer, run=False), of(tmp_path / "b", scorer)

    assert [one.detail for one in alone.problems] == []
    assert {one.detail for one in used.problems} == {"expected `str`, got `null`"}
