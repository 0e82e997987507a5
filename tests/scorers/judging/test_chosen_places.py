"""Replies whose author says where the verdict is: each is a verdict, or a failure that says why."""

import time
from typing import Any

import pytest
from tests.scorers.cases import SCORERS
from tests.scorers.judging.judges import (
    CLASSIFIER,
    LABELER,
    SCORER,
    Judge,
    judged,
    read,
    rows,
    verdict,
)

from evalwright.scorers.judging.verdicts import NoVerdict

MEDALS = {**CLASSIFIER, "correct_labels": ["2", "1"], "incorrect_labels": ["0"]}
GRADES = {**SCORER, "score_min": 1, "score_max": 5}
LETTERS = {**CLASSIFIER, "correct_labels": ["A", "b"], "incorrect_labels": ["a", "B"]}
KINDS = {**LABELER, "valid_labels": ["sports", "arts"]}
FIRST, LAST = {"verdict_position": "first_line"}, {"verdict_position": "last_line"}
JSON = {"verdict_position": "json"}
PATTERN: dict[str, Any] = {"verdict_pattern": r"RESULT\W*(\w*)"}
REASON_FIRST = (
    "2\n\n### Reason: The answer names 0 of the towns wrong.\nVerdict: 1\n\n"
    '### Reference: 1. Oslo\n2. Bergen\n\n{"prediction": "0"}\n0'
)
DIGITS = "\u0662"
"""Arabic-Indic two."""
FENCED = '```json\n{"score": 4, "prediction": "correct", "label": "arts"}\n```'
THOUGHT = "<think>\nRESULT 0\n1\n0\n</think>\n\n"

READ: list[Any] = [
    ("the first line, before reasons and numbers", {**MEDALS, **FIRST}, REASON_FIRST, "2"),
    ("the first line with a name", {**MEDALS, **FIRST}, "\n**Score:** 2.\nIt is 0.", "2"),
    ("a number on the first line", {**GRADES, **FIRST}, "4/5\n1. Clear\n2", 4),
    ("any label on the first line", {**LABELER, **FIRST}, "tea\nNot coffee.", "tea"),
    ("one of the labels on the first line", {**KINDS, **FIRST}, "Label: Arts\nsports", "arts"),
    ("the first line of a fence", {**MEDALS, **FIRST}, "```\n2\n1\n```", "2"),
    ("the first line after thinking", {**MEDALS, **FIRST}, f"{THOUGHT}2\n1", "2"),
    ("the last line, after another label", {**MEDALS, **LAST}, "0\nNo, I was wrong.\n2", "2"),
    ("the last line with a name", {**GRADES, **LAST}, "1\n5\nRating: 3", 3),
    ("the only line", {**KINDS, **LAST}, "arts", "arts"),
    ("JSON between lines that are labels", {**MEDALS, **JSON}, '0\n{"label": 2}\n1', "2"),
    ("fenced JSON for a classifier", {**CLASSIFIER, **JSON}, FENCED, "correct"),
    ("fenced JSON for a scorer", {**GRADES, **JSON}, FENCED, 4),
    ("fenced JSON for a labeler", {**KINDS, **JSON}, FENCED, "arts"),
    ("JSON after thinking", {**GRADES, **JSON}, f"{THOUGHT}{FENCED}", 4),
    ("two objects that agree", {**MEDALS, **JSON}, '{"label": 2}{"label": "2"}', "2"),
    ("the only match", {**MEDALS, **PATTERN}, "Feedback: 0 errors. [RESULT] 2", "2"),
    ("two matches that agree", {**MEDALS, **PATTERN}, "RESULT 2\n1\nRESULT: 2", "2"),
    (
        "two matches of one number",
        {**GRADES, "verdict_pattern": "is ([0-9.]+)"},
        "is 4, is 4.0",
        4,
    ),
    ("a group with marks", {**GRADES, "verdict_pattern": "Total(.*)"}, "Total **3/5**\n4", 3),
    ("a match after thinking", {**MEDALS, **PATTERN}, f"{THOUGHT}RESULT 2", "2"),
    ("a match in one of the labels", {**KINDS, **PATTERN}, "RESULT Arts, sports", "arts"),
    ("any label by a pattern", {**LABELER, **PATTERN}, "It is long.\nRESULT tea\nBye.", "tea"),
    ("a match on the first line", {**MEDALS, **PATTERN, **FIRST}, "RESULT 2\nRESULT 0", "2"),
    ("a match on the last line", {**MEDALS, **PATTERN, **LAST}, "RESULT 2\nRESULT 0", "0"),
    ("a match over lines", {**MEDALS, "verdict_pattern": r"Grade\s+(\d)"}, "Grade\n\n2\n1", "2"),
    ("Arabic-Indic digits of a number", GRADES, DIGITS, 2),
    ("Arabic-Indic digits on the first line", {**GRADES, **FIRST}, f"{DIGITS}/\u0665\n1", 2),
    ("Arabic-Indic digits by a pattern", {**GRADES, **PATTERN}, f"RESULT {DIGITS}", 2),
    ("a label in its own case", LETTERS, "a", "a"),
    ("its other case", LETTERS, "**A**.", "A"),
    ("a label in its own case in JSON", {**LETTERS, **JSON}, '{"prediction": "b"}', "b"),
    ("a label in its own case on a line", {**LETTERS, **FIRST}, "Verdict: B\nb", "B"),
]

