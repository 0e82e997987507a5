"""What is wrong with a `rag_checker` is said when its document is read, at its place."""

import re
from pathlib import Path

import pytest
from tests.spec.documents.made import DATASET, project

START = """key: t
display_name: T
description: D
definition:
  dataset: {key: countries}
  solver: {type: pass_through_solver, trace_column: trace}
  scorers:
    - type: rag_checker
"""
JUDGE = "      judge_model_key: openai/judge\n"
OF_ROWS = START.replace("  solver: {type: pass_through_solver, trace_column: trace}\n", "")


def told(folder: Path, text: str) -> list[tuple[int, str, str, str]]:
    made = project(folder, {"tasks/t.yaml": text, "datasets/d.yaml": DATASET}, "tasks/t.yaml")
    return [(one.line, one.rule, one.detail, one.hint) for one in made.problems]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param("", id="the least"),
        pytest.param(
            """\
      key: rag
      purpose: qa
      display_name: Retrieval
      query_column: question
      target_column: target
      scores_to_compute: [precision, faithfulness]
      metrics: [{type: mean, field: precision}, {type: min, field: faithfulness}]
""",
            id="the older format",
        ),
        pytest.param(
            """\
      target_column: null
      scores_to_compute: null
      target_claims_column: target_claims
      response_claims_column: response_claims
      claim_extraction_instructions: Keep dates apart.
      mode: required_and_optional
      target_labels_column: target_labels
      response_labels_column: response_labels
      claim_labeling_instructions: Dates are required.
      metrics: [{type: mean, field: required_precision}, {type: mean, field: precision}]
""",
            id="the newer format",
        ),
    ],
)
def test_all_fields_of_both_formats_are_taken(tmp_path: Path, fields: str) -> None:
    assert told(tmp_path, f"{START}{JUDGE}{fields}") == []


@pytest.mark.parametrize(
    ("fields", "line", "rule", "detail", "hint"),
    [
        pytest.param(
            f"{JUDGE}      scores_to_compute: [precison]\n",
            10,
            "bad_value",
            "expected one of `precision`, `recall`, `f1_score`",
            "did you mean `precision`?",
            id="a score that is none",
        ),
        pytest.param(
            f"{JUDGE}      scores_to_compute: []\n",
            10,
            "bad_value",
            "expected at least 1 item, got an empty `list`",
            "",
            id="no scores",
        ),
        pytest.param("", 8, "missing_key", "`judge_model_key` is missing", "", id="no judge"),
        pytest.param(
            f"{JUDGE}      mode: required\n",
            10,
            "bad_value",
            "expected one of `all_claims`, `required_only`, `required_and_optional`",
            "",
            id="a mode that is none",
        ),
        pytest.param(
            f"{JUDGE}      response_labels_column: labels\n",
            8,
            "bad_value",
            "`response_labels_column` needs `response_claims_column`",
            "",
            id="labels without claims",
        ),
        pytest.param(
            f"{JUDGE}      metrics: [{{type: mean, field: required_recall}}]\n",
            10,
            "unknown_score",
            "`rag_checker` has no score `required_recall`",
            "",
            id="a score of another mode",
        ),
        pytest.param(
            f"{JUDGE}      scores_to_compute: [recall]\n"
            "      metrics: [{type: mean, field: precision}]\n",
            11,
            "unknown_score",
            "`rag_checker` has no score `precision`; its scores are `recall`",
            "",
            id="a score that is not computed",
        ),
        pytest.param(
            "      judge_model_key: jugde\n",
            9,
            "unknown_model",
            "the project has no model `jugde`",
            "",
            id="a judge that is not there",
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(
    tmp_path: Path, fields: str, line: int, rule: str, detail: str, hint: str
) -> None:
    (found,) = told(tmp_path, f"{START}{fields}")

    assert found[:2] == (line, rule)
    assert found[2].startswith(detail)
    assert hint in found[3]


def test_scores_mode_and_columns_may_be_parameters(tmp_path: Path) -> None:
    parameters = """\
config_spec:
  - {type: list, dtype: string, key: scores, display_name: S, default_value: [recall]}
  - {type: categorical, key: mode, display_name: M, default_value: required_only,
     allowed_values: [all_claims, required_only]}
  - {type: dataset_column, key: column, display_name: C, default_value: capital}
definition:
"""
    fields = (
        '      scores_to_compute: "<< config.scores >>"\n      mode: "<< config.mode >>"\n'
        '      target_column: "<< config.column >>"\n'
        "      metrics: [{type: mean, field: required_recall}]\n"
    )

    for folder, text in (
        ("given", parameters),
        ("open", re.sub(r", default_value: \[?\w+\]?", "", parameters)),
    ):
        whole = START.replace("definition:", text)
        assert told(tmp_path / folder, f"{whole}{JUDGE}{fields}") == []


def test_without_a_solver_there_is_no_answer_to_take_apart(tmp_path: Path) -> None:
    (found,) = told(tmp_path, f"{OF_ROWS}{JUDGE}")

    assert found == (
        7,
        "conflict",
        "`rag_checker` scores an answer, but a task without a solver has none",
        "for recorded answers, write `solver: {type: pass_through_solver}`",
    )
