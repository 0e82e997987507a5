from pathlib import Path
from typing import Any

import pytest
from tests.spec.documents.made import DATASET, project

HEAD = "key: t\ndisplay_name: T\ndescription: D\n"
TASK = """\
definition:
  dataset: {key: countries}
  solver: {type: pass_through_solver, trace_column: trace}
  scorers:
    - type: %s
      model_key: openai/gpt-4.1-nano
      user_prompt: "{{ sample.answer }}"
"""
CLASSIFIER = TASK % "model_as_a_judge_classifier"
SCORER = TASK % "model_as_a_judge_scorer"
LABELER = TASK % "labeler_via_model"


def problems(folder: Path, text: str) -> list[tuple[Any, ...]]:
    files = {"tasks/t.yaml": HEAD + text, "datasets/d.yaml": DATASET}
    found = project(folder, files, "tasks/t.yaml").problems
    return [(one.line, one.rule, one.field, one.detail) for one in found]


@pytest.mark.parametrize(
    ("text", "line", "rule", "field", "detail"),
    [
        pytest.param(
            f"{CLASSIFIER}      correct_labels: [yes, fine]\n      incorrect_labels: [no, fine]\n",
            12,
            "label_twice",
            "incorrect_labels[1]",
            "the label `fine` is also in `correct_labels`: a label must have only one meaning",
            id="in both lists",
        ),
        pytest.param(
            f"{LABELER}      valid_labels: [a b, c, a  b]\n",
            11,
            "label_twice",
            "valid_labels[2]",
            "the labels `a b` and `a  b` are the same: spaces are ignored",
            id="spaces do not tell apart",
        ),
        pytest.param(
            f'{CLASSIFIER}      correct_labels: ["*ok*"]\n      incorrect_labels: [no, ok]\n',
            12,
            "label_twice",
            "incorrect_labels[1]",
            "the label `ok` is also in `correct_labels`, as `*ok*`: "
            "a label must have only one meaning",
            id="in both lists, with marks",
        ),
        pytest.param(
            f"{LABELER}      valid_labels: [A, b, A.]\n",
            11,
            "label_twice",
            "valid_labels[2]",
            "the labels `A` and `A.` are the same: quotes and periods are ignored",
            id="a period does not tell apart",
        ),
        pytest.param(
            f"{LABELER}      valid_labels: [c, c]\n",
            11,
            "label_twice",
            "valid_labels[1]",
            "the label `c` is in this list twice",
            id="twice",
        ),
        pytest.param(
            f'{LABELER}      valid_labels: [c, " "]\n',
            11,
            "blank_label",
            "valid_labels[1]",
            "expected a label, got only spaces",
            id="blank",
        ),
        pytest.param(
            f'{LABELER}      valid_labels: [c, ""]\n',
            11,
            "bad_value",
            "valid_labels[1]",
            "expected a string of at least 1 character, got an empty string",
            id="empty",
        ),
        pytest.param(
            f"{CLASSIFIER}      correct_labels: [a]\n      incorrect_labels: []\n",
            12,
            "bad_value",
            "incorrect_labels",
            "expected at least 1 item, got an empty `list`",
            id="no label",
        ),
        pytest.param(
            f"{SCORER}      score_min: 1\n      score_max: 1\n",
            12,
            "empty_scale",
            "score_max",
            "expected `score_max` above `score_min`, got 1 and 1",
            id="a scale without a width",
        ),
        pytest.param(
            f"{SCORER}      score_min: 5\n",
            11,
            "empty_scale",
            "score_min",
            "expected `score_max` above `score_min`, got 1 and 5",
            id="above the highest that is meant",
        ),
        pytest.param(
            f'{SCORER}      score_max: "5"\n',
            11,
            "wrong_type",
            "score_max",
            "expected `float`, got `str`",
            id="a text for a number",
        ),
    ],
)
def test_what_a_judge_could_not_answer_is_told_at_its_place(
    tmp_path: Path, text: str, line: int, rule: str, field: str, detail: str
) -> None:
    assert problems(tmp_path, text) == [(line, rule, f"definition.scorers[0].{field}", detail)]


PLACES = f"{SCORER}      score_max: 2\n"


