import asyncio
import threading
from typing import Any

import pytest
from aiohttp import web
from msgspec import structs
from tests.servers.asking import answered, answers, asking, failed, question
from tests.servers.asking import chat as conversation
from tests.servers.model_server import (
    Asked,
    Behaviour,
    ModelServer,
    chat,
    hostile,
    in_turn,
    json,
    never,
    reply,
    status,
)

from evalwright.clients.openai import Chat, connect
from evalwright.errors import ModelError, UsageError
from evalwright.types import Completion, Message, ModelOptions, Request, Sample, Usage

KEY = "sk-0123456789abcdef"


def model(server: ModelServer, name: str = "m", **parameters: Any) -> Chat:
    environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
    return connect(name, ModelOptions(parameters=parameters, environment=environment))


def choice(content: Any = "4", finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return {"message": message, "finish_reason": finish, **more}


def replying(*choices: dict[str, Any], **more: Any) -> Behaviour:
    return json({"choices": choices, **more})


def answer_to(behaviour: Behaviour, **parameters: Any) -> Completion:
    with ModelServer(behaviour) as server:
        return answered(model(server, **parameters))


def error_of(behaviour: Behaviour, **parameters: Any) -> ModelError:
    with ModelServer(behaviour) as server:
        return failed(model(server, **parameters))


async def numbered(asked: Asked) -> web.StreamResponse:
    """As many different choices as are asked for."""
    choices = [choice(f"{asked.prompt} {place}") for place in range(asked.body.get("n", 1))]
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return reply({"choices": choices, "usage": usage})


def test_a_conversation_goes_out_and_an_answer_comes_back() -> None:
    with ModelServer(chat("4")) as server:
        found = answered(model(server, "org/m-1"), question("2 + 2 =", system="Be brief."))

        assert found == Completion(
            text="4",
            usage=Usage(requests=1, prompt_tokens=11, completion_tokens=3, cost=None),
            finish="stop",
        )
        (asked,) = server.log
        assert asked.path == "/v1/chat/completions"
        assert asked.headers["Authorization"] == f"Bearer {KEY}"
        assert asked.body == {
            "model": "org/m-1",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "2 + 2 ="},
            ],
        }


def test_without_a_key_no_key_is_sent() -> None:
    with ModelServer() as server:
        environment = {"OPENAI_BASE_URL": server.url}
        answered(connect("m", ModelOptions(environment=environment)))

        assert "Authorization" not in server.log[0].headers


def test_another_provider_is_asked_at_its_own_address_with_its_own_key() -> None:
    with ModelServer() as server:
        environment = {
            "GROQ_BASE_URL": server.url,
            "GROQ_API_KEY": "gsk-0123456789",
            "OPENAI_API_KEY": KEY,
        }
        answered(connect("m", ModelOptions(provider="groq", environment=environment)))

        assert server.log[0].headers["Authorization"] == "Bearer gsk-0123456789"


def test_parameters_are_sent_as_they_are_known_or_not() -> None:
    given: dict[str, Any] = {
        "temperature": 0,
        "max_tokens": 7,
        "stop": ["\n", "Q:"],
        "logprobs": True,
        "top_logprobs": 5,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "tools": [{"type": "function", "function": {"name": "add"}}],
        "repetition_penalty": 1.1,
        "chat_template_kwargs": {"enable_thinking": False},
    }

    with ModelServer() as server:
        answered(model(server, **given))

        body = server.log[0].body
        assert {name: body[name] for name in given} == given


def test_what_is_for_this_side_is_not_sent() -> None:
    with ModelServer() as server:
        answered(model(server, stream=False, total_timeout_s=5, connect_timeout_s=1))

        assert set(server.log[0].body) == {"model", "messages"}


