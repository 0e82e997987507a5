from collections import Counter
from math import exp, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.similarity import bleu_4, tokens

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "é", "猫"]), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("prediction", "target", "expected"),
    [
        # brevity · ((matches + 1)/(n-grams + 1), for 1 to 4 words, multiplied) ^ 1/4
        pytest.param("a b c d e", "a b c d e", 1.0, id="equal"),
        pytest.param(
            "the cat sat on the mat",
            "the cat is on the mat",
            (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25,  # the·cat·on·the·mat; the cat, on the, …
            id="one word replaced",
        ),
        pytest.param(
            "the the the the the the the",
            "the cat is on the mat",
            (3 / 8 * 1 / 7 * 1 / 6 * 1 / 5) ** 0.25,  # Papineni's example: 2 of 7 after clipping
            id="matches are clipped",
        ),
        pytest.param(
            "a b c d",
            "a b c d e f g h",
            exp(1 - 8 / 4) * 1.0,
            id="a prediction half as long pays the brevity penalty",
        ),
        pytest.param(
            "a b c d e f g h",
            "a b c d",
            (5 / 9 * 4 / 8 * 3 / 7 * 2 / 6) ** 0.25,
            id="a longer prediction pays in precision alone",
        ),
        pytest.param(
            "w x y z", "a b c d", (1 / 5 * 1 / 4 * 1 / 3 * 1 / 2) ** 0.25, id="nothing shared"
        ),
        pytest.param("A, b! C d", "a b c D", 1.0, id="case and punctuation aside"),
        pytest.param("a b", "a b", 1.0, id="short and equal: an order without n-grams is 1/1"),
        pytest.param("x", "a", (1 / 2) ** 0.25, id="one wrong word: the other orders are 1/1"),
        pytest.param("x y", "a b", (1 / 3 * 1 / 2) ** 0.25, id="two wrong words"),
        pytest.param("x", "", (1 / 2) ** 0.25, id="empty target: no match, no brevity penalty"),
        pytest.param("", "a", 0.0, id="empty prediction"),
        pytest.param("", "", 0.0, id="empty prediction, even against an empty target"),
        pytest.param("👍", "👍", 0.0, id="emoji are no words: empty"),
        pytest.param("قط أسود", "قط أبيض", (2 / 3 * 1 / 2) ** 0.25, id="Arabic"),
        pytest.param("猫 狗", "狗 猫", (3 / 3 * 1 / 2) ** 0.25, id="CJK, spaced"),
        pytest.param("e\u0301", "e", 1.0, id="a combining mark is no word"),
    ],
)
def test_hand_computed(prediction: str, target: str, expected: float) -> None:
    assert bleu_4(prediction, [target]) == pytest.approx(expected, rel=1e-12)


def test_the_best_target_counts_each_on_its_own() -> None:
    targets = ["a b x y", "p q c d"]  # together they would match every word

    assert bleu_4("a b c d", targets) == pytest.approx(
        (3 / 5 * 2 / 4 * 1 / 3 * 1 / 2) ** 0.25, rel=1e-12
    )


def test_without_targets_there_is_no_score() -> None:
    with pytest.raises(ValueError, match="empty"):
        bleu_4("x", [])


def plain_bleu(predicted: list[str], target: list[str]) -> float:
    if not predicted:
        return 0.0
    precisions = []
    for n in (1, 2, 3, 4):
        have = Counter(tuple(predicted[i : i + n]) for i in range(len(predicted) - n + 1))
        want = Counter(tuple(target[i : i + n]) for i in range(len(target) - n + 1))
        matches = sum(min(count, want[ngram]) for ngram, count in have.items())
        precisions.append((matches + 1) / (sum(have.values()) + 1))
    brevity = exp(1 - len(target) / len(predicted)) if len(predicted) < len(target) else 1.0
    return float(brevity * prod(precisions) ** 0.25)


@given(WORDS | st.text(), WORDS | st.text())
def test_equal_to_the_formula_written_out(prediction: str, target: str) -> None:
    expected = plain_bleu(tokens(prediction), tokens(target))

    assert bleu_4(prediction, [target]) == pytest.approx(expected, rel=1e-12)


@given(WORDS | st.text(), WORDS | st.text())
def test_bounded(prediction: str, target: str) -> None:
    value = bleu_4(prediction, [target])

    assert isinstance(value, float)
    assert 0.0 <= value <= 1.0


@given(WORDS | st.text())
def test_a_text_against_itself_is_1_if_it_has_words(text: str) -> None:
    assert bleu_4(text, [text]) == (1.0 if tokens(text) else 0.0)


@given(WORDS, st.lists(WORDS, min_size=1), WORDS)
def test_another_target_never_lowers_the_score(text: str, targets: list[str], extra: str) -> None:
    assert bleu_4(text, [*targets, extra]) >= bleu_4(text, targets)
