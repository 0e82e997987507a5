from typing import Any

from tests.scorers.cases import SCORERS

from evalwright.components import Component
from evalwright.spec.documents.checks.build import check_scores

CALLS = {"type": "function_call_coverage", "function_calls": "[]"}
OWN = {"type": "python", "compute_scores_snippet": "def compute_scores(sample): ..."}
EXACT = {"type": "string_equals", "ground_truth": "a"}


class Definition(Component):
    scorers: list[Any]


class Document(Component):
    definition: Definition


def found(scorer: dict[str, Any], *metrics: dict[str, Any]) -> list[tuple[Any, str, str]]:
    made = SCORERS.validate_python({**scorer, "metrics": list(metrics)})
    document = Document(definition=Definition(scorers=[made]))
    return [(one.path, one.detail, one.hint) for one in check_scores(document)]


def test_a_score_that_a_scorer_does_not_give_is_named_with_the_nearest() -> None:
    assert found(
        EXACT, {"type": "max", "field": "is_correct"}, {"type": "mean", "field": "corect"}
    ) == [
        (
            ("definition", "scorers", 0, "metrics", 1, "field"),
            "`string_equals` has no score `corect`; its scores are `is_correct`",
            "",
        )
    ]


def test_every_field_of_a_metric_is_looked_at() -> None:
    fields = {
        "num_true_positives_field": "num_required_calls_made",
        "num_false_positives_field": "x",
    }

    ((path, detail, _),) = found(CALLS, {"type": "precision", **fields})

    assert path[-1] == "num_false_positives_field"
    assert detail.startswith("`function_call_coverage` has no score `x`; its scores are `all_")


def test_what_an_authors_own_scorer_gives_nobody_knows_yet() -> None:
    assert found(OWN, {"type": "mean", "field": "anything"}) == []


def test_a_metric_of_its_own_python_reads_what_it_likes() -> None:
    snippet = "def compute_metrics(scores): ..."

    assert found(EXACT, {"type": "python", "compute_metrics_snippet": snippet}) == []
