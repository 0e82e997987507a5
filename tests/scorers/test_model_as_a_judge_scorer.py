from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS
from tests.scorers.judging.judges import SCORER, Judge, judged

from evalwright.plan.task_outlines import scorer_metrics
from evalwright.scorers.judging.verdicts import NoVerdict


@pytest.mark.parametrize(
    ("lowest", "highest", "reply", "score"),
    [
        (0, 1, "0.25", 0.25),
        (1, 5, "1", 0.0),
        (1, 5, "2", 0.25),
        (1, 5, "5", 1.0),
        (-2, 2, "-1", 0.25),
        (-2, -1, "-1.5", 0.5),
        (0, 100, "33/100", 0.33),
    ],
)
def test_the_score_is_where_the_number_stands_on_the_scale(
    lowest: float, highest: float, reply: str, score: float
) -> None:
    found = judged({**SCORER, "score_min": lowest, "score_max": highest}, Judge(reply))

    assert found.values == {"score": pytest.approx(score)}
    assert found.metadata["raw_score"] == float(reply.partition("/")[0])
    assert found.correct is None


def test_a_number_below_the_highest_has_its_reason() -> None:
    assert judged(SCORER, Judge("8")).reason == "the judge's rating: 8 of 10"
    assert judged(SCORER, Judge("10")).reason == ""


@pytest.mark.parametrize("reply", ["0", "6", '{"score": 5.01}', "-1"])
def test_a_number_outside_the_scale_is_a_failure_and_is_not_moved_into_it(reply: str) -> None:
    with pytest.raises(NoVerdict, match=r"outside \[1, 5\]"):
        judged({**SCORER, "score_min": 1, "score_max": 5}, Judge(reply))


def test_the_schema_has_the_bounds_of_the_scale() -> None:
    schema = SCORERS.validate_python(SCORER).reply_schema

    assert schema.properties["score"] == {"type": "number", "minimum": 0.0, "maximum": 10.0}


@pytest.mark.parametrize(
    ("lowest", "highest"), [(1, 1), (2, 1), (0, float("nan")), (0, 1e300), (0, True), (0, "5")]
)
def test_a_scale_without_a_width_is_refused(lowest: Any, highest: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        SCORERS.validate_python({**SCORER, "score_min": lowest, "score_max": highest})

    assert caught.value.errors()[0]["loc"][-1] == "score_max"


def test_the_default_metric_is_the_mean() -> None:
    metrics: list[Any] = [one for _, one in scorer_metrics(SCORERS.validate_python(SCORER)).metrics]

    assert [one.value_name for one in metrics] == ["score_mean"]
