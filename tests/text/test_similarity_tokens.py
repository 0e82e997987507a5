import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.text.similarity import tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("The Cat sat.", ["the", "cat", "sat"], id="lowercase, punctuation dropped"),
        pytest.param("don't", ["don", "t"], id="an apostrophe splits"),
        pytest.param("3.5 x_1", ["3", "5", "x_1"], id="a point splits, an underscore does not"),
        pytest.param("", [], id="empty"),
        pytest.param(" \t\n!?", [], id="nothing but space and punctuation"),
        pytest.param("a\x1cb\x00c", ["a", "b", "c"], id="control characters split"),
        pytest.param("Straße ÉCOLE", ["straße", "école"], id="lowercased, not case-folded"),
        pytest.param("السلام عليكم", ["السلام", "عليكم"], id="Arabic words"),
        pytest.param("مُحَمَّد", ["م", "ح", "م", "د"], id="Arabic vowel marks split"),
        pytest.param("我喜欢猫。他也是", ["我喜欢猫", "他也是"], id="CJK: one token a clause"),
        pytest.param("٣ cats", ["٣", "cats"], id="digits of any script"),
        pytest.param("good 👍🏽 job", ["good", "job"], id="emoji are no tokens"),
        pytest.param("cafe\u0301 caf\u00e9", ["cafe", "café"], id="forms are not normalised"),
        pytest.param("İ", ["i"], id="lowercase first: the dot that this leaves is no token"),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_every_text_follows_the_one_rule(text: str) -> None:
    assert tokens(text) == re.findall(r"\w+", text.lower())


def test_every_ascii_character_follows_the_one_rule() -> None:
    text = "".join(f"a{chr(code)}b " for code in range(128))

    assert tokens(text) == re.findall(r"\w+", text.lower())
