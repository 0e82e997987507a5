import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError
from tests.metrics.cases import METRICS

from evalwright.registry import BUILT_IN, load


@pytest.mark.parametrize("name", sorted(BUILT_IN["metrics"]))
def test_every_metric_of_the_registry_is_one_of_a_document(name: str) -> None:
    cls = load("metrics", name)

    assert cls.model_fields["type"].annotation.__args__ == (name,)
    with pytest.raises(ValidationError) as caught:
        METRICS.validate_python({"type": name, "unknown": 1})
    assert {error["loc"][0] for error in caught.value.errors()} == {name}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"type": "avg", "field": "x"},
            "'avg' found using 'type' does not match",
            id="unknown type",
        ),
        pytest.param({"field": "x"}, "Unable to extract tag", id="no type"),
        pytest.param({"type": "mean"}, "mean.field", id="no field"),
        pytest.param({"type": "mean", "field": "x", "key": "a b"}, "mean.key", id="a bad key"),
        pytest.param({"type": "mean", "field": ""}, "mean.field", id="an empty field"),
        pytest.param(
            {"type": "python", "compute_metrics_snippet": "def f(:"}, "line 1: ", id="no Python"
        ),
        pytest.param(
            {"type": "binary_classification"}, "binary-classification", id="an underscore"
        ),
    ],
)
def test_what_is_no_metric_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        METRICS.validate_python(given)


def test_reading_a_document_does_not_import_numpy() -> None:
    load = "from evalwright.registry import load_components; load_components('metrics')"
    code = f"import sys; {load}; sys.exit('numpy' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_metric_without_groups_is_dumped_as_before_there_were_groups() -> None:
    mean = {"type": "mean", "field": "x"}

    plain, grouped = (
        METRICS.validate_python(fields).model_dump(mode="json", exclude_none=True)
        for fields in (mean, {**mean, "by": "{{ sample.x }}"})
    )

    assert plain == mean
    assert grouped == {**mean, "by": "{{ sample.x }}"}
    assert "by" not in METRICS.validate_python(mean).model_dump()