REFUSED: list[Any] = [
    ("a first line of prose", {**MEDALS, **FIRST}, "Well:\n2", "first_line", "line, `Well:`, is"),
    ("JSON on the first line", {**GRADES, **FIRST}, '{"score": 4}', "first_line", "first line, `{"),
    ("fenced JSON for a line", {**GRADES, **FIRST}, FENCED, "first_line", "a number from 1 to 5"),
    ("a last line of prose", {**MEDALS, **LAST}, "2\nThat is all.", "last_line", "`That is all.`"),
    ("a fence without text", {**MEDALS, **FIRST}, "```\n```", "first_line", "no line of text"),
    ("a first line off the scale", {**GRADES, **FIRST}, "6\n5", "off_scale", "outside [1, 5]"),
    ("another scale", {**GRADES, **FIRST}, "4/10\n5", "off_scale", "a scale up to 10"),
    ("no JSON", {**CLASSIFIER, **JSON}, "correct", "json", "a JSON object with the key"),
    ("JSON without the key", {**CLASSIFIER, **JSON}, '{"x": 1}\ncorrect', "json_key", "has no"),
    ("half of the JSON", {**CLASSIFIER, **JSON}, '{"label": "correct"', "broken_json", "incompl"),
    ("a label outside the list", {**KINDS, **JSON}, '{"label": "tea"}', "not_a_verdict", "`tea`"),
    ("a number outside the range", {**GRADES, **JSON}, '{"score": 6}', "off_scale", "[1, 5]"),
    (
        "two objects that differ",
        {**GRADES, **JSON},
        '{"score": 4}\n{"score": 5}',
        "two_verdicts",
        "`4` and `5`",
    ),
    ("no match", {**MEDALS, **PATTERN}, "2", "pattern", "`verdict_pattern` matches nothing in `2`"),
    ("two matches that differ", {**MEDALS, **PATTERN}, "RESULT 2 RESULT 1", "two_verdicts", "`2`"),
    ("an empty group", {**MEDALS, **PATTERN}, "2 RESULT", "empty_group", "is empty"),
    ("a blank group", {**MEDALS, "verdict_pattern": "T(.*)"}, "T  \n2", "empty_group", "is empty"),
    (
        "a group that took no part",
        {**MEDALS, "verdict_pattern": "x|(2)"},
        "x",
        "empty_group",
        "is empty",
    ),
    ("a group that is no label", {**KINDS, **PATTERN}, "RESULT tea", "pattern", "`tea`, the group"),
    (
        "a group off the scale",
        {**GRADES, **PATTERN},
        "RESULT 9",
        "off_scale",
        "`9` is outside [1, 5]",
    ),
    ("a match in a sentence", {**MEDALS, **PATTERN}, "My RESULT is 2. RESULT 2", "pattern", "`is`"),
    ("a match on another line", {**MEDALS, **PATTERN, **FIRST}, "So.\nRESULT 2", "pattern", "`So."),
    ("digits of another script in a label", MEDALS, DIGITS, "no_verdict", "expected one of"),
    (
        "a number with an Arabic separator",
        GRADES,
        "\u0662\u066b\u0665",
        "no_verdict",
        "a number from 1 to 5",
    ),
    ("thinking without an end", {**MEDALS, **FIRST}, "<think>2", "open_thinking", "is not closed"),
    ("nothing but thinking", {**MEDALS, **PATTERN}, "<think>RESULT 2</think>", "empty", "is empty"),
    (
        "labels that only their case tells apart",
        {**CLASSIFIER, "correct_labels": ["No"], "incorrect_labels": ["NO"]},
        "no",
        "ambiguous_case",
        "`no` differs only in case from `No` and `NO`",
    ),
]


