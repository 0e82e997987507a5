import random
from collections.abc import Sequence

import pytest
from tests.spec.records.made import lint_tasks

from evalwright.spec.records.lint.several_records import chi_square_tail
from evalwright.types import Issue, TaskSpec

FOUR = "Question %d?\nA) w\nB) x\nC) y\nD) z"


def found(letters: Sequence[str], prompt: str = FOUR) -> list[Issue]:
    tasks = (
        TaskSpec(
            task_id=f"t{number}",
            category="mcq",
            prompt=prompt % number,
            targets=(letter,),
            metric_name="exact_match",
            post_process="none",
        )
        for number, letter in enumerate(letters)
    )
    located = enumerate(tasks, start=1)
    return [issue for issue in lint_tasks(located) if issue.rule == "skewed_letters"]


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        pytest.param(
            "A" * 20,
            "of 20 answers A 20, B 0, C 0, D 0: always answering A scores 100%",
            id="always A",
        ),
        pytest.param(
            "C" * 40 + "ABD" * 10,
            "always answering C scores 57% where an even distribution gives 25%",
            id="mostly C",
        ),
        pytest.param("ABC" * 40, "A 40, B 40, C 40, D 0", id="never D"),
    ],
)
def test_a_favourite_letter_is_said_once(letters: str, said: str) -> None:
    (issue,) = found(letters)

    assert said in issue.detail
    assert (issue.line, issue.task_id, issue.field) == (1, None, "targets")


@pytest.mark.parametrize(
    ("letters", "prompt"),
    [
        pytest.param("ABCD" * 10, FOUR, id="even"),
        pytest.param("A" * 19, FOUR, id="too few to tell"),
        pytest.param("AABCD" * 4, FOUR, id="what chance may do"),
        pytest.param("ABCDABCDD" * 2000, FOUR, id="significant, but too slight to matter"),
        pytest.param("AB" * 50, "Question %d?\nA) yes\nB) no", id="even over the letters on offer"),
        pytest.param("A" * 50, "Question %d, without options", id="no options were found"),
    ],
)
def test_an_even_spread_is_left_alone(letters: str, prompt: str) -> None:
    assert found(letters, prompt) == []


def test_chance_is_seldom_taken_for_skew() -> None:
    dice = random.Random(7)

    skewed = sum(bool(found(dice.choices("ABCD", k=30))) for _ in range(300))

    assert skewed <= 2


@pytest.mark.parametrize(
    ("x", "df", "tail"),
    [
        pytest.param(3.841, 1, 0.05, id="1"),
        pytest.param(5.991, 2, 0.05, id="2"),
        pytest.param(7.815, 3, 0.05, id="3"),
        pytest.param(9.488, 4, 0.05, id="4"),
        pytest.param(10.828, 1, 0.001, id="1, far out"),
        pytest.param(13.816, 2, 0.001, id="2, far out"),
        pytest.param(16.266, 3, 0.001, id="3, far out"),
        pytest.param(18.467, 4, 0.001, id="4, far out"),
        pytest.param(18.307, 10, 0.05, id="10"),
        pytest.param(19.675, 11, 0.05, id="11"),
        pytest.param(0.0, 3, 1.0, id="nothing"),
    ],
)
def test_the_tail_agrees_with_the_published_table(x: float, df: int, tail: float) -> None:
    """NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.4."""
    assert chi_square_tail(x, df) == pytest.approx(tail, rel=1e-3)
