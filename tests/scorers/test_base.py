from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS

from evalwright.scorers.base import ScorerSpec
from evalwright.types import Sample

FIELDS: dict[str, Any] = {"type": "string_equals", "ground_truth": "{{ sample.target }}"}


def scorer(**fields: Any) -> ScorerSpec:
    made: ScorerSpec = SCORERS.validate_python({**FIELDS, **fields})
    return made


def test_what_is_not_said_has_its_default() -> None:
    found = scorer()

    assert (found.key, found.purpose, found.display_name) == (None, "score", None)
    assert found.metrics is None


def test_no_metrics_are_not_the_default_ones() -> None:
    assert scorer(metrics=[]).metrics == []


def test_metrics_are_read_as_metrics() -> None:
    [mean] = scorer(metrics=[{"type": "mean", "field": "is_correct"}]).metrics or []

    assert mean.type == "mean"


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param({"type": "meen", "field": "a"}, id="an unknown type"),
        pytest.param({"type": "mean"}, id="no field"),
        pytest.param({"type": "mean", "field": "a", "feild": "a"}, id="an unknown key"),
        pytest.param("mean", id="a name"),
    ],
)
def test_what_is_no_metric_is_refused(metric: Any) -> None:
    with pytest.raises(ValidationError):
        scorer(metrics=[metric])


@pytest.mark.parametrize("key", ["a", "A-b_9", "k" * 250])
def test_a_key_has_letters_digits_dashes_and_underscores(key: str) -> None:
    assert scorer(key=key).key == key


@pytest.mark.parametrize("key", ["", "a b", "a.b", "a$b", "é", "a\n", "k" * 251])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValidationError):
        scorer(key=key)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"key": "other"}, id="its key"),
        pytest.param({"purpose": "qa"}, id="its purpose"),
        pytest.param({"display_name": "Other"}, id="its name"),
        pytest.param({"metrics": []}, id="its metrics"),
    ],
)
def test_what_cannot_move_a_score_is_not_read(fields: dict[str, Any]) -> None:
    sample = Sample("a", {"target": "x"})

    assert scorer(**fields).describe_inputs(sample) == scorer().describe_inputs(sample)


@pytest.mark.parametrize(
    ("fields", "row"),
    [
        pytest.param({"ground_truth": "x"}, {"target": "x"}, id="a template"),
        pytest.param({"value": "{{ sample.a }}"}, {"target": "x"}, id="one that was not there"),
        pytest.param({}, {"target": "y"}, id="the row"),
        pytest.param({}, {"target": "x", "a": None}, id="a column more"),
    ],
)
def test_what_can_move_a_score_is_read(fields: dict[str, Any], row: dict[str, Any]) -> None:
    found = scorer(**fields).describe_inputs(Sample("a", row))

    assert found != scorer().describe_inputs(Sample("a", {"target": "x"}))


def test_the_id_of_a_sample_is_not_read() -> None:
    assert scorer().describe_inputs(Sample("a", {})) == scorer().describe_inputs(Sample("b", {}))


def test_a_scorer_is_frozen() -> None:
    with pytest.raises(ValidationError):
        scorer().key = "other"
