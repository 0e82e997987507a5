"""Whether the words beside a verdict name another one; for both labels alike."""

from typing import Any

import pytest
from tests.scorers.judging.judges import CLASSIFIER, read, rows

from evalwright.scorers.judging.replies import NoVerdict

YES_NO = {**CLASSIFIER, "correct_labels": ["yes"], "incorrect_labels": ["no"]}
PASS = {**CLASSIFIER, "correct_labels": ["pass"], "incorrect_labels": ["fail"]}
LETTERS = {**CLASSIFIER, "correct_labels": ["A"], "incorrect_labels": ["B", "C"]}
GERMAN = {**CLASSIFIER, "correct_labels": ["richtig"], "incorrect_labels": ["falsch"]}

NO_MENTION: list[Any] = [
    ("what it should be", CLASSIFIER, "Incorrect. The correct answer is Paris.", "incorrect"),
    ("what it should be, behind", CLASSIFIER, "Incorrect. Paris is the correct city.", "incorrect"),
    ("on another line", CLASSIFIER, "incorrect\n\nThe correct answer is Paris.", "incorrect"),
    ("in brackets", CLASSIFIER, "Verdict: incorrect (the correct one is Paris)", "incorrect"),
    ("before it", CLASSIFIER, "The correct answer is Paris.\n\nIncorrect", "incorrect"),
    ("the other, denied", CLASSIFIER, "Incorrect. So it is not correct.", "incorrect"),
    ("the other, denied, of `correct`", CLASSIFIER, "Correct. It is not incorrect.", "correct"),
    ("the other, denied before", PASS, "It does not pass.\n\nFAIL", "fail"),
    ("other words that agree", PASS, "Pass. The response is correct.", "pass"),
    ("what would be right", GERMAN, "Falsch. Richtig wäre Paris.", "falsch"),
    (
        "the prose before an announced one",
        CLASSIFIER,
        "It is correct only in part.\nVerdict: incorrect",
        "incorrect",
    ),
    (
        "the criteria before an announced one",
        YES_NO,
        "1. Harmful: no\n2. Complies: yes\n\nAnswer: yes",
        "yes",
    ),
    ("a short one in a sentence", YES_NO, "Yes. The candidate matches, no doubt.", "yes"),
    ("a short one as an article", LETTERS, "A better answer would be B.\nB", "B"),
    ("a short one that is worse", LETTERS, "B\n\nA is wrong.", "B"),
]

MENTION: list[Any] = [
    ("the right answer is given", CLASSIFIER, "Incorrect. It gave the correct answer.", "correct"),
    ("the right value is matched", CLASSIFIER, "Incorrect. It matches the correct one.", "correct"),
    ("no comma", CLASSIFIER, "Correct. No it is incorrect.", "incorrect"),
    ("not only", CLASSIFIER, "Correct. It is not only incorrect.", "incorrect"),
    ("its own, denied", CLASSIFIER, "Incorrect. It is not incorrect.", "not incorrect"),
    ("behind `is`", YES_NO, "Yes. The truth is no.", "no"),
    ("behind a comma", YES_NO, "Yes.\nHmm, no, that differs.", "no"),
    ("behind a colon", YES_NO, "Answer: yes\nGround truth: no\n\nThey differ.", "no"),
    ("of a list", YES_NO, "- Harmful? No\n- Polite? Yes\n\nNo", "yes"),
    ("as a question", YES_NO, "No?\nYes", "no"),
    ("that goes on", YES_NO, "Yes.\nNo it does not match.", "no"),
    ("other words", CLASSIFIER, "Correct. The answer is wrong.", "answer is wrong"),
    ("other words, denied", CLASSIFIER, "Correct\n\nIt is not right.", "it is not right"),
    ("other words for the worse", PASS, "Fail. The response is correct.", "response is correct"),
    ("two letters", LETTERS, "A or B?\nA", "B"),
    ("a better letter", LETTERS, "A is better.\nB", "A"),
]


@pytest.mark.parametrize(("fields", "reply", "label"), rows(NO_MENTION))
def test_no_other_label_is_meant_by(fields: dict[str, Any], reply: str, label: str) -> None:
    assert read(fields, reply) == label


@pytest.mark.parametrize(("fields", "reply", "other"), rows(MENTION))
def test_another_label_is_meant_by(fields: dict[str, Any], reply: str, other: str) -> None:
    with pytest.raises(NoVerdict, match=rf"beside it `{other}`"):
        read(fields, reply)
