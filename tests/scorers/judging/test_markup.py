import pytest

from evalwright.scorers.judging.markup import (
    has_words,
    parse_named_line,
    remove_end_tokens,
    strip_all,
    strip_levels,
)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        pytest.param("a", ["a"], id="nothing to remove"),
        pytest.param("**a**.", ["**a**.", "a"], id="bold and a period"),
        pytest.param("[[a]]", ["[[a]]", "[a]", "a"], id="a pair of brackets per level"),
        pytest.param("(a) or (b)", ["(a) or (b)"], id="brackets that are two pairs"),
        pytest.param("- `(a)`", ["- `(a)`", "(a)", "a"], id="a list mark, code, brackets"),
        pytest.param("**", ["**"], id="nothing but marks"),
        pytest.param("it is “right”.", ["it is “right”.", "it is “right”"], id="only the ends"),
    ],
)
def test_a_text_has_ever_less_around_it(text: str, levels: list[str]) -> None:
    assert strip_levels(text) == levels
    assert strip_all(text) == levels[-1]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        pytest.param("Verdict: a", "a", id="verdict"),
        pytest.param("score: 1", "1", id="score"),
        pytest.param("Label : a", "a", id="label"),
        pytest.param("## Answer: a b", "a b", id="answer"),
        pytest.param("1. **Rating:** 5", "** 5", id="rating"),
        pytest.param("Final verdict: a", None, id="another name"),
        pytest.param("The verdict: a", None, id="words before the name"),
        pytest.param('"verdict": "a"', None, id="a line of JSON"),
        pytest.param("Verdict:", None, id="nothing behind it"),
        pytest.param("Verdict a", None, id="no colon"),
    ],
)
def test_a_named_line_has_one_of_five_names(line: str, value: str | None) -> None:
    assert parse_named_line(line) == value


def test_end_tokens_are_removed_at_the_end_only() -> None:
    assert remove_end_tokens("a <|im_end|></s>") == "a"
    assert remove_end_tokens("a <|im_end|> b") == "a <|im_end|> b"


def test_the_language_of_a_fence_is_no_word() -> None:
    assert not has_words("```json\n{}\n```")
    assert has_words("```json\n{}\n``` so")
