import json
from typing import Any

import pytest
from tests.datasets.synthesizers.made import model, synthesized, synthesizer

from evalwright.errors import ModelError
from evalwright.types import Request

ASKS: dict[str, Any] = {
    "type": "llm",
    "model_key": "writer",
    "system_prompt": "You write in {{ sample.language }}.",
    "user_prompt": "A question about {{ sample.topic }}, number {{ index }}.",
    "output_column": "question",
}
ROW = {"topic": "rivers", "language": "German"}
AS_JSON = {
    **{name: one for name, one in ASKS.items() if name != "output_column"},
    "output_columns": {"question": "string", "level": "integer"},
}
SAID = json.dumps({"question": "Wo?", "level": 2, "why": "because"})


def test_the_reply_is_the_value_of_the_column() -> None:
    writer = model(lambda _: "  Wo ist der Rhein?\n")

    (row,) = synthesized(ASKS, ROW, index=3, writer=writer)

    assert row == {**ROW, "question": "Wo ist der Rhein?"}
    (asked,) = writer.calls
    assert [(one.role, one.content) for one in asked.messages] == [
        ("system", "You write in German."),
        ("user", "A question about rivers, number 3."),
    ]


def test_columns_are_read_out_of_json_and_no_others() -> None:
    (row,) = synthesized(AS_JSON, ROW, writer=model(lambda _: f"Sure!\n```json\n{SAID}\n```"))

    assert row == {**ROW, "question": "Wo?", "level": 2}


def test_a_list_of_names_is_of_texts() -> None:
    made = synthesizer({**AS_JSON, "output_columns": ["question", "answer"]})

    assert made.properties == {"question": {"type": "string"}, "answer": {"type": "string"}}


def test_a_server_is_given_the_schema_of_the_columns_if_that_is_wanted() -> None:
    writer = model(lambda _: SAID)

    synthesized({**AS_JSON, "use_structured_outputs": "yes"}, ROW, writer=writer)

    told = writer.calls[0].input["response_format"]["json_schema"]["schema"]
    assert told["properties"] == {"question": {"type": "string"}, "level": {"type": "integer"}}
    assert told["required"] == ["question", "level"]


def test_without_structured_outputs_nothing_is_added() -> None:
    writer = model(lambda _: SAID)

    synthesized(AS_JSON, ROW, writer=writer)

    assert writer.calls[0].input is None


def test_a_server_that_takes_no_schema_is_asked_without() -> None:
    def answer(request: Request) -> str:
        if request.input is not None:
            raise ModelError("bad_request", "response_format is not supported")
        return SAID

    (row,) = synthesized({**AS_JSON, "use_structured_outputs": True}, ROW, writer=model(answer))

    assert row["level"] == 2


