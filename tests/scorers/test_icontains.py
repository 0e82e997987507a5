import pytest
from tests.scorers.cases import chat, score

CITY = {"type": "icontains", "ground_truth": "{{ sample.city }}"}


@pytest.mark.parametrize(
    ("answer", "target", "is_correct"),
    [
        pytest.param("IT IS PARIS", "Paris", True, id="another case"),
        pytest.param("It is Paris", "Paris", True, id="the same case"),
        pytest.param("It is Rome", "Paris", False, id="no match"),
        pytest.param("", "Paris", False, id="an empty answer"),
        pytest.param("ZU\u0308RICH", "z\u00fcrich", True, id="another case and form"),
        pytest.param("إنها باريس", "باريس", True, id="Arabic has no case"),
    ],
)
def test_the_ground_truth_is_looked_for_in_any_case(
    answer: str, target: str, *, is_correct: bool
) -> None:
    found = score(CITY, {"city": target}, chat(answer))

    assert found.values == {"is_correct": is_correct}
    assert bool(found.reason) is not is_correct


def test_it_is_contains_with_ignored_case() -> None:
    long = {"type": "contains", "ground_truth": "{{ sample.city }}", "ignore_case": True}

    for answer in ("PARIS", "paris!", "Rome", ""):
        row = {"city": "Paris"}
        assert score(CITY, row, chat(answer)) == score(long, row, chat(answer))


def test_an_empty_ground_truth_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty string"):
        score(CITY, {"city": ""}, chat("Paris"))