@pytest.mark.parametrize(("fields", "reply", "value"), rows(READ))
def test_a_verdict_is_read_where_the_author_says(
    fields: dict[str, Any], reply: str, value: Any
) -> None:
    assert read(fields, reply) == value


@pytest.mark.parametrize(("fields", "reply", "rule", "why"), rows(REFUSED))
def test_any_other_reply_is_a_failure_that_names_the_rule_and_quotes_the_reply(
    fields: dict[str, Any], reply: str, rule: str, why: str
) -> None:
    with pytest.raises(NoVerdict) as caught:
        verdict(fields, reply)

    message = str(caught.value)
    assert caught.value.rule == rule
    assert message.startswith(f"the judge gave no verdict (rule `{rule}`): ")
    assert why in message
    assert reply.strip() in message


@pytest.mark.parametrize(
    ("more", "reply", "rule"),
    [
        ({}, "Correct.", "whole_reply"),
        ({}, '{"label": "correct"}\ncorrect', "json"),
        ({}, "So.\nVerdict: correct\ncorrect", "named_line"),
        ({}, "So.\ncorrect", "last_line"),
        (FIRST, "correct\nSo.", "first_line"),
        (LAST, "correct", "last_line"),
        (JSON, '{"label": "correct"}', "json"),
        (PATTERN, "RESULT correct", "pattern"),
    ],
)
def test_a_score_names_the_rule_by_which_its_verdict_was_read(
    more: dict[str, Any], reply: str, rule: str
) -> None:
    assert verdict({**CLASSIFIER, **more}, reply).metadata["verdict_rule"] == rule


LONG = 5_000_000


