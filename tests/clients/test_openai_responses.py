from typing import Any

import pytest
from msgspec import structs
from tests.servers.asking import answered, asking, chat, failed, question
from tests.servers.model_server import Behaviour, ModelServer, hostile, json, status

from evalwright.clients.openai_responses import Responses, connect
from evalwright.errors import ModelError, UsageError
from evalwright.types import Completion, ModelOptions, Usage

KEY = "sk-0123456789abcdef"


def model(server: ModelServer, **parameters: Any) -> Responses:
    environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
    return connect("m", ModelOptions(parameters=parameters, environment=environment))


def said(text: str = "4", **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": [], **more}
    return {"type": "message", "role": "assistant", "content": [part]}


def replying(*output: dict[str, Any], **more: Any) -> Behaviour:
    usage = {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14}
    return json(
        {"object": "response", "status": "completed", "output": output, "usage": usage, **more}
    )


RIGHT = replying(said())


def answer_to(behaviour: Behaviour, **parameters: Any) -> Completion:
    with ModelServer(behaviour) as server:
        return answered(model(server, **parameters))


def error_of(behaviour: Behaviour, **parameters: Any) -> ModelError:
    with ModelServer(behaviour) as server:
        return failed(model(server, **parameters))


def body_with(**parameters: Any) -> dict[str, Any]:
    with ModelServer(RIGHT) as server:
        answered(model(server, **parameters))
        body: dict[str, Any] = server.log[0].body
        return {name: body[name] for name in body if name not in {"model", "input"}}


def test_a_conversation_goes_out_and_an_answer_comes_back() -> None:
    with ModelServer(RIGHT) as server:
        found = answered(model(server), question("2 + 2 =", system="Be brief."))

        assert found == Completion(
            text="4", usage=Usage(requests=1, prompt_tokens=11, completion_tokens=3), finish="stop"
        )
        (asked,) = server.log
        assert asked.path == "/v1/responses"
        assert asked.headers["Authorization"] == f"Bearer {KEY}"
        assert asked.body == {
            "model": "m",
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "2 + 2 ="},
            ],
            "store": False,
        }


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({}, {"store": False}, id="nothing is stored"),
        pytest.param({"store": True}, {"store": True}, id="unless it is to be"),
        pytest.param(
            {"temperature": 0, "reasoning": {"effort": "low"}},
            {"store": False, "temperature": 0, "reasoning": {"effort": "low"}},
            id="as they are",
        ),
        pytest.param({"max_tokens": 9}, {"store": False, "max_output_tokens": 9}, id="max_tokens"),
        pytest.param(
            {"logprobs": True, "top_logprobs": 2, "include": ["x"]},
            {
                "store": False,
                "top_logprobs": 2,
                "include": ["x", "message.output_text.logprobs"],
            },
            id="logprobs",
        ),
        pytest.param({"logprobs": False}, {"store": False}, id="no logprobs"),
        pytest.param(
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
                },
                "text": {"verbosity": "low"},
            },
            {
                "store": False,
                "text": {
                    "verbosity": "low",
                    "format": {
                        "type": "json_schema",
                        "name": "n",
                        "schema": {"type": "object"},
                        "strict": True,
                    },
                },
            },
            id="a schema",
        ),
        pytest.param(
            {"response_format": {"type": "json_object"}},
            {"store": False, "text": {"format": {"type": "json_object"}}},
            id="any JSON",
        ),
    ],
)
def test_parameters_are_sent_as_they_are_or_by_the_name_they_have_here(
    given: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert body_with(**given) == sent


@pytest.mark.parametrize("name", ["n", "seed", "stop", "background", "input", "model"])
def test_what_this_api_does_not_have_is_refused_before_any_call(name: str) -> None:
    with ModelServer(RIGHT) as server:
        with pytest.raises(
            UsageError, match=f"openai-responses/m does not accept the parameter `{name}`"
        ):
            model(server, **{name: 1})

        assert server.log == []


def test_the_fingerprint_tells_the_two_apis_apart() -> None:
    with ModelServer(RIGHT) as server:
        assert model(server, top_p=1).fingerprint == (
            '{"api":"responses","parameters":{"store":false,"top_p":1},'
            f'"url":"{server.url}/responses"}}'
        )


def test_a_missing_key_and_a_missing_name_are_found_before_any_call() -> None:
    with pytest.raises(UsageError, match="openai-responses needs an API key") as caught:
        connect("gpt-5-mini", ModelOptions(environment={}))

    assert caught.value.hint == "set OPENAI_API_KEY"
    with pytest.raises(UsageError, match="`openai-responses/` needs a model name"):
        connect("", ModelOptions(environment={"OPENAI_API_KEY": KEY}))


def test_only_what_the_message_says_is_the_answer() -> None:
    thought = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hmm"}]}
    search = {"type": "web_search_call", "status": "completed"}

    assert answer_to(replying(thought, search, said("fo"), said("ur"))).text == "four"


def test_log_probabilities_are_taken_where_they_are_given() -> None:
    given = [{"token": "4", "logprob": -0.5}, {"token": ".", "logprob": -1}]

    assert answer_to(replying(said(logprobs=given)), logprobs=True).logprobs == (-0.5, -1.0)
    assert answer_to(replying(said(logprobs=[]))).logprobs is None


def test_a_tool_call_without_text_is_an_answer_whose_text_is_the_call() -> None:
    call = {"type": "function_call", "name": "add", "arguments": '{"a": 1}', "call_id": "c"}

    found = answer_to(replying(call))

    assert (found.text, found.finish) == ('[{"name":"add","arguments":{"a":1}}]', "tool_calls")


@pytest.mark.parametrize(
    ("reply_status", "reason", "finish"),
    [
        ("completed", None, "stop"),
        ("incomplete", "max_output_tokens", "length"),
        ("incomplete", "something new", "other"),
        (None, None, "other"),
    ],
)
def test_a_finish_is_one_of_ours(reply_status: str, reason: str | None, finish: str) -> None:
    details = {"reason": reason} if reason else None

    found = answer_to(replying(said(), status=reply_status, incomplete_details=details))

    assert (found.text, found.finish) == ("4", finish)


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        pytest.param(replying(), "empty", "no text", id="no output"),
        pytest.param(replying({"type": "reasoning"}), "empty", "no text", id="only thoughts"),
        pytest.param(
            replying(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "truncated",
            "the token limit was reached",
            id="cut before any text",
        ),
        pytest.param(
            replying({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}),
            "refused",
            "I won't.",
            id="refused",
        ),
        pytest.param(
            replying(
                said("half"), status="incomplete", incomplete_details={"reason": "content_filter"}
            ),
            "filtered",
            "content filter",
            id="filtered",
        ),
        pytest.param(
            replying(status="failed", error={"code": "server_error", "message": "it broke"}),
            "error_object",
            "it broke",
            id="failed",
        ),
        pytest.param(replying(status="failed"), "error_object", "no details", id="failed mutely"),
        pytest.param(replying(status="queued"), "wrong_shape", "`queued`", id="not yet begun"),
        pytest.param(json({"choices": []}), "wrong_shape", "`output`", id="the other API"),
        pytest.param(status(400, "no such model"), "bad_request", "no such model", id="a status"),
    ],
)
def test_a_reply_without_an_answer_says_why(behaviour: Behaviour, kind: str, message: str) -> None:
    error = error_of(behaviour)

    assert error.kind == kind
    assert message in error.message


