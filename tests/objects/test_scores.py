import pytest

from evalwright.objects import SampleScore, SystemTaskMetricEntry, SystemTaskOutput


def test_a_score_is_read_by_attribute_and_by_key() -> None:
    score = SampleScore.from_json({"values": {"x": 1}, "metadata": {"m": 2}})

    assert score.values["x"] == score["values"]["x"] == score.get("values").get("x") == 1
    assert score.metadata == {"m": 2}
    assert score.direct_ios == []
    assert SampleScore({"x": 1}).metadata is None
    assert score.to_json() == {"values": {"x": 1}, "metadata": {"m": 2}, "direct_ios": []}


def test_a_system_task_returns_figures_with_or_without_a_reason() -> None:
    made = SystemTaskOutput(
        metrics={"a b": SystemTaskMetricEntry(1, "why"), "c": {"value": 0.5}},
    )

    assert made.metrics["c"].value == 0.5
    assert made.to_json() == {
        "metrics": {"a b": {"value": 1, "reason": "why"}, "c": {"value": 0.5, "reason": None}}
    }


def test_a_figure_without_a_value_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"missing required field `value`.* - at `metrics.x`"):
        SystemTaskOutput({"x": {"reason": "none"}})
