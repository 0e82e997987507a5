from typing import Any

import pytest
from msgspec import structs
from tests.servers.asking import answered, asking, chat, failed, question
from tests.servers.model_server import Behaviour, ModelServer, hostile, json

from evalwright.clients.anthropic import Messages, connect
from evalwright.errors import ModelError, UsageError
from evalwright.types import Completion, ModelOptions, Usage

KEY = "sk-ant-0123456789abcdef"


def model(server: ModelServer, **parameters: Any) -> Messages:
    environment = {"ANTHROPIC_BASE_URL": server.origin, "ANTHROPIC_API_KEY": KEY}
    return connect("claude", ModelOptions(parameters=parameters, environment=environment))


def said(text: str = "4") -> dict[str, Any]:
    return {"type": "text", "text": text}


def replying(*content: dict[str, Any], reason: str | None = "end_turn", **more: Any) -> Behaviour:
    usage = {"input_tokens": 11, "output_tokens": 3}
    return json(
        {"type": "message", "content": content, "stop_reason": reason, "usage": usage, **more}
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
        return {name: body[name] for name in body if name not in {"model", "messages"}}


def test_a_conversation_goes_out_and_an_answer_comes_back() -> None:
    with ModelServer(RIGHT) as server:
        found = answered(model(server), question("2 + 2 =", system="Be brief."))

        assert found == Completion(
            text="4", usage=Usage(requests=1, prompt_tokens=11, completion_tokens=3), finish="stop"
        )
        (asked,) = server.log
        assert asked.path == "/v1/messages"
        assert asked.headers["x-api-key"] == KEY
        assert asked.headers["anthropic-version"] == "2023-06-01"
        assert "Authorization" not in asked.headers
        assert asked.body == {
            "model": "claude",
            "max_tokens": 4096,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "2 + 2 ="}],
        }


def test_without_a_key_no_key_is_sent() -> None:
    with ModelServer(RIGHT) as server:
        environment = {"ANTHROPIC_BASE_URL": server.url}
        answered(connect("claude", ModelOptions(environment=environment)))

        assert "x-api-key" not in server.log[0].headers
        assert server.log[0].path == "/v1/messages"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({}, {"max_tokens": 4096}, id="the tokens that the API demands"),
        pytest.param({"max_tokens": 9}, {"max_tokens": 9}, id="unless they are given"),
        pytest.param(
            {"temperature": 0, "thinking": {"type": "disabled"}, "service_tier": "auto"},
            {
                "max_tokens": 4096,
                "temperature": 0,
                "thinking": {"type": "disabled"},
                "service_tier": "auto",
            },
            id="as they are",
        ),
        pytest.param(
            {"stop": "\n"}, {"max_tokens": 4096, "stop_sequences": ["\n"]}, id="one place to stop"
        ),
        pytest.param(
            {"stop": ["a", "b"]}, {"max_tokens": 4096, "stop_sequences": ["a", "b"]}, id="two"
        ),
    ],
)
def test_parameters_are_sent_as_they_are_or_by_the_name_they_have_here(
    given: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert body_with(**given) == sent


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"seed": 1}, "does not accept the parameter `seed`: the Messages API does not support it"),
        ({"logprobs": True}, "does not accept the parameter `logprobs`"),
        ({"n": 2}, "each trial is a separate request"),
        ({"messages": []}, "the task sets them"),
        ({"max_tokens": None}, "got `null` - at `$.max_tokens`"),
        ({"stop": 4}, "at `$.stop`"),
        ({"temperature": "0"}, "at `$.temperature`"),
    ],
)
def test_a_parameter_that_cannot_be_right_is_refused_before_any_call(
    parameters: dict[str, Any], message: str
) -> None:
    with ModelServer(RIGHT) as server:
        with pytest.raises(UsageError) as caught:
            model(server, **parameters)

        assert message in caught.value.message
        assert server.log == []


def test_a_missing_key_and_a_missing_name_are_found_before_any_call() -> None:
    with pytest.raises(UsageError, match="anthropic needs an API key") as caught:
        connect("claude", ModelOptions(environment={}))

    assert caught.value.hint == "set ANTHROPIC_API_KEY"
    with pytest.raises(UsageError, match="`anthropic/` needs a model name"):
        connect("", ModelOptions(environment={"ANTHROPIC_API_KEY": KEY}))


def test_the_fingerprint_is_the_address_and_what_is_sent() -> None:
    with ModelServer(RIGHT) as server:
        assert model(server, top_p=1).fingerprint == (
            '{"api":"messages","parameters":{"max_tokens":4096,"top_p":1},'
            f'"url":"{server.url}/messages"}}'
        )