@pytest.mark.parametrize(
    ("fields", "reply", "said"),
    [
        pytest.param(ASKS, " \n", "the reply is empty", id="empty"),
        pytest.param(AS_JSON, "I cannot.", "no JSON object: 'I cannot.'", id="a refusal"),
        pytest.param(AS_JSON, '{"question": "Wo?"}', "no JSON object", id="a column less"),
        pytest.param(
            AS_JSON, '{"question": "Wo?", "level": "two"}', "`level` to be a `integer`", id="type"
        ),
    ],
)
def test_a_reply_without_the_columns_fails_its_row(
    fields: dict[str, Any], reply: str, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        synthesized(fields, ROW, writer=model(lambda _: reply))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param(
            {"output_columns": ["a"]}, "got `output_column` and `output_columns`", id="both"
        ),
        pytest.param({"output_column": None}, "got none", id="neither"),
        pytest.param({"output_column": None, "output_columns": []}, "at least 1", id="no columns"),
        pytest.param(
            {"output_column": None, "output_columns": {"a": "text"}}, "'string'", id="no type"
        ),
        pytest.param({"use_structured_outputs": True}, "needs `sample_properties`", id="no schema"),
        pytest.param({"model_key": ""}, "at least 1", id="no model"),
        pytest.param({"user_prompt": "{{ sample."}, "line 1", id="no template"),
    ],
)
def test_refuses(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        synthesizer({**ASKS, **changes})


def test_a_column_that_no_row_has_is_said_before_anybody_is_asked() -> None:
    with pytest.raises(ValueError, match="no row has a column `language`; the columns are `topic`"):
        synthesizer(ASKS).columns_after(frozenset({"topic"}))


def test_its_columns_are_there_afterwards() -> None:
    before = frozenset({"topic", "language"})

    assert synthesizer(ASKS).columns_after(before) == before | {"question"}
    assert synthesizer(AS_JSON).columns_after(before) == before | {"question", "level"}
    assert synthesizer(ASKS).model_keys == ("writer",)


ROWS: dict[str, Any] = {
    "type": "llm",
    "model_key": "writer",
    "system_prompt": "You write in {{ source.language }}.",
    "user_prompt_template": "Two questions about {{ source.topic }}.",
    "sample_properties": {"question": {"type": "string"}},
}
TWO = json.dumps({"samples": [{"question": "أين؟"}, {"question": "متى؟"}]}, ensure_ascii=False)


def test_every_sample_of_a_reply_is_a_row_with_the_columns_of_the_source() -> None:
    writer = model(lambda _: TWO)

    rows = synthesized(ROWS, ROW, writer=writer)

    assert rows == [{**ROW, "question": "أين؟"}, {**ROW, "question": "متى؟"}]
    (asked,) = writer.calls
    assert asked.input is None
    system, user = asked.messages
    assert system.content == "You write in German."
    assert user.content.startswith("Two questions about rivers.\n\nAnswer with JSON")


def test_own_format_instructions_take_the_place_of_ours() -> None:
    writer = model(lambda _: TWO)

    synthesized({**ROWS, "format_instructions": 'As {"a": {"b": 1}}.'}, ROW, writer=writer)

    prompt = writer.calls[0].messages[-1].content
    assert prompt == 'Two questions about rivers.\n\nAs {"a": {"b": 1}}.'


def test_instructions_are_added_only_where_structured_outputs_are_off() -> None:
    def answer(request: Request) -> str:
        if request.input is not None:
            raise ModelError("bad_request", "response_format is not supported")
        return TWO

    writer = model(answer)

    synthesized({**ROWS, "use_structured_outputs": True}, ROW, writer=writer)

    with_schema, plain = writer.calls
    assert with_schema.messages[-1].content == "Two questions about rivers."
    assert "Answer with JSON" in plain.messages[-1].content


@pytest.mark.parametrize("ids", ["file-1", ["file-1", "file-2"]])
def test_files_are_sent_with_the_user_message(ids: Any) -> None:
    writer = model(lambda _: TWO)
    fields = {**ROWS, "file_ids_field": "files"}
    del fields["user_prompt_template"]

    synthesized(fields, {**ROW, "files": ids}, writer=writer)

    assert writer.calls[0].messages[-1].file_ids == tuple([ids] if isinstance(ids, str) else ids)


@pytest.mark.parametrize("ids", [None, "", [], [1]])
def test_a_row_without_a_file_id_fails(ids: Any) -> None:
    with pytest.raises(ValueError, match="column `files` must contain a file id"):
        synthesized({**ROWS, "file_ids_field": "files"}, {**ROW, "files": ids}, writer=model(str))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user_prompt_template": None}, "expected `user_prompt_template` or `file_ids_field`"),
        ({"user_prompt": "x"}, "got `user_prompt` as well"),
        ({"sample_properties": None}, "expected `sample_properties`, got none"),
        ({"sample_properties": {}}, "at least 1"),
        ({"output_column": "a"}, "`sample_properties` and `output_column`"),
    ],
)
def test_refuses_what_does_not_fit_the_published_fields(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        synthesizer({**ROWS, **changes})


def test_a_model_that_cannot_be_asked_is_named() -> None:
    def answer(_: Request) -> str:
        raise ModelError("auth", "no such key")

    with pytest.raises(ModelError, match=r"^the model `writer`: no such key"):
        synthesized(ROWS, ROW, writer=model(answer))
