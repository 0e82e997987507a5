import pytest
from tests.scorers.cases import chat, score

CITY = {"type": "contains", "ground_truth": "{{ sample.city }}"}


@pytest.mark.parametrize(
    ("answer", "target", "is_correct"),
    [
        pytest.param("It is Paris.", "Paris", True, id="inside"),
        pytest.param("Paris", "Paris", True, id="all of it"),
        pytest.param("It is paris.", "Paris", False, id="case counts"),
        pytest.param("It is Rome.", "Paris", False, id="no match"),
        pytest.param("", "Paris", False, id="an empty answer"),
        pytest.param("Parisian", "Paris", True, id="inside a word"),
        pytest.param("Cafe\u0301 de Flore", "Caf\u00e9", True, id="two code points against one"),
        pytest.param("Cafe\u0301", "Cafe", False, id="a letter is not its accented form"),
        pytest.param("العاصمة هي باريس.", "باريس", True, id="Arabic"),
        pytest.param("عمان", "باريس", False, id="Arabic, no match"),
        pytest.param("there are 15", 5, True, id="a number, as it prints"),
        pytest.param("{{ sample.city }}", "{{ sample.city }}", True, id="data is no template"),
    ],
)
def test_the_ground_truth_is_looked_for(answer: str, target: object, *, is_correct: bool) -> None:
    found = score(CITY, {"city": target}, chat(answer))

    assert found.values == {"is_correct": is_correct}
    assert found.correct is is_correct
    assert found.metadata == {"answer_gt": str(target), "answer_pred": answer}
    assert bool(found.reason) is not is_correct


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        pytest.param("it is PARIS.", "Paris", id="Latin"),
        pytest.param("ΑΘΉΝΑ", "Αθήνα", id="Greek"),
        pytest.param("STRASSE", "Straße", id="sharp s"),
        pytest.param("A\u030aRHUS", "\u00c5rhus", id="decomposed"),
    ],
)
def test_case_can_be_ignored(answer: str, target: str) -> None:
    assert not score(CITY, {"city": target}, chat(answer)).correct
    assert score({**CITY, "ignore_case": True}, {"city": target}, chat(answer)).correct


def test_a_wrong_answer_says_what_was_looked_for() -> None:
    assert score(CITY, {"city": "Bern"}, chat("Basel")).reason == "'Basel' does not contain 'Bern'"


def test_an_empty_ground_truth_is_an_error_and_no_right_answer() -> None:
    with pytest.raises(ValueError, match="`ground_truth` rendered to an empty string"):
        score(CITY, {"city": ""}, chat("Paris"))


def test_a_value_may_be_given() -> None:
    assert score({**CITY, "value": "{{ sample.text }}"}, {"city": "b", "text": "abc"}).correct
