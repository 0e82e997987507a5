"""Whether the words beside a verdict deny it without naming another label."""

from typing import Any

import pytest
from tests.scorers.judging.judges import CLASSIFIER, LABELER, SCORER, read, rows

from evalwright.scorers.judging.replies import NoVerdict

YES_NO = {**CLASSIFIER, "correct_labels": ["yes"], "incorrect_labels": ["no"]}
PASS = {**CLASSIFIER, "correct_labels": ["pass"], "incorrect_labels": ["fail"]}
HARMFUL = {**CLASSIFIER, "correct_labels": ["no"], "incorrect_labels": ["yes"]}
TOPIC = {**CLASSIFIER, "correct_labels": ["relevant"], "incorrect_labels": ["off-topic"]}
ARABIC = {**CLASSIFIER, "correct_labels": ["صحيح"], "incorrect_labels": ["غير صحيح"]}
GERMAN = {**CLASSIFIER, "correct_labels": ["richtig"], "incorrect_labels": ["falsch"]}
KINDS = {**LABELER, "valid_labels": ["sports", "politics"]}
GATES = {**LABELER, "valid_labels": ["pass", "fail"]}

DENIED: list[Any] = [
    ("a word on its line", CLASSIFIER, "correct\nWrong!", "wrong"),
    ("a truth value", CLASSIFIER, "correct\nfalse", "false"),
    ("a word before it", CLASSIFIER, "Wrong. correct", "wrong"),
    ("a not", CLASSIFIER, "correct. not.", "not"),
    ("a no", CLASSIFIER, "Correct. No.", "no"),
    ("a word that asks", CLASSIFIER, "correct\nWrong?", "wrong"),
    ("a word in bold", CLASSIFIER, "correct\n\n**Wrong**", "wrong"),
    ("a word in an item", CLASSIFIER, "correct\n- false", "false"),
    ("a word as its reason", CLASSIFIER, "Correct - wrong", "wrong"),
    ("a sign", CLASSIFIER, "correct\n❌", "❌"),
    ("a sign on its line", CLASSIFIER, "Correct ❌", "❌"),
    ("a sign behind reasons", CLASSIFIER, "Correct. Both are rivers.\n❌", "❌"),
    ("a mismatch", CLASSIFIER, "correct\nMismatch", "mismatch"),
    ("no match", CLASSIFIER, "Correct. No match.", "no match"),
    ("a word that is announced", CLASSIFIER, "correct\nVerdict: wrong", "wrong"),
    ("a word that is called an answer", CLASSIFIER, "correct\nAnswer: wrong", "wrong"),
    ("a word behind a well", CLASSIFIER, "Correct! Well, wrong.", "wrong"),
    ("a part", CLASSIFIER, "correct\nPartially.", "partially"),
    ("a part of itself", CLASSIFIER, "correct\nPartially correct.", "partially correct"),
    ("a better word", CLASSIFIER, "incorrect\nTrue!", "true"),
    ("a better word before it", CLASSIFIER, "Right. Incorrect.", "right"),
    ("an announced one, behind it", CLASSIFIER, "Verdict: correct\nWrong!", "wrong"),
    ("an inflection", PASS, "pass\nfailed", "failed"),
    ("an inflection for the better", PASS, "FAIL\nPassed.", "passed"),
    ("a noun", PASS, "Pass. Failure.", "failure"),
    ("of a yes", YES_NO, "Yes.\nWrong.", "wrong"),
    ("an opposite", TOPIC, "relevant\nIrrelevant.", "irrelevant"),
    ("an Arabic word", ARABIC, "صحيح\nخطأ", "خطأ"),
    ("a German word", GERMAN, "Richtig. Nicht.", "nicht"),
    ("of a labeler", KINDS, "sports\nWrong!", "wrong"),
    ("an inflection of a labeler", GATES, "pass\nfailed", "failed"),
    ("an object", CLASSIFIER, '{"prediction": "correct"}\nWrong!', "wrong"),
    (
        "a sentence",
        CLASSIFIER,
        "Correct. This does not match the ground truth.",
        "this does not match",
    ),
    ("a sentence with n't", CLASSIFIER, "correct\nIt doesn\u2019t match.", "it doesn't match"),
    (
        "a sentence about the answer",
        PASS,
        "Pass. The candidate's answer differs from the truth.",
        "the candidate's answer differs from",
    ),
    ("a sentence about both", CLASSIFIER, "Correct. They do not match.", "they do not match"),
    ("a sentence without of what", CLASSIFIER, "correct\nDoes not match.", "does not match"),
    ("a sentence before it", CLASSIFIER, "It contradicts the truth.\n\ncorrect", "it contradicts"),
    (
        "a second clause",
        CLASSIFIER,
        "Correct. I compared the two, and this does not match.",
        "and this does not match",
    ),
    ("is wrong", TOPIC, "Relevant. The answer is wrong.", "the answer is wrong"),
    ("is not the same", CLASSIFIER, "Correct. It's not the same.", "it's not the same"),
    ("of a yes, a sentence", YES_NO, "Yes. It does not match.", "it does not match"),
    ("a German sentence", GERMAN, "Richtig. Das stimmt nicht.", "stimmt nicht"),
    ("an Arabic sentence", ARABIC, "صحيح\nالجواب غير مطابق للحقيقة.", "غير مطابق"),  # noqa: RUF001 - no l
    (
        "an object, by a sentence",
        CLASSIFIER,
        '{"prediction": "correct"} This does not match the ground truth.',
        "this does not match",
    ),
    ("a score of its style", SCORER, "Score: 5\nStyle score: 3", "Style score: 3"),
    ("a score of an item", SCORER, "Score: 5\n- **Style score:** 3/10", "Style score:** 3"),
    ("a rating that is said", SCORER, "Score: 5\nThe style rating is 3.", "The style rating is 3"),
]

