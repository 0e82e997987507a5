import json
from typing import Any

import pytest
from tests.datasets.synthesizers.made import model, synthesized, synthesizer

EXTRACT: dict[str, Any] = {"type": "claim_extraction", "model_key": "writer"}
ROW = {"question": "Wohin fließt der Rhein?", "expected_answer": "In die Nordsee."}
CLAIM = {"subject": "Der Rhein", "predicate": "fließt in", "object": "die Nordsee"}
REPLY = json.dumps({"claims": [CLAIM]})


def test_the_claims_of_the_answer_are_a_new_column() -> None:
    writer = model(lambda _: REPLY)

    (row,) = synthesized({**EXTRACT, "instructions": "Keep names."}, ROW, writer=writer)

    assert row == {**ROW, "claims": [{"claim": CLAIM}]}
    (asked,) = writer.calls
    assert "Keep names." in asked.messages[0].content
    assert "In die Nordsee." in asked.messages[1].content
    assert asked.input["response_format"]["json_schema"]["name"] == "claims"


def test_columns_are_read_by_their_bindings() -> None:
    fields = {**EXTRACT, "columns": {"question": "q", "answer": "a"}, "output_field": "facts"}

    (row,) = synthesized(fields, {"q": "؟", "a": "القاهرة"}, writer=model(lambda _: REPLY))

    assert row["facts"] == [{"claim": CLAIM}]
    assert synthesizer(fields).columns_after(frozenset({"q", "a"})) == {"q", "a", "facts"}
    with pytest.raises(ValueError, match="no row has a column `a`"):
        synthesizer(fields).columns_after(frozenset({"q"}))


def test_nobody_is_asked_about_an_empty_answer() -> None:
    writer = model(lambda _: REPLY)

    (row,) = synthesized(EXTRACT, {**ROW, "expected_answer": " "}, writer=writer)

    assert (row["claims"], writer.calls) == ([], [])


@pytest.mark.parametrize(
    ("row", "reply", "message"),
    [
        (ROW, "I cannot do that.", "contains no list `claims`; its reply: I cannot do that."),
        (ROW, '{"claims": [{"subject": "x"}]}', "claim 1 of the list must contain the strings"),
        (ROW, "", "the reply is empty"),
        ({"question": "?"}, REPLY, "column `expected_answer` must contain text, got 'None'"),
    ],
)
def test_what_cannot_be_used_fails_the_row(row: Any, reply: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthesized(EXTRACT, row, writer=model(lambda _: reply))


def test_it_has_the_published_fields() -> None:
    made = synthesizer(EXTRACT)

    assert made.model_dump() == {
        "type": "claim_extraction",
        "model_key": "writer",
        "output_field": "claims",
        "instructions": None,
        "columns": {"question": "question", "answer": "expected_answer"},
    }
    assert made.model_keys == ("writer",)
