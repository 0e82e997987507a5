import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import Example, TaskSpec

STORY = (
    "A farmer walks to the market with a basket of eggs and sells most of them before noon, "
    "then he buys bread for his family and walks slowly home. What did he buy?"
)


def details(prompt: str, target: str, *examples: tuple[str, str]) -> list[str]:
    task = TaskSpec(
        task_id="t",
        category="classification",
        prompt=prompt,
        targets=(target,),
        metric_name="exact_match",
        post_process="none",
        few_shot_examples=tuple(Example(*example) for example in examples),
    )
    return [one.detail for one in lint_tasks([(1, task)]) if one.rule == "answer_in_examples"]


@pytest.mark.parametrize(
    ("prompt", "target", "examples", "said"),
    [
        pytest.param(
            "3 + 4 =",
            "7",
            [("1 + 1 =", "2"), ("3 + 4 =", "7")],
            "[1]` asks the same question as the record and shows its",
            id="equal",
        ),
        pytest.param(
            "3 + 4 =",
            "7",
            [("3  +  4 =", "8")],
            "shows a different answer",
            id="equal, with another answer",
        ),
        pytest.param(
            "Add. Question: 3 + 4\nAnswer:",
            "7",
            [("Question: 3 + 4\nAnswer:", " 7")],
            "[0]`",
            id="inside the prompt",
        ),
        pytest.param("Is it, so?", "yes", [("is it so", "Yes.")], "[0]`", id="punctuation aside"),
        pytest.param(
            STORY, "bread", [(STORY.replace("slowly", "back"), "bread")], "[0]`", id="nearly"
        ),
        pytest.param("هل هذا صحيح؟", "نعم", [("هل هذا صحيح", "نعم")], "[0]`", id="Arabic"),
        pytest.param(
            "天空是蓝色的吗\uff1f", "是", [("天空是蓝色的吗?", "是")], "[0]`", id="Chinese"
        ),
    ],
)
def test_an_example_with_the_record_s_own_question_is_found(
    prompt: str, target: str, examples: list[tuple[str, str]], said: str
) -> None:
    (detail,) = details(prompt, target, *examples)

    assert said in detail


TEMPLATE = (
    "Is the following review of a film that was shown last year good or bad? "
    "Answer with one word. Review: it was %s. Answer:"
)


@pytest.mark.parametrize(
    ("prompt", "target", "examples"),
    [
        pytest.param(
            "3 + 5 =",
            "8",
            [("3 + 4 =", "7"), ("4 + 4 =", "8")],
            id="another question, the same answer",
        ),
        pytest.param("13 + 4 =", "7", [("3 + 4 =", "7")], id="13 does not hold 3"),
        pytest.param(
            TEMPLATE % "fun",
            "good",
            [(TEMPLATE % "nice", "good"), (TEMPLATE % "dull", "bad")],
            id="a template",
        ),
        pytest.param(
            STORY,
            "bread",
            [(STORY.replace("buy?", "sell?"), "eggs")],
            id="nearly, with another answer",
        ),
        pytest.param("Say yes.", "yes", [("Yes", "yes")], id="too little to be a question"),
        pytest.param("?", "yes", [("!", "yes")], id="no words"),
        pytest.param("Is it so?", "yes", [], id="no examples"),
    ],
)
def test_other_examples_are_left_alone(
    prompt: str, target: str, examples: list[tuple[str, str]]
) -> None:
    assert details(prompt, target, *examples) == []


def test_a_very_long_example_is_read_too() -> None:
    long = STORY * 100

    assert len(details(long, "bread", (long, "bread"))) == 1
