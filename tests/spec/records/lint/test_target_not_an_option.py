import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import TaskSpec


def details(prompt: str, target: str) -> list[str]:
    task = TaskSpec(
        task_id="t",
        category="mcq",
        prompt=prompt,
        targets=(target,),
        metric_name="exact_match",
        post_process="extract_letter",
    )
    return [one.detail for one in lint_tasks([(1, task)]) if one.rule == "target_not_an_option"]


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        pytest.param("Q\nA) x\nB) y\nC) z", "D", id="one beyond the last"),
        pytest.param("Q A) x B) y", "C", id="in one line"),
        pytest.param("问\nA、水星\nB、金星", "E", id="Chinese"),
        pytest.param("س\n(A) نعم\n(B) لا", "C", id="Arabic"),
    ],
)
def test_a_letter_that_is_not_offered_is_found(prompt: str, target: str) -> None:
    (detail,) = details(prompt, target)

    assert f"the target is {target}, but the prompt offers A, B" in detail


@pytest.mark.parametrize(
    ("prompt", "target"),
    [
        pytest.param("Q\nA) x\nB) y", "B", id="it is offered"),
        pytest.param("Q\na) x\nb) y", "B", id="in small letters"),
        pytest.param("Which of these five?", "E", id="no options were found"),
        pytest.param("A) is the only one found", "B", id="one option is none"),
        pytest.param("Q\nA) x\nB) y C) z", "C", id="options in two shapes"),
        pytest.param("Q\nA) x\nB) y\nD) w\nE) v", "E", id="a letter left out"),
        pytest.param("Q\nA) x\nB) y\n\nC - z", "C", id="another shape for the last"),
    ],
)
def test_what_may_be_an_option_is_left_alone(prompt: str, target: str) -> None:
    assert details(prompt, target) == []
