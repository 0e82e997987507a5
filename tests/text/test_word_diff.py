import pytest

from evalwright.text.word_diff import diff_words, mark_parts, trim_parts


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param("a big dog", "a small dog", "a [-big-]{+small+} dog", id="replaced"),
        pytest.param("", "new", "{+new+}", id="from nothing"),
        pytest.param("same", "same", "same", id="equal"),
        pytest.param("yes.", "yes", "yes[-.-]", id="punctuation is a word"),
        pytest.param(
            "العاصمة باريس", "العاصمة القاهرة", "العاصمة [-باريس-]{+القاهرة+}", id="Arabic"
        ),
    ],
)
def test_differences_are_marked_by_words(a: str, b: str, expected: str) -> None:
    assert mark_parts(diff_words(a, b)) == expected


def test_each_side_is_the_parts_that_it_has() -> None:
    a, b = "one two\nthree  four", "zero two three four five"
    parts = diff_words(a, b)

    assert "".join(part.text for part in parts if part.kind != "added") == a
    assert "".join(part.text for part in parts if part.kind != "removed") == b


def test_long_texts_are_not_compared_word_by_word() -> None:
    a = "start " + "a b " * 20_000 + "end"
    b = "start " + "c d " * 20_000 + "end"

    kinds = [part.kind for part in diff_words(a, b)]

    assert kinds == ["equal", "removed", "added", "equal"]


def test_long_equal_parts_are_trimmed_around_the_change() -> None:
    text = "word " * 500

    trimmed = mark_parts(trim_parts(diff_words(f"{text}old{text}", f"{text}new{text}"), 400))

    assert len(trimmed) < 300
    assert "[-" in trimmed