NOT_DENIED: list[Any] = [
    (
        "a sentence that agrees",
        CLASSIFIER,
        "Incorrect. This does not match the ground truth.",
        "incorrect",
    ),
    ("a word that agrees", CLASSIFIER, "Incorrect\nWrong!", "incorrect"),
    ("no match", CLASSIFIER, "Incorrect. No match.", "incorrect"),
    ("a better word that agrees", CLASSIFIER, "Correct. True.", "correct"),
    ("a sign that agrees", CLASSIFIER, "incorrect\n❌", "incorrect"),
    ("its own inflection", PASS, "pass\nPassed.", "pass"),
    ("its own inflection for the worse", PASS, "FAIL\nFailed.", "fail"),
    ("a sentence that does not", CLASSIFIER, "Correct. It does not contradict it.", "correct"),
    (
        "a sentence about the form",
        CLASSIFIER,
        "Correct. It does not match word for word, the meaning is the same.",
        "correct",
    ),
    (
        "a sentence about the letter",
        CLASSIFIER,
        "Correct. It does not match exactly, but it means the same.",
        "correct",
    ),
    (
        "what was answered",
        CLASSIFIER,
        "Ground truth: false\nAnswer: false\n\ncorrect",
        "correct",
    ),
    ("a part of the answer", CLASSIFIER, "Correct. Nothing that does not match.", "correct"),
    ("what is wrong elsewhere", CLASSIFIER, "Correct. The other city is wrong.", "correct"),
    ("a word in a sentence", CLASSIFIER, "Correct. Not a single fact is missing.", "correct"),
    ("a no that means right", HARMFUL, "No. This does not match the policy.", "no"),
    ("a no that means right, and a word", HARMFUL, "No.\nFalse.", "no"),
    ("a yes of two that differ", YES_NO, "Yes. They differ.", "yes"),
    ("a label of a labeler, in a sentence", KINDS, "sports\nIt is wrong in parts.", "sports"),
    ("a word before an announced one", CLASSIFIER, "Wrong?\nVerdict: correct", "correct"),
    ("an aside", CLASSIFIER, "incorrect\nReason: true names differ.", "incorrect"),
    ("reasons before an object", CLASSIFIER, 'Wrong?\n{"prediction": "correct"}', "correct"),
    ("the same number again", SCORER, "Score: 5\nStyle score: 5", 5),
    ("the end of the scale", SCORER, "Score: 5\nThe maximum score is 10.", 5),
    ("how sure it is", SCORER, "Score: 5\nConfidence score: 0.9", 5),
    ("scores before the last", SCORER, "Style score: 3\nOverall score: 5", 5),
    ("scores in the reasons", SCORER, "Score: 5\nReason: its style score is 3.", 5),
]


@pytest.mark.parametrize(("fields", "reply", "words"), rows(DENIED))
def test_a_verdict_is_denied_by(fields: dict[str, Any], reply: str, words: str) -> None:
    with pytest.raises(NoVerdict) as caught:
        read(fields, reply)

    assert f"beside it `{words}`" in str(caught.value)


@pytest.mark.parametrize(("fields", "reply", "verdict"), rows(NOT_DENIED))
def test_a_verdict_is_not_denied_by(fields: dict[str, Any], reply: str, verdict: Any) -> None:
    assert read(fields, reply) == verdict