def test_the_timeouts_are_what_they_are_said_to_be() -> None:
    error = error_of(never, first_byte_timeout_s=0.1)

    assert (error.kind, "0.1 s" in error.message) == ("timeout", True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"temperature": "hot"}, "Expected `float | null`, got `str` - at `$.temperature`"),
        ({"temperature": True}, "got `bool` - at `$.temperature`"),
        ({"max_tokens": 1.5}, "at `$.max_tokens`"),
        ({"stop": [1]}, "at `$.stop[0]`"),
        ({"logprobs": "yes"}, "at `$.logprobs`"),
        ({"response_format": "json"}, "at `$.response_format`"),
        ({"tools": {}}, "at `$.tools`"),
        ({"n": 0}, "Expected `int` >= 1 - at `$.n`"),
        ({"total_timeout_s": 0}, "at `$.total_timeout_s`"),
        ({"stream": True}, "streaming is not supported"),
        ({"messages": []}, "does not accept the parameter `messages`: the task sets them"),
        ({"model": "x"}, "does not accept the parameter `model`"),
        ({"odd": object()}, "not a JSON value"),
    ],
)
def test_a_parameter_that_cannot_be_right_is_refused_before_any_call(
    parameters: dict[str, Any], message: str
) -> None:
    with ModelServer() as server:
        with pytest.raises(UsageError) as caught:
            model(server, **parameters)

        assert message in caught.value.message
        assert server.log == []


def test_a_missing_key_is_found_before_any_call() -> None:
    with pytest.raises(UsageError, match="openai needs an API key") as caught:
        connect("gpt-4.1-mini", ModelOptions(environment={}))

    assert caught.value.hint == "set OPENAI_API_KEY"


def test_a_model_has_a_name() -> None:
    with pytest.raises(UsageError, match="`groq/` needs a model name"):
        connect("", ModelOptions(provider="groq", environment={"GROQ_API_KEY": KEY}))


def test_the_fingerprint_is_the_address_and_the_parameters_and_no_secret() -> None:
    environment = {"OPENAI_BASE_URL": "http://h/v1", "OPENAI_API_KEY": KEY}

    def print_of(parameters: dict[str, Any]) -> str:
        return connect(
            "m", ModelOptions(parameters=parameters, environment=environment)
        ).fingerprint

    assert print_of({"top_p": 1, "seed": 3, "total_timeout_s": 9}) == (
        '{"api":"chat completions","parameters":{"seed":3,"top_p":1},'
        '"url":"http://h/v1/chat/completions"}'
    )
    assert print_of({"seed": 3, "top_p": 1}) == print_of({"top_p": 1, "seed": 3})
    assert print_of({}) != print_of({"seed": 3})
    assert KEY not in print_of({})


def test_a_model_does_not_print_its_key() -> None:
    with ModelServer() as server:
        assert KEY not in repr(model(server)) + repr(vars(model(server)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("stop", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("something new", "other"),
        (None, "other"),
    ],
)
def test_a_finish_is_one_of_ours(given: str | None, expected: str) -> None:
    assert answer_to(replying(choice("4", given))).finish == expected


@pytest.mark.parametrize(
    ("logprobs", "expected"),
    [
        pytest.param(
            {"content": [{"token": "4", "logprob": -0.5, "top_logprobs": []}, {"logprob": -1}]},
            (-0.5, -1.0),
            id="one a token",
        ),
        pytest.param(
            {"tokens": ["4", "."], "token_logprobs": [-0.5, -1.0]}, (-0.5, -1.0), id="older shape"
        ),
        pytest.param({"token_logprobs": [None, -1.0]}, None, id="one is missing, so all are"),
        pytest.param({"content": []}, None, id="none"),
        pytest.param(None, None, id="null"),
    ],
)
def test_log_probabilities_are_taken_where_they_are_given(
    logprobs: Any, expected: tuple[float, ...] | None
) -> None:
    assert answer_to(replying(choice(logprobs=logprobs)), logprobs=True).logprobs == expected


def test_text_in_pieces_is_put_together_and_thoughts_are_left_out() -> None:
    pieces = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]},
        {"type": "text", "text": "fo"},
        {"type": "text", "text": "ur"},
    ]

    assert answer_to(replying(choice(pieces))).text == "four"


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": None}])
def test_a_server_that_does_not_count_costs_one_request(usage: Any) -> None:
    assert answer_to(replying(choice(), usage=usage)).usage == Usage(requests=1)


