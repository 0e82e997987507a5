import pytest
from tests.scorers.cases import chat, score

WORDS = {"type": "contains_all", "targets": "{{ sample.words }}"}


@pytest.mark.parametrize(
    ("answer", "words", "coverage"),
    [
        pytest.param("Ada was born in 1815", ["Ada", "1815"], 1, id="all"),
        pytest.param("Ada was born", ["Ada", "1815"], 0.5, id="one of two"),
        pytest.param("a b c", ["a", "b", "d", "e"], 0.5, id="two of four"),
        pytest.param("Grace", ["Ada", "1815"], 0, id="none"),
        pytest.param("ada 1815", ["Ada", "1815"], 0.5, id="case counts"),
        pytest.param("", ["Ada"], 0, id="an empty answer"),
        pytest.param("ولدت آدا في لندن", ["آدا", "لندن"], 1, id="Arabic"),
        pytest.param("Cafe\u0301 Zu\u0308rich", ["Caf\u00e9", "Z\u00fcrich"], 1, id="another form"),
    ],
)
def test_every_target_is_looked_for(answer: str, words: list[str], coverage: float) -> None:
    found = score(WORDS, {"words": words}, chat(answer))

    assert found.values == {"is_correct": coverage == 1, "coverage": coverage}
    assert found.correct is (coverage == 1)
    assert bool(found.reason) is (coverage < 1)


def test_a_wrong_answer_says_what_is_missing() -> None:
    found = score(WORDS, {"words": ["Ada", "1815", "a"]}, chat("Ada"))

    assert found.reason == "'Ada' does not contain '1815'"


def test_case_can_be_ignored() -> None:
    fields = {**WORDS, "ignore_case": True}

    assert score(fields, {"words": ["Ada", "BORN"]}, chat("ada was born")).correct


def test_without_targets_no_answer_is_right() -> None:
    with pytest.raises(ValueError, match="`targets` rendered to an empty list"):
        score(WORDS, {"words": []}, chat("Ada"))
