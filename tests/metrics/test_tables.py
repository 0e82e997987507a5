"""The table of metrics: what the figures of each are called, and what they are made of."""

import asyncio
from typing import Any

import pytest
from tests.metrics.cases import METRICS, measures

from evalwright.components import snippets_in
from evalwright.metrics.scores import Scores
from evalwright.snippets.direct import DirectSnippets
from evalwright.snippets.sources import collect_sources

TP, FP, FN = "num_true_positives_field", "num_false_positives_field", "num_false_negatives_field"
COUNTS = {TP: "tp", FP: "fp", FN: "fn"}
PAIR = {"field_gt": "gt", "field_pred": "pred"}
SCORES: list[dict[str, Any]] = [
    {"x": 1, "label": "a", "tp": 3, "fp": 1, "fn": 1, "gt": "a", "pred": "a"},
    {"x": 3, "label": "b", "tp": 0, "fp": 1, "fn": 1, "gt": "b", "pred": "a"},
]


def only(*names: str) -> dict[str, str]:
    return {name: COUNTS[name] for name in names}


ROWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"type": "mean", "field": "x"}, {"x_mean": 2.0}),
    ({"type": "max", "field": "x"}, {"x_max": 3.0}),
    ({"type": "min", "field": "x"}, {"x_min": 1.0}),
    ({"type": "std_dev", "field": "x"}, {"x_std_dev": pytest.approx(2**0.5)}),
    ({"type": "frequency", "field": "label"}, {"label_a": 0.5, "label_b": 0.5}),
    ({"type": "recall", **only(TP, FN)}, {"recall": 0.6}),
    ({"type": "precision", **only(TP, FP)}, {"precision": 0.6}),
    ({"type": "f1_score", **COUNTS}, {"f1_score": 0.6}),
    (
        {
            "type": "binary-classification",
            **PAIR,
            "positive_answer": "a",
            "negative_answer": "b",
        },
        {
            "accuracy": 0.5,
            "precision": 0.5,
            "recall": 1.0,
            "f1_score": pytest.approx(2 / 3),
            "num_true_positives": 1,
            "num_false_positives": 1,
            "num_true_negatives": 0,
            "num_false_negatives": 0,
        },
    ),
    (
        {"type": "multiclass-classification", **PAIR},
        {
            "accuracy": 0.5,
            "macro_f1": 1 / 3,
            "micro_f1": 0.5,
            "weighted_f1": 1 / 3,
            "a_precision": 0.5,
            "a_recall": 1.0,
            "a_f1_score": 2 / 3,
            "b_precision": None,
            "b_recall": 0.0,
            "b_f1_score": 0.0,
        },
    ),
    (
        {"type": "weighted_average", "field": "label", "weights": {"a": 1, "b": 0.5}},
        {"label_weighted_average": 0.75},
    ),
]


@pytest.mark.parametrize(
    ("fields", "figures"), [pytest.param(*row, id=row[0]["type"]) for row in ROWS]
)
def test_a_metric_has_the_figures_of_its_row(
    fields: dict[str, Any], figures: dict[str, Any]
) -> None:
    assert {one.name: one.value for one in measures(fields, SCORES)} == figures


@pytest.mark.parametrize("word", ["def", "async def"])
def test_a_metric_in_python_has_the_figures_that_it_returns(word: str) -> None:
    source = (
        "from latticeflow.core.dtypes import SampleScore\n"
        f"{word} compute_metrics(scores: list[SampleScore]) -> dict[str, float]:\n"
        "    assert all(isinstance(one, SampleScore) for one in scores)\n"
        "    return {'sum of x': sum(one.values['x'] for one in scores)}\n"
    )

    async def work() -> list[Any]:
        metric = METRICS.validate_python({"type": "python", "compute_metrics_snippet": source})
        scores = Scores(metric.fields())
        for one in SCORES:
            scores.add(one, {})
        snippets = DirectSnippets(collect_sources(snippets_in(metric)))
        try:
            found: list[Any] = await metric.measure(scores, seed=0, snippets=snippets)
        finally:
            await snippets.close()
        return found

    assert [(one.name, one.value) for one in asyncio.run(work())] == [("sum of x", 4.0)]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(fields, id=fields["type"])
        for fields, figures in ROWS
        if len(figures) == 1 and fields["type"] != "frequency"
    ],
)
def test_a_figure_may_have_a_name_of_its_own(fields: dict[str, Any]) -> None:
    (found,) = measures({**fields, "name": "A name, with spaces"}, SCORES)

    assert found.name == "A name, with spaces"


def test_metadata_are_not_measured() -> None:
    metric = METRICS.validate_python({"type": "mean", "field": "tokens"})
    scores = Scores(metric.fields())
    scores.add({"accuracy": 0.95}, {"tokens": 123})

    with pytest.raises(
        ValueError, match="no score has the field `tokens`; the fields are: `accuracy`"
    ):
        asyncio.run(metric.measure(scores, seed=0, snippets=None))
