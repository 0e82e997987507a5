"""How often a sample is tried, as a task document says it."""

from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import DATASET, project, told

from evalwright.spec.documents.models.trials import TrialsDefinition, score_names_over_trials
from evalwright.types import Issue

TASK = """key: capitals
display_name: Capitals
description: D
definition:
  dataset: {{key: countries}}
  solver:
    type: single_turn_solver
    {more}
    input_builder:
      type: chat_completion
      input_messages: [{{role: user, content: "{{{{ sample.country }}}}"}}]
  trials:
    num_trials: 5
    score_aggregators:
      - {{score_name: {score}, aggregator: {aggregator}}}
      - {{score_name: is_correct, aggregator: {{function: max, score_name: ever}}}}
  scorers:
    - type: string_equals
      ground_truth: a
      metrics: [{{type: mean, field: {field}}}]
"""
POSTPROCESSOR = (
    "postprocessor: {type: python, postprocess_snippet: "
    '"def postprocess(sample, solver_output): return []"}'
)


def problems(
    folder: Path, aggregator: str, *, score: str = "is_correct", field: str = "ever", more: str = ""
) -> list[Issue]:
    text = TASK.format(aggregator=aggregator, score=score, field=field, more=more)
    files = {"tasks/t.yaml": text, "datasets/d.yaml": DATASET}
    found = project(folder, files, "tasks/t.yaml").problems
    return [one for one in found if one.rule != "no_model"]


@pytest.mark.parametrize(
    ("aggregator", "field"),
    [
        pytest.param("{function: pass@k, k: 3}", "pass@3", id="the short name of a rate"),
        pytest.param("{function: pass@k, k: 3}", "is_correct.pass@3", id="the long name"),
        pytest.param("{function: pass^k, k: 5}", "pass^5", id="of all"),
        pytest.param("{function: min}", "is_correct.min", id="score and function"),
        pytest.param("{function: min, score_name: worst}", "worst", id="a given name"),
        pytest.param("{function: mean}", "is_correct", id="the bare name stays"),
        pytest.param("{function: min}", "is_correct.mean", id="the mean is always there"),
    ],
)
def test_a_metric_finds_what_was_brought_together(
    tmp_path: Path, aggregator: str, field: str
) -> None:
    assert problems(tmp_path, aggregator, field=field) == []


@pytest.mark.parametrize(
    ("aggregator", "more", "rule", "field"),
    [
        pytest.param(
            "{function: pass@k}", {}, "missing_key", "[0].aggregator.k", id="a rate needs k"
        ),
        pytest.param(
            "{function: min, k: 2}", {}, "conflict", "[0].aggregator.k", id="no other has k"
        ),
        pytest.param(
            "{function: pass^k, k: 0}", {}, "bad_value", "[0].aggregator.k", id="k from 1"
        ),
        pytest.param(
            "{function: median}", {}, "bad_value", "[0].aggregator.function", id="a function"
        ),
        pytest.param(
            "{function: min, scor_name: x}", {}, "unknown_key", "[0].aggregator.scor_name", id="key"
        ),
        pytest.param(
            "{function: min, score_name: ever}",
            {},
            "duplicate_key",
            "[1].aggregator.score_name",
            id="a name twice",
        ),
        pytest.param(
            "{function: min}", {"score": "correct"}, "unknown_score", "[0].score_name", id="a score"
        ),
    ],
)
def test_a_mistake_in_trials_is_told_at_its_place(
    tmp_path: Path, aggregator: str, more: dict[str, str], rule: str, field: str
) -> None:
    found = problems(tmp_path, aggregator, **more)

    assert len(found) == 1, told(found)
    assert found[0].rule == rule
    assert found[0].field == f"definition.trials.score_aggregators{field}"
    assert found[0].level == "error"


def test_a_score_that_no_scorer_gives_is_told_with_the_nearest(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "{function: min}", score="is_corect")

    assert problem.detail == "no scorer has a score `is_corect`; the scores are `is_correct`"
    assert problem.hint == "did you mean `is_correct`?"


def test_a_metric_of_a_name_that_nothing_gives_is_told(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "{function: pass@k, k: 3}", field="pass@4")

    assert problem.rule == "unknown_score"
    assert problem.hint == "did you mean `pass@3`?"


def test_more_than_the_trials_is_a_warning(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "{function: pass@k, k: 6}")

    assert (problem.rule, problem.level) == ("suspicious_k", "warning")
    assert problem.detail == "k = 6 is more than the 5 trials: the value is extrapolated"


def test_trials_of_several_samples_in_one_cannot_be_put_side_by_side(tmp_path: Path) -> None:
    found = problems(tmp_path, "{function: min}", more=POSTPROCESSOR)

    assert [(one.rule, one.field) for one in found] == [("conflict", "definition.trials")], told(
        found
    )


def definition(*aggregators: dict[str, Any]) -> TrialsDefinition:
    return TrialsDefinition.model_validate({"num_trials": 2, "score_aggregators": aggregators})


def test_the_short_name_is_given_where_it_is_clear() -> None:
    both = [
        {"score_name": name, "aggregator": {"function": "pass@k", "k": 2}} for name in ("a", "b")
    ]

    assert [names for _, names in definition(*both).with_names()] == [("a.pass@2",), ("b.pass@2",)]
    assert [names for _, names in definition(both[0]).with_names()] == [("a.pass@2", "pass@2")]


def test_a_scorer_has_the_names_of_its_own_scores_only() -> None:
    one = {"score_name": "a", "aggregator": {"function": "min"}}

    assert score_names_over_trials(definition(one), ["b"]) == ["b", "b.mean"]
    assert score_names_over_trials(definition(one), ["a", "b"], texts=["b"]) == [
        "a",
        "b",
        "a.min",
        "a.mean",
    ]
    assert score_names_over_trials(None, ["a"]) == ["a"]
