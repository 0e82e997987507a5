import pytest
from tests.scorers.cases import chat, score

VERDICT = {"type": "starts_with", "ground_truth": "{{ sample.verdict }}"}


@pytest.mark.parametrize(
    ("answer", "target", "is_correct"),
    [
        pytest.param("Yes, because", "Yes", True, id="the start"),
        pytest.param("Yes", "Yes", True, id="all of it"),
        pytest.param("\n  Yes.", "Yes", True, id="white space before is skipped"),
        pytest.param("Yes.", " Yes", True, id="in the ground truth too"),
        pytest.param("Well, Yes", "Yes", False, id="later"),
        pytest.param("yes", "Yes", False, id="case counts"),
        pytest.param("", "Yes", False, id="an empty answer"),
        pytest.param("Ye", "Yes", False, id="too short"),
        pytest.param("نعم، بالتأكيد", "نعم", True, id="Arabic"),
        pytest.param("E\u0301videmment", "\u00c9vid", True, id="two code points against one"),
    ],
)
def test_the_start_is_compared(answer: str, target: str, *, is_correct: bool) -> None:
    found = score(VERDICT, {"verdict": target}, chat(answer))

    assert found.values == {"is_correct": is_correct}
    assert found.correct is is_correct
    assert bool(found.reason) is not is_correct


def test_case_can_be_ignored() -> None:
    assert score({**VERDICT, "ignore_case": "yes"}, {"verdict": "Yes"}, chat("YES!")).correct


@pytest.mark.parametrize("target", ["", "  "])
def test_an_empty_ground_truth_is_an_error_and_no_right_answer(target: str) -> None:
    with pytest.raises(ValueError, match="`ground_truth` rendered to an empty string"):
        score(VERDICT, {"verdict": target}, chat("Yes"))
