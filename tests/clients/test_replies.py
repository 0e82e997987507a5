from typing import Any

import pytest

from evalwright.clients.replies import parse_completion
from evalwright.errors import ModelError
from evalwright.objects import SolverTrace
from evalwright.types import Completion, MLTask, Usage

SAID = {"role": "assistant", "content": "4"}
CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


def chat(choice: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": SAID, **(choice or {})}], **more}


def item(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(parts), **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "output_text", "text": said}


def error_of(output: Any, task: MLTask = "chat_completion", **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        parse_completion(output, task, **more)
    return caught.value


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param({"num_prompt_tokens": 7, "num_completion_tokens": 2}, id="the format's own"),
        pytest.param({"prompt_tokens": 7, "completion_tokens": 2}, id="chat completions"),
        pytest.param({"input_tokens": 7, "output_tokens": 2}, id="responses"),
    ],
)
def test_tokens_are_counted_under_whatever_name_they_come(usage: dict[str, int]) -> None:
    found = parse_completion(chat(usage=usage), "chat_completion")

    assert found == Completion(
        text="4", usage=Usage(requests=1, prompt_tokens=7, completion_tokens=2)
    )


@pytest.mark.parametrize(
    "usage", [None, "many", {}, {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
def test_tokens_that_make_no_sense_are_not_counted(usage: Any) -> None:
    assert parse_completion(chat(usage=usage), "chat_completion").usage == Usage(requests=1)


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(chat(), id="a message"),
        pytest.param(chat({"index": 0, "finish_reason": "stop"}, id="x", model="m"), id="OpenAI's"),
        pytest.param(
            chat({"message": {**SAID, "refusal": None, "annotations": []}}), id="empty keys"
        ),
        pytest.param({"items": [item(text("4"), id="m")], "usage": {}}, id="open responses"),
        pytest.param({"items": [item({**text("4"), "annotations": []})]}, id="empty annotations"),
    ],
)
def test_where_the_text_is_all_no_output_is_kept(output: dict[str, Any]) -> None:
    found = parse_completion(output, "chat_completion")

    assert (found.text, found.output) == ("4", None)


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(chat({"references": [{"content": "a book"}]}), id="references"),
        pytest.param(chat({"references": []}), id="references, and none was found"),
        pytest.param(chat({"message": {**SAID, "tool_calls": [CALL]}}), id="tool calls"),
        pytest.param(chat({"message": {**SAID, "mood": "calm"}}), id="a key of one's own"),
        pytest.param(chat(route="b"), id="a key of one's own beside the choices"),
        pytest.param({"items": [{"type": "reasoning"}, item(text("4"))]}, id="reasoning"),
    ],
)
def test_where_there_is_more_than_a_text_the_output_is_kept_with_its_tokens(
    output: dict[str, Any],
) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2}

    found = parse_completion({**output, "usage": usage}, "chat_completion")

    counted = {"num_prompt_tokens": 7, "num_completion_tokens": 2}
    assert found.text == "4"
    assert found.output == {**output, "usage": {**usage, **counted}}


def test_calls_without_a_text_are_the_text() -> None:
    output = chat(
        {"message": {"content": None, "tool_calls": [CALL]}, "finish_reason": "tool_calls"}
    )

    found = parse_completion(output, "chat_completion")

    assert (found.text, found.finish) == ('[{"name":"add","arguments":{"a":1}}]', "tool_calls")


def test_of_open_responses_the_last_message_is_the_answer() -> None:
    call = {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "c1"}
    items = [item(text("let me see")), call, item(text("it is"), text("4"))]

    found = parse_completion({"items": items}, "chat_completion")

    assert found.text == "it is\n4"
    assert found.output["items"] == items


def test_open_responses_may_have_their_text_in_one_string_or_only_calls() -> None:
    call = {"type": "function_call", "name": "add", "arguments": "{}"}

    plain = parse_completion({"items": [{"role": "assistant", "content": "4"}]}, "chat_completion")
    calling = parse_completion({"items": [call]}, "chat_completion")

    assert plain.text == "4"
    assert (calling.text, calling.finish) == ('[{"name":"add","arguments":{}}]', "tool_calls")


@pytest.mark.parametrize(
    "output",
    [
        {"items": [item(text("4"))], "incomplete_details": {"reason": "max_output_tokens"}},
        {"items": [item(text("4"), status="incomplete")]},
        chat({"finish_reason": "length"}),
    ],
)
def test_a_text_that_was_cut_is_an_answer_that_says_so(output: dict[str, Any]) -> None:
    assert parse_completion(output, "chat_completion").finish == "length"