def test_a_tool_call_without_text_is_an_answer_whose_text_is_the_call() -> None:
    calls = [
        {"type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
        {"type": "function", "function": {"name": "odd", "arguments": "{"}},
        {"type": "custom", "custom": {"name": "sh", "input": "ls"}},
        {"type": "new"},
    ]

    found = answer_to(replying(choice(None, "stop", message={"tool_calls": calls})))

    assert found.finish == "tool_calls"
    assert found.text == (
        '[{"name":"add","arguments":{"a":1}},{"name":"odd","arguments":"{"},'
        '{"name":"sh","arguments":"ls"},{"name":"","arguments":{"type":"new"}}]'
    )


def test_text_beside_a_tool_call_is_the_answer() -> None:
    call = {"function": {"name": "add", "arguments": "{}"}}

    found = answer_to(replying(choice("wait", "tool_calls", message={"tool_calls": [call]})))

    assert (found.text, found.finish) == ("wait", "tool_calls")


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        pytest.param(replying(), "empty", "the reply has 0 choices", id="no choices"),
        pytest.param(replying(choice("")), "empty", "the reply has no text", id="no text"),
        pytest.param(replying(choice(None)), "empty", "the reply has no text", id="null"),
        pytest.param(
            replying(choice("", "length")),
            "truncated",
            "the token limit was reached before the reply had any text",
            id="cut before any text",
        ),
        pytest.param(
            replying(choice(None, message={"refusal": "I can't\nhelp."})),
            "refused",
            "the model refused to answer: I can't help.",
            id="refused",
        ),
        pytest.param(
            replying(choice("half of", "content_filter")),
            "filtered",
            "the provider's content filter withheld the reply",
            id="filtered",
        ),
        pytest.param(
            json({"error": {"message": "overloaded"}, "choices": [choice()]}),
            "error_object",
            "overloaded",
            id="an error beside choices",
        ),
        pytest.param(
            replying(choice("", "error", error={"message": "upstream", "code": 502})),
            "error_object",
            "upstream",
            id="an error inside a choice",
        ),
        pytest.param(
            replying({"text": "4"}), "wrong_shape", "`message` - at `$.choices[0]`", id="no message"
        ),
        pytest.param(
            replying(choice(4)), "wrong_shape", "$.choices[0].message.content", id="not a text"
        ),
        pytest.param(
            replying(choice(), usage={"prompt_tokens": -1}),
            "wrong_shape",
            "$.usage.prompt_tokens",
            id="tokens below nothing",
        ),
        pytest.param(
            replying(choice(), usage={"prompt_tokens": 10**30}),
            "wrong_shape",
            "$.usage.prompt_tokens",
            id="tokens beyond counting",
        ),
    ],
)
def test_a_reply_without_an_answer_says_why(behaviour: Behaviour, kind: str, message: str) -> None:
    error = error_of(behaviour)

    assert error.kind == kind
    assert message in error.message


def test_a_reply_cut_in_the_middle_is_an_answer() -> None:
    found = answer_to(replying(choice("the answer is f", "length")))

    assert (found.text, found.finish) == ("the answer is f", "length")


def test_a_refusal_that_repeats_the_key_does_not_spread_it() -> None:
    error = error_of(replying(choice(None, message={"refusal": "." * 190 + KEY})))

    assert KEY[:6] not in error.message


@pytest.mark.parametrize(("kind", "behaviour"), [*hostile()])
def test_a_hostile_server_gets_no_answer_out_of_it(kind: str, behaviour: Behaviour) -> None:
    error = error_of(behaviour, first_byte_timeout_s=0.2, total_timeout_s=0.4)

    assert error.kind == kind


def test_a_seed_is_the_first_trials_and_the_next_differ() -> None:
    with ModelServer() as server:
        answers(model(server, seed=40), [question(trial=trial) for trial in range(3)])

        assert sorted(asked.body["seed"] for asked in server.log) == [40, 41, 42]