def test_only_text_is_the_answer() -> None:
    thought = {"type": "thinking", "thinking": "hmm", "signature": "x"}

    assert answer_to(replying(thought, said("fo"), said("ur"))).text == "four"


def test_tokens_of_the_providers_cache_went_in_too() -> None:
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": None,
        "output_tokens": 3,
    }

    found = answer_to(replying(said(), usage=usage)).usage

    assert found == Usage(requests=1, prompt_tokens=21, completion_tokens=3)


def test_a_tool_call_without_text_is_an_answer_whose_text_is_the_call() -> None:
    call = {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}}

    found = answer_to(replying(call, reason="tool_use"))

    assert (found.text, found.finish) == ('[{"name":"add","arguments":{"a":1}}]', "tool_calls")


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "other"),
        (None, "other"),
    ],
)
def test_a_finish_is_one_of_ours(reason: str | None, finish: str) -> None:
    assert answer_to(replying(said(), reason=reason)).finish == finish


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        pytest.param(replying(), "empty", "no text", id="nothing"),
        pytest.param(
            replying(reason="max_tokens"),
            "truncated",
            "the token limit was reached",
            id="cut before any",
        ),
        pytest.param(
            replying(said("I can't."), reason="refusal"), "refused", "I can't.", id="refused"
        ),
        pytest.param(
            json({"type": "error", "error": {"type": "api_error", "message": "oops"}}),
            "error_object",
            "oops",
            id="an error under a good status",
        ),
        pytest.param(
            json(
                {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
                status=529,
            ),
            "server",
            "HTTP 529: Overloaded",
            id="overloaded",
        ),
        pytest.param(
            json({"type": "error", "error": {"message": f"bad key {KEY}"}}, status=401),
            "auth",
            "HTTP 401: bad key [redacted]",
            id="a wrong key, not repeated",
        ),
        pytest.param(json({"choices": []}), "wrong_shape", "`content`", id="another API"),
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


def test_a_request_may_bring_more_keys_and_a_schema() -> None:
    schema = {"type": "object", "properties": {}}
    shape = {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": schema}}
    keys = {"response_format": shape, "stop": "END", "max_completion_tokens": 9}
    with ModelServer(RIGHT) as server:
        answered(model(server, temperature=0), chat("hello", keys=keys))

    assert server.log[0].body == {
        "model": "claude",
        "max_tokens": 9,
        "temperature": 0,
        "stop_sequences": ["END"],
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
        "messages": [{"role": "user", "content": "hello"}],
    }


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        pytest.param({"response_format": {"type": "json_object"}}, "unsupported", id="any JSON"),
        pytest.param({"response_format": "json"}, "unsupported", id="no format"),
        pytest.param({"seed": 1}, "bad_request", id="a seed"),
        pytest.param({"model": "other"}, "bad_request", id="another model"),
    ],
)
def test_what_this_api_cannot_do_is_not_sent(keys: dict[str, Any], kind: str) -> None:
    with ModelServer(RIGHT) as server:
        error = failed(model(server), chat("hello", keys=keys))

    assert (error.kind, server.log) == (kind, [])


def test_plain_text_needs_no_format() -> None:
    with ModelServer(RIGHT) as server:
        answered(model(server), chat("hello", keys={"response_format": {"type": "text"}}))

    assert server.log[0].body.keys() == {"model", "max_tokens", "messages"}


def test_it_has_no_embeddings() -> None:
    with ModelServer(RIGHT) as server:
        assert failed(model(server), asking("embeddings", "a")).kind == "unsupported"


def test_tool_calls_are_kept_in_the_shape_that_authors_know() -> None:
    used = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}}

    found = answer_to(replying(said("let me see"), used, reason="tool_use"))

    call = {"id": "t1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}
    message = {"role": "assistant", "content": "let me see", "tool_calls": [call]}
    assert found.output["choices"] == [{"message": message}]


def test_to_who_takes_all_a_refusal_is_an_answer_and_so_is_an_empty_text() -> None:
    asked = structs.replace(question(), takes_all=True)
    with ModelServer(replying(said("I can't."), reason="refusal")) as server:
        refused = answered(model(server), asked)
    with ModelServer(replying()) as server:
        empty = answered(model(server), asked)

    assert refused.text == "I can't."
    message = {"role": "assistant", "content": None, "refusal": "I can't."}
    assert refused.output["choices"] == [{"message": message}]
    assert set(refused.output["usage"]) == {"num_prompt_tokens", "num_completion_tokens"}
    assert (empty.text, empty.output) == ("", None)


def test_who_takes_all_does_not_take_what_was_cut_before_any_text() -> None:
    asked = structs.replace(question(), takes_all=True)
    with ModelServer(replying(reason="max_tokens")) as server:
        error = failed(model(server), asked)

    assert error.kind == "truncated"
