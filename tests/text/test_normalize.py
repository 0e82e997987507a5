import pytest

from evalwright.text.normalize import drop_articles, drop_punctuation, drop_whitespace, fold


@pytest.mark.parametrize(
    ("text", "ignore_case", "folded"),
    [
        pytest.param("Paris", False, "Paris", id="case is kept"),
        pytest.param("Paris", True, "paris", id="case is folded"),
        pytest.param("STRASSE", True, "strasse", id="upper case"),
        pytest.param("Straße", True, "strasse", id="folded, not lowercased"),
        pytest.param("Zu\u0308rich", False, "Z\u00fcrich", id="two code points become one"),
        pytest.param("A\u030angstro\u0308m", True, "\u00e5ngstr\u00f6m", id="both"),
        pytest.param("\u0623", True, "\u0623", id="Arabic"),
        pytest.param("\u0627\u0654", False, "\u0623", id="Arabic, decomposed"),
        pytest.param("\uff21\uff22", False, "\uff21\uff22", id="full width stays"),
        pytest.param("", True, "", id="empty"),
    ],
)
def test_texts_are_folded(text: str, *, ignore_case: bool, folded: str) -> None:
    assert fold(text, ignore_case=ignore_case) == folded


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("Yes!", "Yes", id="ASCII"),
        pytest.param("$3.50 + a^b", "350  ab", id="ASCII symbols"),
        pytest.param("نعم، صحيح؟", "نعم صحيح", id="Arabic"),
        pytest.param("「はい」。", "はい", id="Japanese"),
        pytest.param("“a” – b…", "a  b", id="typographic"),
        pytest.param("5 €", "5 €", id="symbols beyond ASCII stay"),
    ],
)
def test_punctuation_is_dropped(text: str, left: str) -> None:
    assert drop_punctuation(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("The cat and a dog", "cat and dog", id="words"),
        pytest.param("An  apple", "apple", id="spaces"),
        pytest.param("theory of a-ha", "theory of -ha", id="not in words"),
        pytest.param("the", "", id="nothing else"),
    ],
)
def test_english_articles_are_dropped(text: str, left: str) -> None:
    assert drop_articles(text) == left


def test_white_space_of_every_kind_is_dropped() -> None:
    assert drop_whitespace(" a\tb\u00a0c\u3000d\n") == "abcd"