@pytest.mark.parametrize("more", [{}, FIRST, LAST, JSON, PATTERN])
@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("2\n" * (LONG // 2), id="labels"),
        pytest.param("\n" * LONG + "x</think>" * 99, id="blank lines"),
        pytest.param('{"label": "2"}' * (LONG // 14), id="objects"),
    ],
)
def test_a_reply_of_5_mb_is_a_failure_in_a_moment(more: dict[str, Any], reply: str) -> None:
    start = time.process_time()

    with pytest.raises(NoVerdict) as caught:
        verdict({**MEDALS, **more}, reply)

    assert time.process_time() - start < 2
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("more", [{}, FIRST, LAST])
def test_thinking_of_5_mb_is_no_part_of_a_reply(more: dict[str, Any]) -> None:
    assert read({**MEDALS, **more}, f"<think>{'0 ' * (LONG // 2)}</think>2") == "2"


@pytest.mark.parametrize(
    ("more", "rule"),
    [(FIRST, "first_line"), (LAST, "last_line"), (JSON, "quotation"), (PATTERN, "quotation")],
)
def test_a_long_reply_is_refused_in_a_moment(more: dict[str, Any], rule: str) -> None:
    reply = "RESULT 2\n" * 11_000 + '{"label": 2}' * 8_000
    start = time.process_time()

    with pytest.raises(NoVerdict) as caught:
        judged({**MEDALS, **more}, Judge(reply), answer=reply)

    assert time.process_time() - start < 2
    assert caught.value.rule == rule


def test_a_pattern_that_takes_too_long_is_a_failure() -> None:
    fields = {**MEDALS, "verdict_pattern": "(?:a|aa)+(2)b"}

    with pytest.raises(NoVerdict, match="took more than 1 s of CPU time") as caught:
        verdict(fields, f"{'a' * 60}x 2b")

    assert caught.value.rule == "slow_pattern"


@pytest.mark.parametrize(
    ("fields", "reply", "is_read"),
    [
        pytest.param({**GRADES, **FIRST}, "1\nBecause it", True, id="a line follows the verdict"),
        pytest.param({**GRADES, **FIRST}, "1", False, id="a number may go on"),
        pytest.param({**GRADES, **LAST}, "Well.\n1", False, id="the last line may go on"),
        pytest.param({**GRADES, **JSON}, '{"score": 1}', True, id="a whole object"),
        pytest.param({**GRADES, **PATTERN}, "RESULT 1 as", False, id="another match may follow"),
        pytest.param({**GRADES, **PATTERN, **FIRST}, "RESULT 1\nas", True, id="on a whole line"),
    ],
)
def test_a_reply_that_was_cut_counts_if_nothing_could_change_its_verdict(
    fields: dict[str, Any], reply: str, *, is_read: bool
) -> None:
    judge = Judge(reply, finish="length")
    if is_read:
        assert judged(fields, judge).metadata["raw_score"] == 1
        return
    with pytest.raises(NoVerdict, match="cut off") as caught:
        judged(fields, judge)
    assert caught.value.rule == "cut_off"
    assert "max_tokens" in caught.value.hint


@pytest.mark.parametrize(
    ("more", "reply"),
    [
        pytest.param(FIRST, "Score: 2\nThat is how it ends.", id="first line"),
        pytest.param(LAST, "It ends in\nScore: 2", id="last line"),
        pytest.param(JSON, 'It ends in {"label": 2}', id="json"),
        pytest.param({"verdict_pattern": r"RESULT (\d)"}, "It ends in\nRESULT 2", id="pattern"),
        pytest.param({"verdict_pattern": r"Grade\s+(\d)"}, "It ends in\nGrade\n2", id="two lines"),
    ],
)
def test_a_verdict_copied_from_the_answer_may_be_a_quotation(
    more: dict[str, Any], reply: str
) -> None:
    fields = {**MEDALS, **more}
    assert judged(fields, Judge(reply), answer="Oslo.").correct

    with pytest.raises(NoVerdict, match="may be quoted") as caught:
        judged(fields, Judge(reply), answer='Oslo.\nScore: 2\nRESULT 2\nGrade\n2\n{"label": 2}')
    assert caught.value.rule == "quotation"


@pytest.mark.parametrize("more", [FIRST, LAST, PATTERN])
def test_a_bare_verdict_is_never_a_quotation(more: dict[str, Any]) -> None:
    reply = "2\n\nBecause.\n2\nRESULT 2\n2"

    assert judged({**MEDALS, **more}, Judge(reply), answer="2\nBecause.").correct


@pytest.mark.parametrize("fields", [CLASSIFIER, SCORER, LABELER])
def test_keys_of_stored_scores_change_only_if_a_place_is_set(fields: dict[str, Any]) -> None:
    plain, *others = (
        SCORERS.validate_python({**fields, **more}).settings
        for more in ({}, FIRST, LAST, JSON, PATTERN, {**PATTERN, **FIRST})
    )

    assert "verdict_p" not in plain
    assert len({plain, *others}) == 6


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("Score", "with one group, got none"),
        ("(a)(b)", "with one group, got 2"),
        ("(a", "not a regular expression: missing ) at character 3"),
        ("*(a)", "not a regular expression: nothing to repeat at character 1"),
        (f"({'a' * 1000})", "at most 1,000 characters, got 1,002"),
    ],
)
def test_a_pattern_is_a_regular_expression_with_one_group(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match="verdict_pattern") as caught:
        SCORERS.validate_python({**CLASSIFIER, "verdict_pattern": pattern})

    assert why in str(caught.value)
