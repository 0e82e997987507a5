import pytest

from evalwright.spec.records.lint.words import split_words


@pytest.mark.parametrize(
    ("text", "expected", "exact"),
    [
        pytest.param(
            "What is (2+3.5) * 4?", "what is ( 2 + 3.5 ) * 4", "( 2 + 3.5 ) * 4", id="formula"
        ),
        pytest.param(
            "“Don't”, she said.", "don t she said", "", id="quotes and commas do not count"
        ),
        pytest.param("5! is not 5", "5! is not 5", "5! 5", id="a factorial is another number"),
        pytest.param("1,000.5 km", "1,000.5 km", "1,000.5", id="a number with its separators"),
        pytest.param("snake_case ___", "snake case", "", id="underscores"),
        pytest.param(
            "١٢ كتابًا؟", "١٢ كتابًا", "١٢", id="Arabic, its digits, a vowel mark inside a word"
        ),
        pytest.param("2位と3位。", "2 位 と 3 位", "2 3", id="Japanese, a word a character"),
        pytest.param(
            "\uff08\uff12\uff0b\uff13\uff09",
            "( 2 + 3 )",
            "( 2 + 3 )",
            id="full width is the same as narrow",
        ),
        pytest.param("हिन्दी।", "हिन्दी", "", id="Devanagari vowel signs stay in their word"),
        pytest.param("good 👍", "good 👍", "", id="an emoji is a word"),
        pytest.param("6 ÷ 2 ≠ 4", "6 ÷ 2 ≠ 4", "6 ÷ 2 ≠ 4", id="symbols beyond ASCII"),
        pytest.param("?!…", "", "", id="nothing but punctuation"),
    ],
)
def test_words_are_what_is_said(text: str, expected: str, exact: str) -> None:
    found = split_words(text)

    assert b" ".join(found.all).decode() == expected
    assert found.exact.decode() == exact


@pytest.mark.parametrize("text", ["Is 3 > 2?", "a-b (c) 1.5!", "Plain words, plain."])
def test_ascii_has_the_same_words_on_both_paths(text: str) -> None:
    assert split_words(f"{text} é").all == [*split_words(text).all, "é".encode()]
