"""Lesson 70, the format of a task: records, the validator, few-shot rendering, post-process rules.

Only `import evalwright as ew`, as in every module of this folder.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import evalwright as ew

CATEGORIES = ["arithmetic", "mcq", "code_exec", "classification", "summary"]
METRICS = ["exact_match", "f1", "bleu_4", "rouge_l", "accuracy", "code_exec"]
REQUIRED = ["task_id", "category", "prompt", "targets", "metric_name", "post_process"]
SUM: dict[str, Any] = {
    "task_id": "sum_001",
    "category": "arithmetic",
    "prompt": "Give the number alone. Question: 12 + 30\nAnswer:",
    "targets": ["42"],
    "metric_name": "exact_match",
    "few_shot_examples": [{"prompt": "Question: 1 + 1\nAnswer:", "completion": "2"}],
    "post_process": "strip_whitespace",
    "metadata": {"difficulty": "easy"},
}
SHOT = SUM["few_shot_examples"][0]


def broken_rule(**changes: Any) -> tuple[str, str | None]:
    """The rule that a changed record breaks, and the field at fault."""
    with pytest.raises(ew.InvalidTask) as caught:
        ew.validate_task(SUM | changes)
    return caught.value.issue.rule, caught.value.issue.field


def write(path: Path, *lines: dict[str, Any] | str) -> Path:
    text = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return path


def test_a_record_becomes_a_task_with_the_same_fields() -> None:
    task = ew.validate_task(SUM)

    assert isinstance(task, ew.TaskSpec)
    assert (task.task_id, task.category, task.targets) == ("sum_001", "arithmetic", ("42",))
    assert task.metadata == {"difficulty": "easy"}


def test_no_field_of_a_task_can_be_changed() -> None:
    task = ew.validate_task(SUM)

    with pytest.raises(AttributeError):
        task.prompt = "another"  # type: ignore[misc]


def test_the_vocabularies_are_closed_and_published() -> None:
    schema: Any = ew.schema("records")

    assert schema["required"] == REQUIRED
    assert schema["properties"]["category"]["enum"] == CATEGORIES
    assert schema["properties"]["metric_name"]["enum"] == METRICS
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_field_is_required(name: str) -> None:
    with pytest.raises(ew.InvalidTask) as caught:
        ew.validate_task({key: value for key, value in SUM.items() if key != name})

    assert (caught.value.issue.rule, caught.value.issue.field) == ("missing_required", name)


def test_examples_and_metadata_are_optional() -> None:
    task = ew.validate_task({name: SUM[name] for name in REQUIRED})

    assert (task.few_shot_examples, task.metadata) == ((), {})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"grader": "x"}, ("unknown_field", "grader"), id="unknown field"),
        pytest.param({"task_id": "a b"}, ("bad_value", "task_id"), id="whitespace in an id"),
        pytest.param({"category": "poetry"}, ("bad_value", "category"), id="unknown category"),
        pytest.param({"prompt": ""}, ("bad_value", "prompt"), id="empty prompt"),
        pytest.param({"prompt": "1 + 1 "}, ("bad_value", "prompt"), id="trailing whitespace"),
        pytest.param(
            {"prompt": "Add. Question: 1 + 1\nAnswer: 2\n\nAdd. Question: 2 + 2\nAnswer:"},
            ("embedded_few_shot", "prompt"),
            id="a few-shot block",
        ),
        pytest.param(
            {"prompt": "Q: 1 + 1\nQ: 2 + 2"}, ("embedded_few_shot", "prompt"), id="two questions"
        ),
        pytest.param({"targets": []}, ("bad_value", "targets"), id="no target"),
        pytest.param({"targets": "42"}, ("bad_type", "targets"), id="a text as targets"),
        pytest.param({"targets": [42]}, ("bad_type", "targets"), id="a number as target"),
        pytest.param({"metric_name": "wer"}, ("bad_value", "metric_name"), id="unknown metric"),
        pytest.param(
            {"metric_name": "rouge_l"}, ("illegal_metric", "metric_name"), id="an illegal pair"
        ),
        pytest.param(
            {"post_process": "extract_letter"},
            ("illegal_post_process", "post_process"),
            id="an illegal rule",
        ),
        pytest.param(
            {"post_process": ["lower", "none"]}, ("bad_type", "post_process"), id="combined rules"
        ),
        pytest.param(
            {"few_shot_examples": [SHOT] * 9}, ("bad_value", "few_shot_examples"), id="nine shots"
        ),
        pytest.param(
            {"few_shot_examples": [{"prompt": "x"}]},
            ("bad_type", "few_shot_examples"),
            id="an example without its completion",
        ),
        pytest.param(
            {"category": "code_exec", "post_process": "none"},
            ("illegal_metric", "metric_name"),
            id="code has its own metric",
        ),
        pytest.param(
            {"category": "mcq", "targets": ["AB"], "post_process": "none"},
            ("bad_value", "targets"),
            id="two letters",
        ),
        pytest.param(
            {"category": "mcq", "targets": ["A", "B"], "post_process": "none"},
            ("bad_value", "targets"),
            id="two targets of a choice",
        ),
    ],
)
def test_a_malformed_record_is_refused_with_its_rule_and_field(
    changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert broken_rule(**changes) == expected


def test_eight_examples_are_allowed() -> None:
    assert len(ew.validate_task(SUM | {"few_shot_examples": [SHOT] * 8}).few_shot_examples) == 8


def test_a_bad_line_costs_its_record_and_no_other(tmp_path: Path) -> None:
    no_target, other = SUM | {"task_id": "b", "targets": []}, SUM | {"task_id": "c"}
    path = write(tmp_path / "tasks.jsonl", SUM, "{not json", no_target, SUM, other)

    records, errors = ew.validate_file(path)

    assert [record.task_id for record in records] == ["sum_001", "c"]
    assert [(error.line, error.rule, error.field) for error in errors] == [
        (2, "bad_json", None),
        (3, "bad_value", "targets"),
        (4, "duplicate_task_id", "task_id"),
    ]
    assert errors[0].raw == "{not json"


def test_every_category_has_two_fixtures_and_every_metric_one() -> None:
    tasks = ew.load_fixtures()

    assert [task.category for task in tasks] == [name for name in CATEGORIES for _ in range(2)]
    assert {task.metric_name for task in tasks} == set(METRICS)
    assert len({task.post_process for task in tasks}) == 6


def test_examples_are_rendered_in_front_of_the_prompt() -> None:
    text = f"Question: 1 + 1\nAnswer: 2\n\n{SUM['prompt']}"

    assert ew.render(SUM) == text
    assert ew.render(ew.validate_task(SUM)) == text
    assert ew.render({"prompt": "alone"}) == "alone"


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        pytest.param("none", " A \n", " A \n", id="none"),
        pytest.param("strip_whitespace", " A \n", "A", id="strip_whitespace"),
        pytest.param("lower", " Ab ", " ab ", id="lower"),
        pytest.param("extract_letter", "Answer: C", "C", id="extract_letter"),
        pytest.param("extract_letter", "none", "", id="extract_letter without one"),
        pytest.param("extract_code_block", "x\n```python\ny = 1\n```\nz", "y = 1", id="code block"),
        pytest.param("extract_code_block", "y = 1", "y = 1", id="no code block"),
        pytest.param("extract_first_line", "\n\n first \nsecond", "first", id="first line"),
    ],
)
def test_a_post_process_rule_has_one_behaviour(rule: str, text: str, expected: str) -> None:
    assert ew.post_process(text, rule) == expected
    assert ew.post_process(text, rule) == expected


def test_another_rule_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean `lower`"):
        ew.post_process("A", "lowr")
    with pytest.raises(ValueError, match="the text, then the rule"):
        ew.post_process("lower", "A")
