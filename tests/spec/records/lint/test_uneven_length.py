from collections.abc import Sequence

import pytest
from tests.spec.records.made import lint_tasks

from evalwright.types import Issue, TaskSpec

USUAL = (90, 95, 100, 104, 108, 110, 112, 115, 120, 130)
SPREAD = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120)


def found(lengths: Sequence[int], category: str = "summary") -> list[Issue]:
    tasks = (
        TaskSpec(
            task_id=f"t{number}",
            category=category,  # type: ignore[arg-type]  # a word of the vocabulary
            prompt=f"{number} ".ljust(length, "x"),
            targets=("A",),
            metric_name="exact_match",
            post_process="none",
        )
        for number, length in enumerate(lengths)
    )
    located = enumerate(tasks, start=1)
    return [issue for issue in lint_tasks(located) if issue.rule == "uneven_length"]


@pytest.mark.parametrize(
    ("lengths", "line", "said"),
    [
        pytest.param(
            (*USUAL, 4000),
            11,
            "4,000 characters, where the median of `summary` is 110",
            id="far longer",
        ),
        pytest.param((4, *USUAL), 1, "check whether something was cut off", id="far shorter"),
        pytest.param(
            (100,) * 10 + (800,), 11, "800 characters", id="all others alike, and 8 times"
        ),
        pytest.param((*SPREAD, 30_000), 11, "pasted in", id="50 times, whatever the spread"),
    ],
)
def test_a_prompt_far_off_is_found(lengths: Sequence[int], line: int, said: str) -> None:
    (issue,) = found(lengths)

    assert said in issue.detail
    assert (issue.line, issue.task_id) == (line, f"t{line - 1}")


@pytest.mark.parametrize(
    "lengths",
    [
        pytest.param(USUAL, id="usual"),
        pytest.param((*USUAL, 700), id="seven times is not far"),
        pytest.param((*USUAL[:8], 9000), id="too few to say what is usual"),
        pytest.param(SPREAD, id="a wide spread"),
        pytest.param((*USUAL, *USUAL, 9000, 9100), id="several of another kind: a mixed category"),
    ],
)
def test_a_usual_prompt_is_left_alone(lengths: Sequence[int]) -> None:
    assert found(lengths) == []


def test_categories_have_usual_lengths_of_their_own() -> None:
    tasks = [
        TaskSpec(
            task_id=f"{category}{number}",
            category=category,  # type: ignore[arg-type]  # a word of the vocabulary
            prompt=f"{number} ".ljust(length, "x"),
            targets=("A",),
            metric_name="exact_match",
            post_process="none",
        )
        for category, length in (("summary", 5000), ("arithmetic", 20))
        for number in range(20)
    ]

    assert list(lint_tasks(enumerate(tasks, start=1))) == []
