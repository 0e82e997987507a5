"""The metrics of a log are figures, taken as they are; intervals where they can be had."""

import asyncio
import math
from typing import Any

import pytest
from tests.result_logs.sample_logs import FACTS, figure

from evalwright.engine.results import MetricValue
from evalwright.metrics.scores import Measure
from evalwright.result_logs.log_metrics import (
    ScoreColumns,
    add_intervals,
    metrics_from_json,
    metrics_to_json,
)
from evalwright.result_logs.log_outcomes import MalformedLog

RIGHT = [True, True, False, True]


def seen(**fields: Any) -> ScoreColumns:
    made = ScoreColumns()
    for place in range(len(next(iter(fields.values()), []))):
        made.add("equals", {name: values[place] for name, values in fields.items()})
    return made


def figures(
    metrics: Any, numbers: ScoreColumns | None = None, *, total: int = 4
) -> list[MetricValue]:
    known = numbers or seen(is_correct=RIGHT)
    return asyncio.run(add_intervals(metrics_from_json(metrics), known, total=total, seed=0))


def metric(kind: str = "mean", **values: float | None) -> dict[str, Any]:
    """As another program writes it."""
    return {
        "values": values,
        "metric_key": kind,
        "metric_type": kind,
        "scorer_key": "equals",
        "scorer_name": "Exact answer",
        "scorer_purpose": "score",
        "reason": None,
    }


def test_our_own_figures_come_back_as_they_were() -> None:
    made = [figure(), figure(None, metric="f1", type="f1_score", failed=2)]

    assert figures(metrics_to_json(made, FACTS)) == made


def test_figures_of_one_metric_stand_together() -> None:
    pair = [
        figure(measure=Measure(name, 0.5, None, 4, reason))
        for name, reason in (("precision", "rare"), ("recall", "rare"))
    ]

    (made,) = metrics_to_json(pair, FACTS)

    assert made["values"] == {"precision": 0.5, "recall": 0.5}
    assert made["reason"] == "rare"
    assert made["scorer_name"] == "Exact answer"


def test_what_is_undefined_is_nan_in_a_log_and_nothing_here() -> None:
    (made,) = metrics_to_json([figure(measure=Measure("f1", None, None, 0, "no positives"))], FACTS)

    assert math.isnan(made["values"]["f1"])
    (back,) = figures([{**made, "evalwright": None}])
    assert (back.measure.value, back.measure.reason) == (None, "no positives")


def test_a_mean_that_the_samples_give_too_has_their_interval() -> None:
    (made,) = figures([metric(is_correct_mean=0.75)])

    assert made.measure.value == 0.75
    assert made.measure.interval is not None
    assert made.measure.interval.method == "wilson"
    assert made.measure.n == 4


def test_a_mean_under_another_name_is_known_if_there_is_one_score() -> None:
    (made,) = figures([metric(accuracy=0.75)])

    assert made.measure.interval is not None


def test_a_mean_that_the_samples_do_not_give_has_none_and_says_so() -> None:
    (made,) = figures([metric(is_correct_mean=0.7)])

    assert made.measure.value == 0.7, "the figure of the log is kept"
    assert made.measure.interval is None
    assert "the scores of its samples give a different value" in made.measure.reason


def test_two_scores_of_one_average_are_not_confused() -> None:
    (made,) = figures([metric(accuracy=0.75)], seen(a=RIGHT, b=RIGHT))

    assert made.measure.interval is None


def test_a_metric_that_is_not_measured_again_says_so() -> None:
    (made,) = figures([metric("f1_score", f1_score=0.75)])

    assert made.measure.interval is None
    assert "`f1_score` is not recomputed" in made.measure.reason


def test_samples_without_the_score_count_as_failed() -> None:
    (made,) = figures([metric(is_correct_mean=0.75)], total=6)

    assert made.failed == 2


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_figure_is_none_and_says_so(value: float) -> None:
    (made,) = figures([metric(is_correct_mean=value)])

    assert made.measure.value is None
    assert "inf" in made.measure.reason


@pytest.mark.parametrize(
    ("metrics", "path"),
    [
        pytest.param({"a": 1}, "", id="no list"),
        pytest.param([1], "[0]", id="no object"),
        pytest.param([{"metric_key": "a"}], "[0].values", id="no values"),
        pytest.param([{"values": {"a": "high"}}], "[0].values.a", id="a text"),
        pytest.param([{"values": {"a": True}}], "[0].values.a", id="a boolean"),
        pytest.param([{"values": {"a": 1}, "evalwright": {"a": 3}}], "[0].evalwright", id="ours"),
    ],
)
def test_what_is_not_as_it_should_be_has_its_path(metrics: Any, path: str) -> None:
    with pytest.raises(MalformedLog) as refused:
        metrics_from_json(metrics)

    assert refused.value.path == path


def test_numbers_of_many_names_are_not_kept_without_end() -> None:
    many = ScoreColumns()

    many.add("equals", {f"f{number}": number for number in range(1000)})

    assert len(many._columns) < 100
