from typing import Any

import pytest
from tests.scorers.judging.judges import CLASSIFIER, SCORER, read, rows

from evalwright.scorers.judging.plain import bare, ended, straight

LETTERS = {**CLASSIFIER, "correct_labels": ["A"], "incorrect_labels": ["B"]}
SIGNED = {**CLASSIFIER, "correct_labels": ["(A)", "👍"], "incorrect_labels": ["[B]"]}

DRESSED: list[Any] = [
    ("an emoji before it", CLASSIFIER, "✅ Correct", "correct"),
    ("an emoji behind it", CLASSIFIER, "**Final verdict:** Incorrect ❌", "incorrect"),
    ("double brackets", LETTERS, "[[A]]", "A"),
    ("double brackets behind a sentence", LETTERS, "Assistant B is better. [[B]]", "B"),
    ("round brackets", LETTERS, "(A)", "A"),
    ("a number in brackets", SCORER, "Rating: [[8]]", 8),
    ("a box", CLASSIFIER, r"$\boxed{correct}$", "correct"),
    ("a box of text", CLASSIFIER, r"\boxed{\text{incorrect}}", "incorrect"),
    ("the end of a turn", CLASSIFIER, "correct<|im_end|>", "correct"),
    ("the end of a sequence", CLASSIFIER, "incorrect</s>", "incorrect"),
    ("an item of a list", CLASSIFIER, "- correct", "correct"),
    ("a label with brackets of its own", SIGNED, "(A)", "(A)"),
    ("a label that is an emoji", SIGNED, "👍", "👍"),
    ("bold inside", SCORER, "**8**/10", 8),
    ("stars behind", SCORER, "Score: 8/10 ⭐", 8),
]


@pytest.mark.parametrize(("fields", "reply", "verdict"), rows(DRESSED))
def test_a_verdict_is_read_under(fields: dict[str, Any], reply: str, verdict: Any) -> None:
    assert read(fields, reply) == verdict


def test_only_the_ends_of_a_text_are_laid_bare() -> None:
    assert bare("> **it is “right”.** ") == "it is “right"
    assert ended("a <|im_end|> b") == "a <|im_end|> b"


def test_marks_of_other_scripts_are_made_straight() -> None:
    assert straight("判断\uff1a正确\uff0c好") == "判断: 正确, 好"
    assert straight("صحيح\u060c نعم\u061f") == "صحيح,  نعم? "
