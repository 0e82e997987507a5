import re
from importlib import import_module
from textwrap import dedent
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from tests.scorers.cases import SCORERS

from evalwright.components import field_docs
from evalwright.registry import BUILT_IN, load
from evalwright.scorers.base import ScorerSpec
from evalwright.spec.documents.checks.task_rules import COMPARE_ANSWERS

NAMES = sorted(BUILT_IN["scorers"])
SCRIPT = "def compute_scores(sample): ..."
ASKING = {"model_key": "judge", "user_prompt": "?"}
# One line a scorer of the table in the contract: its least, and its default metrics.
TABLE: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({"type": "bleu", "ground_truth": "a"}, [("mean", "bleu_score")]),
    ({"type": "string_equals", "ground_truth": "a"}, [("mean", "is_correct")]),
    ({"type": "contains", "ground_truth": "a"}, [("mean", "is_correct")]),
    ({"type": "icontains", "ground_truth": "a"}, [("mean", "is_correct")]),
    ({"type": "starts_with", "ground_truth": "a"}, [("mean", "is_correct")]),
    ({"type": "contains_any", "targets": ["a"]}, [("mean", "is_correct")]),
    (
        {"type": "contains_all", "targets": ["a"]},
        [("mean", "is_correct"), ("mean", "coverage")],
    ),
    ({"type": "exact_match", "ground_truth": "a"}, [("mean", "is_correct")]),
    ({"type": "equals_number", "ground_truth": "1"}, [("mean", "is_correct")]),
    ({"type": "latency"}, [("mean", "latency_s")]),
    ({"type": "cost"}, [("mean", "cost")]),
    ({"type": "json_schema"}, [("mean", "is_correct")]),
    ({"type": "regex_match", "pattern": "a"}, [("mean", "is_correct")]),
    ({"type": "levenshtein", "ground_truth": "a"}, [("mean", "similarity")]),
    ({"type": "rouge_l", "ground_truth": "a"}, [("mean", "rouge_l_score")]),
    ({"type": "chrf", "ground_truth": "a"}, [("mean", "chrf_score")]),
    (
        {"type": "string_equals_mcqa", "ground_truth_choice": "A", "choices": "[]"},
        [("mean", "is_correct")],
    ),
    ({"type": "python", "compute_scores_snippet": SCRIPT}, []),
    ({"type": "python_all_samples", "compute_scores_snippet": SCRIPT}, []),
    (
        {"type": "function_call_coverage", "function_calls": "[]"},
        [("mean", "all_required_calls_made"), ("mean", "required_calls_coverage")],
    ),
    ({"type": "code_exec", "targets": ["f() == 1"]}, [("mean", "score")]),
    ({"type": "semantic_similarity", "ground_truth": "a"}, [("mean", "similarity")]),
    (
        {
            "type": "model_as_a_judge_classifier",
            **ASKING,
            "correct_labels": ["a"],
            "incorrect_labels": ["b"],
        },
        [("mean", "is_correct")],
    ),
    ({"type": "model_as_a_judge_scorer", **ASKING}, [("mean", "score")]),
    ({"type": "labeler_via_model", **ASKING}, [("frequency", "label")]),
    ({"type": "llm_rubric", "model_key": "judge", "rubric": "a"}, [("mean", "is_correct")]),
    ({"type": "pairwise_judge", "model_key": "judge", "opponent": "a"}, [("mean", "score")]),
    (
        {"type": "rag_checker", "judge_model_key": "judge"},
        [
            ("mean", "precision"),
            ("mean", "recall"),
            ("mean", "f1_score"),
            ("mean", "claim_recall"),
            ("mean", "context_precision"),
            ("mean", "context_utilization"),
            ("mean", "noise_sensitivity_in_relevant"),
            ("mean", "noise_sensitivity_in_irrelevant"),
            ("mean", "hallucination"),
            ("mean", "self_knowledge"),
            ("mean", "faithfulness"),
        ],
    ),
]
ROWS = [pytest.param(*row, id=row[0]["type"]) for row in TABLE]


@pytest.mark.parametrize(("fields", "metrics"), ROWS)
def test_a_scorer_is_told_by_its_type(
    fields: dict[str, Any], metrics: list[tuple[str, str]]
) -> None:
    scorer = SCORERS.validate_python(fields)

    assert type(scorer) is load("scorers", fields["type"])
    assert scorer.name == fields["type"]
    assert scorer.version >= 1
    assert list(scorer.default_metrics) == metrics


@pytest.mark.parametrize(("fields", "metrics"), ROWS)
def test_every_required_field_is_required(
    fields: dict[str, Any], metrics: list[tuple[str, str]]
) -> None:
    del metrics
    for name in fields:
        with pytest.raises(ValidationError):
            SCORERS.validate_python({key: value for key, value in fields.items() if key != name})


def example_of(name: str) -> dict[str, Any]:
    """The scorer that the docstring of its module shows."""
    docstring = import_module(load("scorers", name).__module__).__doc__ or ""
    block = re.search(r"^    scorers:\n(?:(?:    .*)?\n)+", f"{docstring}\n", re.MULTILINE)
    assert block, f"the docstring of `{name}` shows no `scorers:`"
    (example,) = yaml.load(dedent(block[0]), Loader=Reader)["scorers"]  # noqa: S506 - a SafeLoader
    return dict(example)


class Reader(yaml.SafeLoader):
    """Reads a script for every file that an example includes."""


Reader.add_constructor("!include", lambda *_: SCRIPT)


@pytest.mark.parametrize("name", NAMES)
def test_its_module_shows_an_example_that_is_legal(name: str) -> None:
    scorer = SCORERS.validate_python(example_of(name))

    assert type(scorer) is load("scorers", name)


@pytest.mark.parametrize("name", NAMES)
def test_all_have_the_common_fields_and_no_others_than_their_own(name: str) -> None:
    common = {"key": "k", "purpose": "qa", "display_name": "K", "metrics": []}

    assert SCORERS.validate_python({**example_of(name), **common}).purpose == "qa"
    with pytest.raises(ValidationError):
        SCORERS.validate_python({**example_of(name), "colour": "red"})


@pytest.mark.parametrize("name", NAMES)
def test_every_field_says_what_it_is_for(name: str) -> None:
    scorer = load("scorers", name)

    assert [field for field in scorer.model_fields if field not in field_docs(scorer)] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_a_scorer_has_metrics_for_it_gives(name: str) -> None:
    scorer: ScorerSpec = SCORERS.validate_python(example_of(name))

    assert scorer.score_names is not None or not scorer.default_metrics
    assert {field for _, field in scorer.default_metrics} <= set(scorer.score_names or ())


def test_every_scorer_that_compares_the_answer_by_default_is_checked_for_a_value() -> None:
    """Without a solver there is no answer, and `validate` asks for a `value`."""
    assert {name for name in NAMES if "value" in load("scorers", name).model_fields} == (
        COMPARE_ANSWERS
    )


def test_every_scorer_of_the_contract_is_built_in() -> None:
    assert {fields["type"] for fields, _ in TABLE} <= set(NAMES)


@pytest.mark.parametrize(
    "fields", [{"type": "other"}, {}, {"type": "record"}, {"type": "self_report"}, {"type": None}]
)
def test_another_type_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        SCORERS.validate_python(fields)


def test_there_is_a_schema_of_all() -> None:
    schema = SCORERS.json_schema()

    assert set(schema["discriminator"]["mapping"]) == set(NAMES)