def test_trials_share_a_request_when_n_choices_are_asked_for() -> None:
    with ModelServer(numbered) as server:
        trials = [question("a", trial=trial) for trial in range(5)]
        found = answers(model(server, n=3, seed=7), trials)

        assert [one.text for one in found if isinstance(one, Completion)] == [
            *("a 0", "a 1", "a 2", "a 0", "a 1"),
        ]
        assert sorted((asked.body["n"], asked.body["seed"]) for asked in server.log) == [
            *((3, 7), (3, 8)),
        ]


def test_the_tokens_of_a_shared_request_are_counted_once() -> None:
    with ModelServer(numbered) as server:
        trials = [question("a", trial=trial) for trial in range(3)]
        found = answers(model(server, n=3), trials)

    used = [one.usage for one in found if isinstance(one, Completion)]
    assert sum(one.requests for one in used) == 1
    assert sum(one.prompt_tokens for one in used) == 10


def test_samples_do_not_share_and_neither_do_equal_ones() -> None:
    with ModelServer(numbered) as server:
        found = answers(model(server, n=2), [question("a"), question("b"), question("a")])

        assert [one.text for one in found if isinstance(one, Completion)] == ["a 0", "b 0", "a 0"]
        assert len(server.log) == 3


def test_a_shared_request_that_fails_fails_for_all_and_may_be_tried_again_by_all() -> None:
    with ModelServer(in_turn(status(500), numbered)) as server:
        shared = model(server, n=2)
        trials = [question("a", trial=trial) for trial in range(2)]

        async def twice() -> list[list[Completion | BaseException]]:
            found = [
                await asyncio.gather(*map(shared.complete, trials), return_exceptions=True)
                for _ in range(2)
            ]
            await shared.close()
            return found

        first, second = asyncio.run(twice())

        assert [one.kind for one in first if isinstance(one, ModelError)] == ["server", "server"]
        assert [one.text for one in second if isinstance(one, Completion)] == ["a 0", "a 1"]
        assert len(server.log) == 2


def test_a_server_that_gives_fewer_choices_than_asked_for_leaves_the_others_without() -> None:
    with ModelServer(replying(choice())) as server:
        first, second = answers(model(server, n=2), [question(trial=0), question(trial=1)])

    assert isinstance(first, Completion)
    assert isinstance(second, ModelError)
    assert (second.kind, str(second)) == ("empty", "the reply has 1 choices")


def test_one_trial_that_is_cancelled_does_not_cancel_the_others() -> None:
    go, arrived = threading.Event(), threading.Event()

    async def when_told(asked: Asked) -> web.StreamResponse:
        arrived.set()
        await asyncio.to_thread(go.wait)
        return await numbered(asked)

    async def one_cancelled(shared: Chat) -> Completion:
        first = asyncio.ensure_future(shared.complete(question("a", trial=0)))
        second = asyncio.ensure_future(shared.complete(question("a", trial=1)))
        await asyncio.to_thread(arrived.wait)
        first.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        found = await second
        await shared.close()
        return found

    with ModelServer(when_told) as server:
        assert asyncio.run(one_cancelled(model(server, n=2))).text == "a 1"


def test_closing_gives_up_what_nobody_waits_for() -> None:
    arrived = threading.Event()

    async def silent(asked: Asked) -> web.StreamResponse:
        arrived.set()
        return await never(asked)

    async def left_behind(shared: Chat) -> None:
        only = asyncio.ensure_future(shared.complete(question("a")))
        await asyncio.to_thread(arrived.wait)
        only.cancel()
        with pytest.raises(asyncio.CancelledError):
            await only
        await shared.close()

    with ModelServer(silent) as server:
        asyncio.run(left_behind(model(server, n=2)))


def test_choices_that_nobody_takes_are_forgotten() -> None:
    with ModelServer(numbered) as server:
        shared = model(server, n=2)

        async def many() -> int:
            for number in range(1050):
                await shared.complete(question(f"{number}"))
            held = len(shared._shared._open)
            await shared.close()
            return held

        assert asyncio.run(many()) == 1000


