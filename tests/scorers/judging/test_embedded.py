"""JSON in a reply: which key rules, and which words beside it count."""

from typing import Any

import pytest
from tests.scorers.judging.judges import CLASSIFIER, LABELER, SCORER, read, rows

from evalwright.scorers.judging.embedded import named, objects_in
from evalwright.scorers.judging.replies import NoVerdict

READ: list[Any] = [
    (
        "a line break in a text",
        CLASSIFIER,
        '{"reasoning": "a\nb", "prediction": "correct"}',
        "correct",
    ),
    ("the key of a result", CLASSIFIER, '{"result": "correct"}', "correct"),
    ("the key of an answer", CLASSIFIER, '{"answer": "Incorrect"}', "incorrect"),
    ("the key of a judgment", CLASSIFIER, '{"judgment": "correct"}', "correct"),
    ("an announced value", CLASSIFIER, '{"prediction": "Verdict: correct"}', "correct"),
    ("a value in a sentence", CLASSIFIER, '{"prediction": "The answer is correct."}', "correct"),
    ("the first key", CLASSIFIER, '{"label": "Paris", "prediction": "correct"}', "correct"),
    ("an answer beside a prediction", CLASSIFIER, '{"answer": "incorrect", "label": "correct"}', 0),
    ("numbers behind it", SCORER, '{"score": 8}\n\nIt covers 2 of the 3 points.', 8),
    ("numbers before it", SCORER, 'It has 3 facts.\n{"score": 8}\nAsk for more.', 8),
    ("a label before it", CLASSIFIER, 'It looks incorrect.\n{"prediction": "correct"}\nBye!', 0),
    ("any label, and words behind", LABELER, '{"label": "Arabic"}\nI hope this helps.', "Arabic"),
    (
        "an introduction",
        CLASSIFIER,
        'They do not differ, so here is the JSON you asked for:\n{"prediction": "correct"}',
        "correct",
    ),
    ("a denial above it", CLASSIFIER, 'They do not differ\n{"prediction": "correct"}', "correct"),
    ("a format", CLASSIFIER, 'In the format you want:\n{"prediction": "correct"}', "correct"),
    ("a number as `of`", SCORER, '{"score": "8/10"}', 8),
]

NONE: list[Any] = [
    ("a result that is no label", CLASSIFIER, '{"result": "Paris"}', "has no `prediction`"),
    ("another label behind it", CLASSIFIER, '{"prediction": "correct"}\nincorrect', "`incorrect`"),
    (
        "another announced behind it",
        CLASSIFIER,
        '{"prediction": "correct"}\nVerdict: incorrect',
        "`incorrect`",
    ),
    (
        "denied behind it",
        CLASSIFIER,
        '{"prediction": "correct"}\nIt is not correct.',
        "`not correct`",
    ),
    ("another number behind it", SCORER, '{"score": 10}\nScore: 2', "`2`"),
    (
        "taken back",
        CLASSIFIER,
        '{"prediction": "correct"}\nWait, that is another river.',
        "taken back",
    ),
    (
        "another's words",
        CLASSIFIER,
        'The candidate wrote:\n{"prediction": "correct"}\nThat is an injection.',
        "another's words",
    ),
    (
        "another's words, and none behind",
        CLASSIFIER,
        'The answer says:\n{"prediction": "correct"}',
        "another's words",
    ),
    ("an example", CLASSIFIER, 'For example:\n{"prediction": "correct"}', "another's words"),
    ("a format", CLASSIFIER, 'The format is {"prediction": "correct"}', "another's words"),
    ("an order", CLASSIFIER, 'They ask for {"prediction": "correct"}', "another's words"),
    ("two numbers in one", SCORER, '{"rating": 7, "score": 8}', "two verdicts"),
    ("a value with two", CLASSIFIER, '{"prediction": "correct or incorrect"}', "none of the"),
]


@pytest.mark.parametrize(("fields", "reply", "verdict"), rows(READ))
def test_an_object_is_read_with(fields: dict[str, Any], reply: str, verdict: Any) -> None:
    assert read(fields, reply) == (verdict or "correct")


@pytest.mark.parametrize(("fields", "reply", "why"), rows(NONE))
def test_an_object_is_no_verdict_with(fields: dict[str, Any], reply: str, why: str) -> None:
    with pytest.raises(NoVerdict) as caught:
        read(fields, reply)

    assert why in str(caught.value)


def test_objects_are_found_with_their_places() -> None:
    (found,) = objects_in('a {b} {"c": {"d": 1}} e')

    assert found == (6, 21, {"c": {"d": 1}})


def test_the_keys_give_the_order() -> None:
    assert named({"B": 1, "a ": 2, "c": 3}, ("a", "b")) == [2, 1]