@pytest.mark.parametrize(("kind", "behaviour"), [*hostile()])
def test_a_hostile_server_gets_no_answer_out_of_it(kind: str, behaviour: Behaviour) -> None:
    error = error_of(behaviour, first_byte_timeout_s=0.2, total_timeout_s=0.4)

    assert error.kind == (kind if kind != "empty" else "wrong_shape")


def test_a_request_may_bring_more_keys_by_their_chat_names() -> None:
    keys = {"max_tokens": 9, "response_format": {"type": "json_object"}}
    with ModelServer(RIGHT) as server:
        answered(model(server, max_tokens=5), chat("hello", keys=keys))

    body = server.log[0].body
    assert body["max_output_tokens"] == 9
    assert body["text"] == {"format": {"type": "json_object"}}
    assert "response_format" not in body


@pytest.mark.parametrize("keys", [{"model": "x"}, {"input": "x"}, {"messages": []}, {"seed": 1}])
def test_what_a_request_may_not_bring_is_not_sent(keys: dict[str, Any]) -> None:
    with ModelServer(RIGHT) as server:
        error = failed(model(server), chat("hello", keys=keys))

    assert (error.kind, server.log) == ("bad_request", [])


def test_it_is_for_chat() -> None:
    with ModelServer(RIGHT) as server:
        assert failed(model(server), asking("custom", {})).kind == "unsupported"


def test_calls_are_kept_as_open_responses() -> None:
    call = {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "c1", "id": "f"}

    found = answer_to(replying({"type": "reasoning"}, said("let me see"), call))

    assert found.output == {
        "items": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "let me see"}],
            },
            {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "c1"},
        ],
        "usage": {"num_prompt_tokens": 11, "num_completion_tokens": 3},
    }


def test_to_who_takes_all_a_refusal_is_an_answer_and_so_is_an_empty_text() -> None:
    asked = structs.replace(question(), takes_all=True)
    with ModelServer(
        replying({"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]})
    ) as server:
        refused = answered(model(server), asked)
    with ModelServer(replying(said(""))) as server:
        empty = answered(model(server), asked)

    assert refused.text == "I can't."
    message = {"role": "assistant", "content": None, "refusal": "I can't."}
    assert refused.output["choices"] == [{"message": message}]
    assert set(refused.output["usage"]) == {"num_prompt_tokens", "num_completion_tokens"}
    assert (empty.text, empty.output) == ("", None)


def test_who_takes_all_does_not_take_what_was_cut_before_any_text() -> None:
    asked = structs.replace(question(), takes_all=True)
    with ModelServer(
        replying(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    ) as server:
        error = failed(model(server), asked)

    assert error.kind == "truncated"
