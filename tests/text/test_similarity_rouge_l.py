import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.similarity import rouge_l, tokens

# "a" and "97" are there because rapidfuzz takes the string "a" for the number 97.
WORDS = st.lists(st.sampled_from(["a", "97", "b", "bb", "é", "猫"]), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("prediction", "target", "expected"),
    [
        # 2 · longest common subsequence / (words of the prediction + words of the target)
        pytest.param("a b c", "a b c", 2 * 3 / (3 + 3), id="equal"),
        pytest.param("police kill the gunman", "police killed the gunman", 2 * 3 / 8, id="Lin S2"),
        pytest.param("the gunman kill police", "police killed the gunman", 2 * 2 / 8, id="Lin S3"),
        pytest.param("a x b y c", "a b c", 2 * 3 / (5 + 3), id="gaps are allowed"),
        pytest.param("c b a", "a b c", 2 * 1 / (3 + 3), id="order counts"),
        pytest.param("a a a", "a", 2 * 1 / (3 + 1), id="a word matches once"),
        pytest.param("A, b!", "a B", 2 * 2 / (2 + 2), id="case and punctuation aside"),
        pytest.param("a", "97", 0.0, id="a letter is not its code"),
        pytest.param("dog", "cat", 0.0, id="nothing shared"),
        pytest.param("", "", 1.0, id="both empty"),
        pytest.param("?!", " ", 0.0, id="both without words, another text"),
        pytest.param(" ?!", "?!\n", 1.0, id="both without words, the same text"),
        pytest.param("", "cat", 0.0, id="empty prediction"),
        pytest.param("cat", "", 0.0, id="empty target"),
        pytest.param("قط أسود كبير", "قط كبير", 2 * 2 / (3 + 2), id="Arabic"),
        pytest.param("猫 狗", "狗 猫", 2 * 1 / (2 + 2), id="CJK, spaced"),
        pytest.param("👍", "👎", 0.0, id="emoji are no words: another one is wrong"),
        pytest.param("👍", "👍", 1.0, id="emoji are no words: the same one is right"),
        pytest.param("", "👍", 0.0, id="an empty prediction is no emoji"),
        pytest.param("e\u0301", "e", 2 * 1 / (1 + 1), id="a combining mark is no word"),
    ],
)
def test_hand_computed(prediction: str, target: str, expected: float) -> None:
    assert rouge_l(prediction, [target]) == expected


def test_the_best_target_counts() -> None:
    assert rouge_l("a b", ["x", "a b c", "a"]) == 2 * 2 / (2 + 3)


def test_without_targets_there_is_no_score() -> None:
    with pytest.raises(ValueError, match="empty"):
        rouge_l("x", [])


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    above = [0] * (len(other) + 1)
    for word in one:
        here = [0]
        for column, wanted in enumerate(other, start=1):
            here.append(
                above[column - 1] + 1 if word == wanted else max(above[column], here[column - 1])
            )
        above = here
    return above[-1]


@given(WORDS | st.text(), WORDS | st.text())
def test_equal_to_the_plain_table(prediction: str, target: str) -> None:
    one, other = tokens(prediction), tokens(target)
    size = len(one) + len(other)

    expected = (
        2 * longest_common_subsequence(one, other) / size
        if size
        else float(prediction.strip() == target.strip())
    )

    assert rouge_l(prediction, [target]) == expected


@given(st.integers(0, 2**32 - 1), st.sampled_from([63, 64, 65, 200]))
def test_equal_to_the_plain_table_beyond_a_machine_word(seed: int, length: int) -> None:
    one = [str(seed * (position + 1) * 2_654_435_761 % 1_000_003 % 7) for position in range(length)]
    other = [str((seed + 1) * (position + 3) ** 2 % 1_000_003 % 7) for position in range(length)]

    expected = 2 * longest_common_subsequence(one, other) / (2 * length)

    assert rouge_l(" ".join(one), [" ".join(other)]) == expected


@given(WORDS | st.text(), WORDS | st.text())
def test_bounded_and_symmetric(one: str, other: str) -> None:
    value = rouge_l(one, [other])

    assert isinstance(value, float)
    assert 0.0 <= value <= 1.0
    assert value == rouge_l(other, [one])


@given(WORDS | st.text())
def test_a_text_against_itself_is_1(text: str) -> None:
    assert rouge_l(text, [text]) == 1.0


@given(WORDS, st.lists(WORDS, min_size=1), WORDS)
def test_another_target_never_lowers_the_score(text: str, targets: list[str], extra: str) -> None:
    assert rouge_l(text, [*targets, extra]) >= rouge_l(text, targets)


def test_importing_it_does_not_import_rapidfuzz() -> None:
    program = "import sys, evalwright.text.similarity; print('rapidfuzz' in sys.modules)"

    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert shown.stdout.strip() == "False"
