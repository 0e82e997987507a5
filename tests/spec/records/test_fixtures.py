import json
from collections import Counter
from typing import Any

import pytest
from tests.spec.records.made import FIELDS, check

from evalwright.lines import read_lines
from evalwright.spec.records.check import validate_file
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD, load_fixtures
from evalwright.types import Issue

RULES = (
    *("bad_encoding", "bad_json", "not_an_object", "missing_required", "unknown_field"),
    *("bad_type", "bad_value", "embedded_few_shot", "illegal_metric", "illegal_post_process"),
    "duplicate_task_id",
)
BAD: list[tuple[str, str | None]] = [
    ("bad_encoding", None),
    *[("bad_json", None)] * 10,
    ("not_an_object", None),
    *[("missing_required", name) for name in FIELDS[:6]],
    ("unknown_field", "difficulty"),
    ("unknown_field", "few_shot_example"),
    ("bad_type", "task_id"),
    ("bad_type", "category"),
    ("bad_type", "prompt"),
    *[("bad_type", "targets")] * 2,
    ("bad_type", "metric_name"),
    ("bad_type", "post_process"),
    *[("bad_type", "few_shot_examples")] * 6,
    *[("bad_type", "metadata")] * 4,
    *[("bad_value", "task_id")] * 2,
    ("bad_value", "category"),
    *[("bad_value", "prompt")] * 3,
    *[("bad_value", "targets")] * 5,
    *[("bad_value", "metric_name")] * 2,
    ("bad_value", "post_process"),
    ("bad_value", "few_shot_examples"),
    *[("bad_value", "metadata")] * 5,
    *[("embedded_few_shot", "prompt")] * 3,
    *[("illegal_metric", "metric_name")] * 5,
    *[("illegal_post_process", "post_process")] * 4,
    ("duplicate_task_id", "task_id"),
]
"""Rule and field of every line of `tasks_bad.jsonl`, in its order."""


def bad_issues() -> list[Issue]:
    return validate_file(TASKS_BAD).errors


def bad_records() -> list[dict[str, Any]]:
    """The records that break nothing but `bad_value`."""
    lines = [*read_lines(str(TASKS_BAD))]
    return [
        json.loads(lines[issue.line - 1]) for issue in bad_issues() if issue.rule == "bad_value"
    ]


def test_the_ten_tasks_are_valid() -> None:
    records, errors = validate_file(TASKS)

    assert errors == []
    assert len(records) == len({task.task_id for task in records}) == 10
    assert load_fixtures() == records


def test_there_are_two_tasks_a_category() -> None:
    assert Counter(task.category for task in load_fixtures()) == {
        "arithmetic": 2,
        "mcq": 2,
        "code_exec": 2,
        "classification": 2,
        "summary": 2,
    }


def test_between_them_they_have_every_metric_and_post_process() -> None:
    tasks = load_fixtures()

    assert {task.metric_name for task in tasks} == {
        *("exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec"),
    }
    assert {task.post_process for task in tasks} == {
        *("none", "strip_whitespace", "lower"),
        *("extract_letter", "extract_code_block", "extract_first_line"),
    }


def test_the_optional_fields_are_shown() -> None:
    tasks = load_fixtures()

    assert any(task.few_shot_examples for task in tasks)
    assert any("timeout_s" in task.metadata for task in tasks)


def test_every_bad_line_is_an_error_and_the_pinned_one() -> None:
    records, errors = validate_file(TASKS_BAD)

    assert records == []
    assert [(issue.rule, issue.field) for issue in errors] == BAD
    assert [issue.line for issue in errors] == [*range(1, len(BAD) + 1)]
    assert len([*read_lines(str(TASKS_BAD))]) == len(BAD)


def test_every_rule_has_a_bad_line() -> None:
    assert set(RULES) == {issue.rule for issue in bad_issues()}


def test_a_bad_line_needs_no_other_but_for_the_duplicate() -> None:
    lines = [*read_lines(str(TASKS_BAD))]

    alone = [next(check([line])) for line in lines]

    assert [(item.rule, item.field) for item in alone if isinstance(item, Issue)] == BAD[:-1]


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        pytest.param("task_id", lambda value: value == "", id="an empty id"),
        pytest.param("task_id", lambda value: " " in value, id="whitespace in an id"),
        pytest.param("category", lambda value: value == "maths", id="a category that is none"),
        pytest.param("prompt", lambda value: value == "", id="an empty prompt"),
        pytest.param("prompt", lambda value: value.endswith(" "), id="a space after a prompt"),
        pytest.param("prompt", lambda value: value.endswith("\n"), id="a newline after a prompt"),
        pytest.param("targets", lambda value: value == [], id="no targets"),
        pytest.param("targets", lambda value: value == ["A", "B"], id="two mcq targets"),
        pytest.param("targets", lambda value: value == ["F"], id="a letter beyond E"),
        pytest.param("targets", lambda value: value == ["a"], id="a small letter"),
        pytest.param("metric_name", lambda value: value == "bleu", id="a metric that is none"),
        pytest.param("post_process", lambda value: value == "strip", id="a rule that is none"),
        pytest.param("few_shot_examples", lambda value: len(value) == 9, id="nine examples"),
        pytest.param("metadata", lambda value: value == {"timeout_s": 0}, id="no time"),
        pytest.param("metadata", lambda value: value == {"timeout_s": 31}, id="too much time"),
        pytest.param("metadata", lambda value: value == {"samples": 0}, id="no samples"),
        pytest.param("metadata", lambda value: value == {"samples": 1001}, id="too many samples"),
    ],
)
def test_every_case_of_a_bad_value_has_a_line(name: str, is_there: Any) -> None:
    assert any(is_there(broken[name]) for broken in bad_records() if name in broken)