def test_a_request_may_bring_more_keys_and_they_win() -> None:
    shape = {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}}
    keys = {"response_format": shape, "temperature": 1, "stream": False}
    with ModelServer() as server:
        answered(model(server, temperature=0, top_p=0.5), conversation("hello", keys=keys))

    assert server.log[0].body == {
        "model": "m",
        "temperature": 1,
        "top_p": 0.5,
        "response_format": shape,
        "messages": [{"role": "user", "content": "hello"}],
    }


def test_a_seed_that_a_request_brings_is_the_first_trials() -> None:
    sample = Sample("0", {})
    request = Request(
        messages=(Message("user", "hello"),), sample=sample, trial=2, input={"seed": 40}
    )
    with ModelServer() as server:
        answered(model(server, seed=1), request)

    assert server.log[0].body["seed"] == 42


@pytest.mark.parametrize(
    "keys", [{"model": "other"}, {"messages": []}, {"n": 2}, {"stream": True}, ["a"], "a"]
)
def test_what_a_request_may_not_bring_is_not_sent(keys: Any) -> None:
    with ModelServer() as server:
        error = failed(model(server), conversation("hello", keys=keys))

    assert (error.kind, server.log) == ("bad_request", [])


def test_a_custom_task_is_none_of_this_apis() -> None:
    with ModelServer() as server:
        error = failed(model(server), asking("custom", {"a": 1}))

    assert (error.kind, server.log) == ("unsupported", [])
    assert str(error) == "this API does not support `custom`, only chat"


def test_requests_with_other_keys_do_not_share_choices() -> None:
    def keyed(trial: int, temperature: int) -> Request:
        return Request(
            messages=(Message("user", "hello"),),
            sample=Sample("0", {}),
            trial=trial,
            input={"temperature": temperature},
        )

    with ModelServer(numbered) as server:
        asked = [keyed(0, 0), keyed(1, 0), keyed(0, 1), keyed(1, 1)]
        answers(model(server, n=2), asked)

    assert len(server.log) == 2


def test_tool_calls_and_references_are_kept_beside_the_text() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    found = answer_to(
        replying(
            choice("4", message={"tool_calls": [call]}, references=[{"content": "p. 7"}]),
            usage={"prompt_tokens": 7, "completion_tokens": 2},
        )
    )

    assert found.text == "4"
    assert found.output == {
        "choices": [
            {
                "message": {"role": "assistant", "content": "4", "tool_calls": [call]},
                "finish_reason": "stop",
                "references": [{"content": "p. 7"}],
            }
        ],
        "usage": {"num_prompt_tokens": 7, "num_completion_tokens": 2},
    }


@pytest.mark.parametrize(
    ("given", "kept"), [([], True), (None, False)], ids=["none was found", "nothing was said"]
)
def test_references_that_found_nothing_are_kept_too(given: Any, *, kept: bool) -> None:
    found = answer_to(replying(choice("4", references=given)))

    assert (found.output is not None) == kept
    assert not kept or found.output["choices"][0]["references"] == []


def test_to_who_takes_all_a_refusal_is_an_answer_and_so_is_an_empty_text() -> None:
    asked = structs.replace(question(), takes_all=True)
    with ModelServer(replying(choice(None, message={"refusal": "I can't."}))) as server:
        refused = answered(model(server), asked)
    with ModelServer(replying(choice(""))) as server:
        empty = answered(model(server), asked)

    assert refused.text == "I can't."
    message = {"role": "assistant", "content": None, "refusal": "I can't."}
    assert refused.output["choices"] == [{"message": message}]
    assert set(refused.output["usage"]) == {"num_prompt_tokens", "num_completion_tokens"}
    assert (empty.text, empty.output) == ("", None)


def test_who_takes_all_does_not_take_what_was_cut_before_any_text() -> None:
    asked = structs.replace(question(), takes_all=True)
    with ModelServer(replying(choice("", "length"))) as server:
        error = failed(model(server), asked)

    assert error.kind == "truncated"