@pytest.mark.parametrize(
    ("output", "kind", "says"),
    [
        pytest.param({"error": {"message": "no"}}, "error_object", "no", id="an error"),
        pytest.param({"error": "no"}, "error_object", "no", id="an error in a word"),
        pytest.param({"answer": 4}, "wrong_shape", "choices", id="another shape"),
        pytest.param([1], "wrong_shape", "got `list`", id="a list"),
        pytest.param({"choices": [{"text": "4"}]}, "wrong_shape", "message", id="no message"),
        pytest.param({"choices": []}, "empty", "no choices", id="no choices"),
        pytest.param(chat({"message": {"content": ""}}), "empty", "no text", id="no text"),
        pytest.param({"items": []}, "empty", "no text", id="no items"),
        pytest.param(chat({"message": {"refusal": "I won't"}}), "refused", "won't", id="refused"),
        pytest.param(
            {"items": [item({"type": "refusal", "refusal": "I won't"})]},
            "refused",
            "won't",
            id="refused in open responses",
        ),
        pytest.param(chat({"finish_reason": "content_filter"}), "filtered", "filter", id="filter"),
        pytest.param(
            {"items": [], "incomplete_details": {"reason": "content_filter"}},
            "filtered",
            "filter",
            id="filter in open responses",
        ),
    ],
)
def test_what_is_no_answer_says_why(output: Any, kind: str, says: str) -> None:
    error = error_of(output)

    assert error.kind == kind
    assert says in error.message


def test_an_error_with_a_status_in_it_may_be_tried_again() -> None:
    assert error_of({"error": {"code": 503, "message": "busy"}}).retryable
    assert not error_of({"error": {"code": 400, "message": "bad"}}).retryable


def test_an_error_that_is_null_is_none() -> None:
    assert parse_completion(chat(error=None), "chat_completion").text == "4"


def test_words_of_others_are_cleaned() -> None:
    error = error_of({"error": "bad key sk-1"}, clean=lambda said: said.replace("sk-1", "…"))

    assert error.message == "the output is an error: bad key …"


@pytest.mark.parametrize(
    "output",
    [
        {"embeddings": [[1, 2.5], [3.0, 4.0]]},
        {"data": [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1, 2.5]}]},
    ],
)
def test_embeddings_come_in_either_shape_and_leave_in_one(output: dict[str, Any]) -> None:
    found = parse_completion({**output, "usage": {"prompt_tokens": 3}}, "embeddings", texts=2)

    assert found.output == {
        "embeddings": [[1.0, 2.5], [3.0, 4.0]],
        "usage": {"num_prompt_tokens": 3, "num_completion_tokens": 0},
    }
    assert found.text == ""


@pytest.mark.parametrize("output", [{"vectors": []}, {"embeddings": [["a"]]}, [[1.0]]])
def test_what_is_no_embeddings_is_the_wrong_shape(output: Any) -> None:
    assert error_of(output, "embeddings").kind == "wrong_shape"


def test_a_vector_too_few_is_an_error_not_a_mistaken_text() -> None:
    error = error_of({"embeddings": [[1.0]]}, "embeddings", texts=2)

    assert error.message == "expected 2 embeddings, one per string, got 1"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"label": "cat"}, '{"label":"cat"}'),
        ([1, None], "[1,null]"),
        ("cat", "cat"),
        (None, "null"),
    ],
)
def test_a_custom_output_is_whatever_it_is(output: Any, said: str) -> None:
    found = parse_completion(output, "custom")

    assert (found.text, found.output) == (said, output)


def test_an_error_is_one_in_a_custom_output_too() -> None:
    assert error_of({"error": "no"}, "custom").kind == "error_object"


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(chat({"message": {"role": "assistant", "content": ""}}), id="an empty text"),
        pytest.param(chat({"message": {"role": "assistant", "content": None}}), id="null"),
        pytest.param({"items": [item(text(""))]}, id="open responses"),
        pytest.param({"items": []}, id="no items"),
    ],
)
def test_to_who_takes_all_an_empty_text_is_an_answer(output: dict[str, Any]) -> None:
    found = parse_completion(output, "chat_completion", takes_all=True)

    assert found == Completion(text="", usage=Usage(requests=1))


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(chat({"message": {"content": None, "refusal": "I won't"}}), id="chat"),
        pytest.param(chat({"message": {"content": "", "refusal": "I won't"}}), id="empty content"),
        pytest.param({"items": [item({"type": "refusal", "refusal": "I won't"})]}, id="items"),
        pytest.param(
            {"items": [item(text(""), {"type": "refusal", "refusal": "I won't"})]}, id="both"
        ),
    ],
)
def test_to_who_takes_all_a_refusal_is_an_answer_in_its_own_words(output: dict[str, Any]) -> None:
    usage = {"num_prompt_tokens": 7, "num_completion_tokens": 2}

    found = parse_completion({**output, "usage": usage}, "chat_completion", takes_all=True)

    assert (found.text, found.usage.completion_tokens) == ("I won't", 2)
    solved = SolverTrace(raw_outputs=[found.output])
    assert solved.output.choices[0].message.refusal == "I won't"
    assert str(solved.output) == "I won't"


def test_a_refusal_beside_a_text_leaves_the_text_the_answer() -> None:
    output = chat({"message": {**SAID, "refusal": "no more"}})

    assert parse_completion(output, "chat_completion", takes_all=True).text == "4"


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (chat({"message": {"content": ""}, "finish_reason": "length"}), "truncated"),
        (chat({"finish_reason": "content_filter"}), "filtered"),
        ({"choices": []}, "empty"),
    ],
)
def test_who_takes_all_still_takes_no_cut_no_filtered_and_no_missing_reply(
    output: dict[str, Any], kind: str
) -> None:
    assert error_of(output, takes_all=True).kind == kind