@pytest.mark.parametrize(
    ("text", "line", "rule", "field", "detail"),
    [
        pytest.param(
            f"{PLACES}      verdict_position: json\n      verdict_pattern: (.)\n",
            13,
            "conflict",
            "verdict_pattern",
            "`verdict_position: json` reads a key of the JSON and does not use `verdict_pattern`",
            id="JSON and a pattern",
        ),
        pytest.param(
            f"{PLACES}      use_structured_outputs: yes\n      verdict_position: last_line\n",
            13,
            "conflict",
            "verdict_position",
            "`verdict_position` finds no verdict in the JSON replies of `use_structured_outputs`",
            id="a schema and a line",
        ),
        pytest.param(
            f"{PLACES}      verdict_pattern: (.)\n      use_structured_outputs: true\n",
            12,
            "conflict",
            "verdict_pattern",
            "`verdict_pattern` finds no verdict in the JSON replies of `use_structured_outputs`",
            id="a schema and a pattern",
        ),
        pytest.param(
            f"{PLACES}      verdict_position: first\n",
            12,
            "bad_value",
            "verdict_position",
            "expected one of `first_line`, `last_line`, `json`, got `first`",
            id="an unknown position",
        ),
        pytest.param(
            f"{PLACES}      verdict_pattern: 'Score: (\\d'\n",
            12,
            "bad_value",
            "verdict_pattern",
            "not a regular expression: missing ) at character 11",
            id="no regular expression",
        ),
        pytest.param(
            f"{PLACES}      verdict_pattern: 'Score: \\d'\n",
            12,
            "bad_value",
            "verdict_pattern",
            "expected a regular expression with one group, got none: `Score: \\d`",
            id="no group",
        ),
    ],
)
def test_a_place_where_no_verdict_can_be_is_told_at_its_place(
    tmp_path: Path, text: str, line: int, rule: str, field: str, detail: str
) -> None:
    assert problems(tmp_path, text) == [(line, rule, f"definition.scorers[0].{field}", detail)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{LABELER}      valid_labels: [a, A, b]\n", id="labels of a labeler"),
        pytest.param(
            f"{CLASSIFIER}      correct_labels: [Right]\n      incorrect_labels: [wrong, right]\n",
            id="labels of both lists",
        ),
        pytest.param(
            f"{PLACES}      verdict_position: json\n      use_structured_outputs: true\n",
            id="JSON with a schema",
        ),
        pytest.param(
            f"{PLACES}      verdict_position: last_line\n      verdict_pattern: 'is (.)'\n",
            id="a pattern on a line",
        ),
    ],
)
def test_labels_in_two_cases_and_places_that_agree_are_allowed(tmp_path: Path, text: str) -> None:
    assert problems(tmp_path, text) == []


def test_all_labels_that_read_alike_are_told_at_once(tmp_path: Path) -> None:
    text = f"{CLASSIFIER}      correct_labels: [a, a., b]\n      incorrect_labels: [b, a, c]\n"

    assert [one[2].rpartition(".")[2] for one in problems(tmp_path, text)] == [
        "correct_labels[1]",
        "incorrect_labels[0]",
        "incorrect_labels[1]",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{SCORER}      score_min: << config.low >>\n", id="the lowest"),
        pytest.param(f"{SCORER}      score_max: << config.low >>\n      score_min: 3\n", id="both"),
        pytest.param(
            f"{CLASSIFIER}      correct_labels: << config.labels >>\n"
            "      incorrect_labels: [text, b]\n",
            id="a list of labels",
        ),
        pytest.param(
            f"{CLASSIFIER}      correct_labels: [<< config.label >>]\n"
            "      incorrect_labels: [<< config.label >>]\n",
            id="a label",
        ),
        pytest.param(f"{PLACES}      verdict_pattern: << config.label >>\n", id="a pattern"),
        pytest.param(
            f"{PLACES}      verdict_position: << config.label >>\n      verdict_pattern: (.)\n",
            id="a position",
        ),
    ],
)
def test_nothing_is_said_of_values_that_are_not_known_yet(tmp_path: Path, text: str) -> None:
    spec = (
        "config_spec:\n"
        "  - {type: float, key: low, display_name: L}\n"
        "  - {type: list, dtype: string, key: labels, display_name: L}\n"
        "  - {type: string, key: label, display_name: L}\n"
    )

    assert problems(tmp_path, spec + text) == []
