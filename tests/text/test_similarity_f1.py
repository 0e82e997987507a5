import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.similarity import f1

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "猫"]), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("prediction", "target", "expected"),
    [
        # 2 · shared / (words of the prediction + words of the target)
        pytest.param("the cat sat", "the cat sat", 2 * 3 / (3 + 3), id="equal"),
        pytest.param("the cat", "the cat sat", 2 * 2 / (2 + 3), id="a word missing"),
        pytest.param("sat cat the", "the cat sat", 2 * 3 / (3 + 3), id="order does not count"),
        pytest.param("the the the", "the cat", 2 * 1 / (3 + 2), id="a word counts once a match"),
        pytest.param("the the cat", "the the", 2 * 2 / (3 + 2), id="a repeated word counts twice"),
        pytest.param("The, CAT!", "the cat", 2 * 2 / (2 + 2), id="case and punctuation aside"),
        pytest.param("dog", "cat", 0.0, id="nothing shared"),
        pytest.param("", "", 1.0, id="both empty"),
        pytest.param("?!", " ", 0.0, id="both without words, another text"),
        pytest.param(" ?!", "?!\n", 1.0, id="both without words, the same text"),
        pytest.param("", "cat", 0.0, id="empty prediction"),
        pytest.param("cat", "", 0.0, id="empty target"),
        pytest.param("قط أسود", "قط أبيض", 2 * 1 / (2 + 2), id="Arabic"),
        pytest.param("猫 狗", "猫", 2 * 1 / (2 + 1), id="CJK, spaced"),
        pytest.param("👍", "👎", 0.0, id="emoji are no words: another one is wrong"),
        pytest.param("👍", "👍", 1.0, id="emoji are no words: the same one is right"),
        pytest.param("", "👍", 0.0, id="an empty prediction is no emoji"),
        pytest.param("e\u0301", "e", 2 * 1 / (1 + 1), id="a combining mark is no word"),
    ],
)
def test_hand_computed(prediction: str, target: str, expected: float) -> None:
    assert f1(prediction, [target]) == expected


def test_the_best_target_counts() -> None:
    assert f1("the cat", ["dog", "the cat sat", "the"]) == 2 * 2 / (2 + 3)


def test_without_targets_there_is_no_score() -> None:
    with pytest.raises(ValueError, match="empty"):
        f1("x", [])


@given(WORDS | st.text(), WORDS | st.text())
def test_bounded_and_symmetric(one: str, other: str) -> None:
    value = f1(one, [other])

    assert isinstance(value, float)
    assert 0.0 <= value <= 1.0
    assert value == f1(other, [one])


@given(WORDS | st.text())
def test_a_text_against_itself_is_1(text: str) -> None:
    assert f1(text, [text]) == 1.0


@given(WORDS, st.lists(WORDS, min_size=1), WORDS)
def test_another_target_never_lowers_the_score(text: str, targets: list[str], extra: str) -> None:
    assert f1(text, [*targets, extra]) >= f1(text, targets)
