"""Any text is a verdict or a `NoVerdict`, and a verdict is something that the judge has said."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.scorers.judging.shown_text import ShownText
from evalwright.scorers.judging.verdict_values import (
    FreeLabelReader,
    LabelReader,
    NumberReader,
    fold_label,
)
from evalwright.scorers.judging.verdicts import NoVerdict, read_verdict

LABELS = LabelReader(["correct", "incorrect", "غير صحيح", "no"], keys=("prediction",))
SCALE = NumberReader(0, 10)
PIECES = st.sampled_from(
    [
        *("correct", "incorrect", "Correct.", "not", "no", "غير صحيح", "Verdict:", "Score:", "8"),
        *(
            "11",
            "NaN",
            "8/10",
            "{",
            "}",
            '{"prediction": "correct"}',
            '{"prediction": "incorrect"}',
        ),
        *('{"score": 8}', '{"score": 3', "```", "```json", "\n", "\n\n", "<think>", "</think>"),
        *(
            "<verdict>",
            "</verdict>",
            "**",
            "'",
            '"',
            ":",
            ".",
            "is",
            "the",
            "1.",
            "\u202e",
            "\ud800",
        ),
    ]
)
REPLIES = st.one_of(st.text(), st.lists(PIECES, max_size=12).map(" ".join))


@given(REPLIES, st.lists(REPLIES, max_size=2))
def test_a_label_comes_only_of_words_that_were_said(reply: str, shown: list[str]) -> None:
    try:
        found = read_verdict(reply, LABELS, shown=ShownText(shown))
    except NoVerdict:
        return
    assert fold_label(found.value) in fold_label(reply)


@given(REPLIES)
def test_a_number_is_on_the_scale_or_there_is_none(reply: str) -> None:
    try:
        found = read_verdict(reply, SCALE)
    except NoVerdict:
        return
    assert 0 <= found.value <= 10


@given(REPLIES)
def test_a_free_label_is_one_short_line(reply: str) -> None:
    try:
        found = read_verdict(reply, FreeLabelReader(keys=("label",)))
    except NoVerdict:
        return
    assert found.value.strip()
    assert "\n" not in found.value
    assert len(found.value) <= 200


@given(st.sampled_from(["correct", "incorrect"]), st.text(), st.floats(0, 1))
def test_what_a_schema_gives_is_read_whatever_the_reasons_say(
    label: str, reasoning: str, confidence: float
) -> None:
    reply = json.dumps(
        {"reasoning": reasoning, "prediction": label, "confidence": confidence}, ensure_ascii=False
    )

    found = read_verdict(reply, LABELS, shown=ShownText([reply, reasoning]))

    assert found.value == label
    assert found.fields["reasoning"] == reasoning


@given(st.floats(0, 10), st.text())
def test_a_number_that_a_schema_gives_is_read_whatever_the_reasons_say(
    score: float, reasoning: str
) -> None:
    assert read_verdict(json.dumps({"reasoning": reasoning, "score": score}), SCALE).value == score


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("[" * 99_999 + "correct" + "]" * 99_990, id="brackets"),
        pytest.param("> " * 99_990 + "correct?", id="line marks"),
        pytest.param("correct?\n" * 22_000, id="lines"),
        pytest.param("Verdict: " * 22_000, id="names"),
        pytest.param("{" * 199_999, id="braces"),
        pytest.param("{ " * 99_999, id="braces with spaces"),
        pytest.param('{"a":' * 39_999, id="objects without an end"),
        pytest.param("</think>\n" * 22_000 + "correct?", id="ends of thinking"),
        pytest.param("{}" * 99_999, id="empty objects"),
        pytest.param("*" * 199_999, id="stars"),
    ],
)
def test_a_long_reply_is_refused_in_a_moment(reply: str) -> None:
    start = time.process_time()

    with pytest.raises(NoVerdict):
        read_verdict(reply, LABELS, shown=ShownText([reply]))

    assert time.process_time() - start < 2
