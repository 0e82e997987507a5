import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import Example, TaskSpec


def task(name: str, prompt: str, target: str = "41", **others: object) -> TaskSpec:
    fields: dict[str, object] = {"category": "arithmetic", "metric_name": "exact_match"} | others
    return TaskSpec(
        task_id=name,
        prompt=prompt,
        targets=(target,),
        post_process="none",
        **fields,  # type: ignore[arg-type]  # words of the vocabulary
    )


def details(*tasks: TaskSpec) -> dict[str | None, str]:
    located = enumerate(tasks, start=1)
    return {
        one.task_id: one.detail for one in lint_tasks(located) if one.rule == "duplicate_prompt"
    }


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param("What is 17 + 24?", id="equal"),
        pytest.param("what is  17 + 24?", id="case and spaces aside"),
        pytest.param("What is\n17 +\t24?", id="line breaks aside"),
    ],
)
def test_the_same_prompt_names_the_first(copy: str) -> None:
    found = details(task("a", "What is 17 + 24?"), task("b", "What is 8 + 1?"), task("c", copy))

    assert found == {"c": "the same prompt as line 1 (`a`), so the record counts twice; remove one"}


def test_every_copy_names_the_first() -> None:
    found = details(task("a", "سؤال واحد"), task("b", "سؤال واحد"), task("c", "سؤال واحد"))

    assert all("line 1 (`a`)" in detail for detail in found.values())
    assert set(found) == {"b", "c"}


@pytest.mark.parametrize(
    ("category", "metric", "said"),
    [
        pytest.param(
            "arithmetic",
            "exact_match",
            "at most one of the records can be right",
            id="one is wrong",
        ),
        pytest.param(
            "summary", "rouge_l", "merge them into one record", id="two summaries may both be right"
        ),
        pytest.param("code_exec", "code_exec", "merge them into one record", id="so may two tests"),
    ],
)
def test_other_targets_are_said(category: str, metric: str, said: str) -> None:
    kind = {"category": category, "metric_name": metric}

    found = details(task("a", "几?", "1", **kind), task("b", "几?", "2", **kind))

    assert said in found["b"]


def test_a_copy_in_another_category_is_found() -> None:
    found = details(task("a", "Why?"), task("b", "Why?", category="summary"))

    assert found == {"b": "the same prompt as line 1 (`a`), in a different category; remove one"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            task("a", "What is 17 + 24?"), task("b", "What is 17 + 25?"), id="another number"
        ),
        pytest.param(
            task("a", "What is it?"), task("b", "What is it"), id="punctuation is near_duplicate's"
        ),
        pytest.param(
            task("a", "What is it?"),
            task("b", "What is it?", few_shot_examples=(Example("x", "y"),)),
            id="without and with examples",
        ),
    ],
)
def test_another_text_is_left_alone(one: TaskSpec, other: TaskSpec) -> None:
    assert details(one, other) == {}
