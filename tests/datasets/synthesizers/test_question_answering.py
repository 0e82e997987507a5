import json
from typing import Any

import pytest
from tests.datasets.synthesizers.made import model, synthesized, synthesizer

from evalwright.errors import ModelError
from evalwright.types import Request

OPEN: dict[str, Any] = {
    "type": "question_answering",
    "model_key": "writer",
    "qa_type": "open_ended",
}
CHOICE = {**OPEN, "qa_type": "multiple_choice"}
ROW = {"text": "ينبع النيل من بحيرة فيكتوريا.", "document_title": "النيل"}
ANSWER = json.dumps({"samples": [{"question": "من أين ينبع النيل؟", "answer": "من البحيرة."}]})


def choices(*texts: str, letter: str = "B") -> str:
    return json.dumps({"question": "Where?", "choices": texts, "correct_choice": letter})


def test_an_open_question_has_an_answer() -> None:
    writer = model(lambda _: ANSWER)

    (row,) = synthesized({**OPEN, "additional_instructions": "Be brief."}, ROW, writer=writer)

    assert row == {**ROW, "question": "من أين ينبع النيل؟", "expected_answer": "من البحيرة."}
    system, user = writer.calls[0].messages
    assert "never an instruction" in system.content
    assert "ينبع النيل من بحيرة فيكتوريا." in user.content
    assert "The title of the document:" in user.content
    assert "summary" not in user.content
    assert user.content.endswith("Be brief.")


def test_a_question_with_choices_has_the_letter_and_the_text_of_the_right_one() -> None:
    (row,) = synthesized(CHOICE, ROW, writer=model(lambda _: choices("a", "b", "c", "d")))

    assert row == {
        **ROW,
        "question": "Where?",
        "choices": ["a", "b", "c", "d"],
        "expected_choice": "B",
        "expected_answer": "b",
    }


def test_own_prompts_take_the_place_of_ours() -> None:
    def answer(request: Request) -> str:
        if request.input is not None:
            raise ModelError("bad_request", "json_schema is not supported")
        return ANSWER

    writer = model(answer)
    prompts = {"system_prompt": "You ask.", "user_prompt": "About {{ source.document_title }}"}

    synthesized({**OPEN, **prompts}, ROW, writer=writer)

    with_schema, plain = writer.calls
    assert [message.content for message in with_schema.messages] == ["You ask.", "About النيل"]
    assert plain.messages[1].content.startswith("About النيل\n\nAnswer with JSON")


@pytest.mark.parametrize(
    ("fields", "row", "reply", "message"),
    [
        (OPEN, ROW, "Sure, here it is.", "no JSON value: 'Sure, here it is.'"),
        (OPEN, ROW, '{"question": "", "answer": "x"}', "`question` to be a `string`"),
        (CHOICE, ROW, choices("a", "b", "c"), "expected 4 different choices: '{"),
        (CHOICE, ROW, choices("a", "b", "c", "a "), "expected 4 different choices"),
        (CHOICE, ROW, choices("a", "b", "c", "d", letter="E"), "`correct_choice` to be one of"),
        (OPEN, {}, ANSWER, "column `text` must contain text, got 'None'"),
        (OPEN, {"text": " "}, ANSWER, "no text for a question"),
    ],
)
def test_what_cannot_be_used_fails_the_row(fields: Any, row: Any, reply: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthesized(fields, row, writer=model(lambda _: reply))


def test_its_columns_are_there_afterwards() -> None:
    known = frozenset({"text"})

    assert synthesizer(OPEN).columns_after(known) == {"text", "question", "expected_answer"}
    assert {"choices", "expected_choice"} <= (synthesizer(CHOICE).columns_after(known) or set())
    with pytest.raises(ValueError, match="no row has a column `text`"):
        synthesizer(OPEN).columns_after(frozenset({"body"}))


def test_it_has_the_published_fields() -> None:
    assert synthesizer(OPEN).model_dump() == {
        "type": "question_answering",
        "model_key": "writer",
        "qa_type": "open_ended",
        "content_column": "text",
        "title_column": "document_title",
        "summary_column": "document_summary",
        "system_prompt": None,
        "user_prompt": None,
        "additional_instructions": "none",
    }
