import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import TaskSpec


def details(prompt: str, target: str = "A", category: str = "mcq") -> list[str]:
    task = TaskSpec(
        task_id="t",
        category=category,  # type: ignore[arg-type]  # a word of the vocabulary
        prompt=prompt,
        targets=(target,),
        metric_name="exact_match",
        post_process="none",
    )
    return [one.detail for one in lint_tasks([(1, task)]) if one.rule == "duplicate_options"]


@pytest.mark.parametrize(
    ("prompt", "target", "said"),
    [
        pytest.param(
            "Q\nA) Rome\nB) Oslo\nC) Rome",
            "A",
            "A and C both say `Rome`: only one",
            id="the right one",
        ),
        pytest.param(
            "Q\nA) Rome\nB) Oslo\nC) Oslo",
            "A",
            "B and C both say `Oslo`: one of them is",
            id="wrong ones",
        ),
        pytest.param("Q A) x B) y C) x", "B", "A and C", id="in one line"),
        pytest.param("Q\nA) two  words\nB) two words", "A", "A and B", id="whitespace aside"),
        pytest.param("问\nA. 水星\nB. 金星\nC. 水星", "A", "A and C", id="Chinese"),
        pytest.param("س\nA. نعم\nB. نعم", "A", "A and B", id="Arabic"),
    ],
)
def test_two_options_that_say_the_same_are_found(prompt: str, target: str, said: str) -> None:
    (detail,) = details(prompt, target)

    assert said in detail


@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("Q\nA) Rome\nB) Oslo", id="all differ"),
        pytest.param("Q\nA) dna\nB) DNA", id="case may be the point"),
        pytest.param("Q\nA) Rome\nB) Rome, Georgia", id="one begins like the other"),
        pytest.param(
            "Q\nA) x = 1\n   y = 2\nB) x = 1\n   y = 3", id="several lines, the first alike"
        ),
        pytest.param("Q\nA)\nB)\nC)", id="options without text"),
        pytest.param("A: Hi\nB: Hi\nA: Bye\nB: Bye\nWho began?", id="a dialogue"),
    ],
)
def test_options_that_differ_are_left_alone(prompt: str) -> None:
    assert details(prompt) == []


def test_other_categories_have_no_options() -> None:
    assert details("Q\nA) Rome\nB) Rome", category="summary") == []
