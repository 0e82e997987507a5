"""What of a task does not go with the number of trials that it is run with."""

from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, MODEL, project, told

from evalwright.types import Issue

TASK = """key: capitals
display_name: Capitals
description: D
definition:
  dataset: {key: countries}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.country }}"}]
"""
EXACT = """  scorers:
    - {type: string_equals, key: exact, ground_truth: a}
"""
LABELS = """  scorers:
    - {type: labeler_via_model, key: lab, model_key: bot, user_prompt: "{{ sample.country }}"}
"""
RATES = """  trials:
    num_trials: 5
    score_aggregators: [{score_name: is_correct, aggregator: {function: pass@k, k: 4}}]
"""


def rule(op: str, expression: str, value: str = "") -> str:
    filter_ = f'{{op: {op}, expression: "{{{{ {expression} }}}}"{value}}}'
    return f"  actions:\n    - {{key: out, action: exclude_from_metrics, filter: {filter_}}}\n"


def problems(folder: Path, definition: str, spec: str = "", run: str = "") -> list[Issue]:
    text = f"""{run}evaluation:
  key: whole
  display_name: Whole
  task_specifications: [{{key: tri, task_key: capitals, model_key: bot{spec}}}]
"""
    files = {
        "tasks/t.yaml": TASK + definition,
        "datasets/d.yaml": DATASET,
        "models/m.yaml": MODEL,
        "run.yaml": text,
    }
    return project(folder, files, "run.yaml").problems


THREE = ", trials: {num_trials: 3}"
RUN_OF_THREE = "run_config: {trials_config: {num_trials: 3}}\n"


@pytest.mark.parametrize(
    ("spec", "run"),
    [
        pytest.param(THREE, "", id="the specification"),
        pytest.param("", RUN_OF_THREE, id="the run"),
    ],
)
def test_more_than_the_trials_that_there_will_be_is_a_warning(
    tmp_path: Path, spec: str, run: str
) -> None:
    (problem,) = problems(tmp_path, RATES + EXACT, spec, run)

    assert (problem.rule, problem.level) == ("suspicious_k", "warning")
    assert str(problem.field).endswith("aggregator.k")
    assert problem.detail == ("k = 4 is more than the 3 trials of `tri`: the value is extrapolated")


def test_as_many_trials_as_the_task_says_are_enough(tmp_path: Path) -> None:
    assert problems(tmp_path, RATES + EXACT) == []
    assert problems(tmp_path, RATES + EXACT, ", trials: {num_trials: 4}") == []


def test_a_rule_that_wants_a_truth_value_of_a_mean_is_told_before_anything_is_run(
    tmp_path: Path,
) -> None:
    definition = EXACT + rule("is_false", "scores.exact.is_correct")

    (problem,) = problems(tmp_path, definition, THREE)

    assert (problem.level, problem.field) == ("error", "definition.actions[0].filter.op")
    assert problem.detail == (
        "`is_false` needs true or false; over 3 trials, `is_correct` is a mean"
    )
    assert problem.hint == "compare it: `op: less_than`, `value: 0.5`"


@pytest.mark.parametrize(
    ("definition", "spec"),
    [
        pytest.param(rule("is_false", "scores.exact.is_correct"), "", id="one trial"),
        pytest.param(
            rule("less_than", "scores.exact.is_correct", ", value: 0.5"), THREE, id="a comparison"
        ),
        pytest.param(rule("is_true", "scores.exact.is_correct > 0.5"), THREE, id="a boolean"),
        pytest.param(rule("is_true", "sample.rare"), THREE, id="of the sample"),
    ],
)
def test_a_rule_that_can_be_applied_is_not_told(tmp_path: Path, definition: str, spec: str) -> None:
    assert problems(tmp_path, EXACT + definition, spec) == []


def test_a_rule_that_wants_a_text_is_told_before_anything_is_run(tmp_path: Path) -> None:
    definition = LABELS + rule("equals", "scores.lab.label", ", value: x")

    found = [one for one in problems(tmp_path, definition, THREE) if one.level == "error"]

    (problem,) = found
    assert problem.field == "definition.actions[0].filter.expression"
    assert problem.detail == "`label` is text, which has no value over 3 trials"


def test_a_metric_of_a_text_is_a_warning_the_default_one_too(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, LABELS, THREE)

    assert (problem.level, problem.field) == ("warning", "definition.scorers[0]")
    assert problem.detail == (
        "`label` is text, which has no value over 3 trials: `frequency` will also have no value"
    )
    assert problems(tmp_path, LABELS) == [], told(problems(tmp_path, LABELS))


def test_the_name_of_another_score_is_not_to_be_given(tmp_path: Path) -> None:
    definition = """  trials:
    num_trials: 2
    score_aggregators:
      - score_name: all_required_calls_made
        aggregator: {function: min, score_name: required_calls_coverage}
  scorers:
    - {type: function_call_coverage, key: calls, function_calls: "[]"}
"""

    (problem,) = problems(tmp_path, definition)

    assert (problem.rule, problem.level) == ("duplicate_key", "error")
    assert str(problem.field).endswith("score_aggregators[0].aggregator.score_name")
    assert problem.detail == (
        "`function_call_coverage` already has a score `required_calls_coverage`"
    )
