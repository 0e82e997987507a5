from typing import Any

import pytest
from pydantic import ValidationError
from tests.scorers.cases import SCORERS, chat, score

MATCH = {"type": "regex_match"}
CATASTROPHIC = "^(a|aa)+$"
ENDLESS = "a" * 200 + "b"


@pytest.mark.parametrize(
    ("pattern", "answer", "is_correct"),
    [
        pytest.param(r"\d{4}-\d\d-\d\d", "on 2026-11-18.", True, id="anywhere"),
        pytest.param(r"\d{4}-\d\d-\d\d", "tomorrow", False, id="no match"),
        pytest.param(r"^Yes\b", "Yes, it is", True, id="the start"),
        pytest.param(r"^Yes\b", "Yesterday", False, id="a whole word"),
        pytest.param(r"yes", "Yes", False, id="case counts"),
        pytest.param(r"(?i)yes", "Yes", True, id="a flag in the pattern"),
        pytest.param(r"(?s)a.b", "a\nb", True, id="a dot for line breaks"),
        pytest.param(r"x", "", False, id="an empty answer"),
        pytest.param(r"^$", "", True, id="an empty answer can be asked for"),
        pytest.param(r"^\p{Arabic}+$", "باريس", True, id="a script"),
        pytest.param(r"باريس", "العاصمة باريس", True, id="Arabic"),
        pytest.param("Zu\u0308rich", "Z\u00fcrich", True, id="a pattern in another form"),
        pytest.param("^Z.rich$", "Zu\u0308rich", True, id="an answer in another form"),
        pytest.param("{{ sample.year }}s", "in the 1980s", True, id="a column"),
        pytest.param("{{ sample.year }}s", "in the 1990s", False, id="a column, no match"),
    ],
)
def test_the_pattern_is_searched(pattern: str, answer: str, *, is_correct: bool) -> None:
    found = score({**MATCH, "pattern": pattern}, {"year": 1980}, chat(answer))

    assert found.values == {"is_correct": is_correct}
    assert found.correct is is_correct
    assert bool(found.reason) is not is_correct


@pytest.mark.parametrize(
    ("answer", "is_correct"), [("A", True), (" A\n", True), ("A.", False), ("AB", False)]
)
def test_the_whole_value_can_be_required(answer: str, *, is_correct: bool) -> None:
    fields = {**MATCH, "pattern": "[A-D]", "full_match": True}

    assert score(fields, {}, chat(answer)).correct is is_correct


def test_case_can_be_ignored() -> None:
    assert score({**MATCH, "pattern": "paris", "ignore_case": True}, {}, chat("PARIS")).correct


@pytest.mark.parametrize("full_match", [True, False])
def test_a_pattern_that_takes_too_long_fails_the_sample(*, full_match: bool) -> None:
    fields = {**MATCH, "pattern": CATASTROPHIC, "timeout_s": 0.01, "full_match": full_match}

    with pytest.raises(ValueError, match=r"`pattern` took longer than 0.01 s .* 201 characters"):
        score(fields, {}, chat(ENDLESS))


def test_a_pattern_that_becomes_invalid_with_a_row_fails_the_sample() -> None:
    with pytest.raises(ValueError, match="not a regular expression: missing"):
        score({**MATCH, "pattern": "{{ sample.text }}"}, {"text": "(a"}, chat("a"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"pattern": "(a"}, r"missing \) at character 3", id="a bracket"),
        pytest.param({"pattern": "*"}, "nothing to repeat", id="nothing to repeat"),
        pytest.param({"pattern": "(" * 400 + ")" * 400}, "nested too deeply", id="too deep"),
        pytest.param({"pattern": "a", "timeout_s": 0}, "timeout_s", id="no time"),
        pytest.param({"pattern": "a", "timeout_s": 31}, "timeout_s", id="too much time"),
    ],
)
def test_an_invalid_pattern_is_refused_before_the_run(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SCORERS.validate_python({**MATCH, **fields})
