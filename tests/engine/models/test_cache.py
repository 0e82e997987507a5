import asyncio
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.engine.models.made import SAMPLE, Held, Says, answer, question, settle

from evalwright.engine.models.base import Counters
from evalwright.engine.models.cache import CachedModel, MemoryReplyCache
from evalwright.errors import ModelError
from evalwright.types import Called, Completion, Message, MLTask, Request, ToolCall, Usage


def cached(model: Says, reply_cache: MemoryReplyCache, *, name: str = "p/m") -> CachedModel:
    return CachedModel(model, name, reply_cache=reply_cache)


def ask(model: CachedModel, *requests: Request) -> list[Completion]:
    async def ask_all() -> list[Completion]:
        return [await model.complete(request) for request in requests]

    return asyncio.run(ask_all())


def test_the_same_question_is_asked_once_and_the_answer_is_the_same() -> None:
    inner = Says(
        Completion(text="4", usage=Usage(1, 3, 1, 0.5), finish="length", logprobs=(-0.1, -2.0)),
        answer("another"),
    )

    first, second = ask(cached(inner, MemoryReplyCache()), question(), question())

    assert len(inner.asked) == 1
    assert (second.text, second.finish, second.logprobs) == ("4", "length", (-0.1, -2.0))
    assert first.usage == Usage(1, 3, 1, 0.5)


def test_a_hit_tells_its_tokens_but_was_neither_asked_nor_paid_for() -> None:
    inner = Says(Completion(text="4", usage=Usage(1, 3, 1, 0.5)))

    hit = ask(cached(inner, MemoryReplyCache()), question(), question())[1]

    assert hit.usage == Usage(requests=0, prompt_tokens=3, completion_tokens=1, cost=0.0)


def test_a_hit_outlives_the_model() -> None:
    reply_cache = MemoryReplyCache()
    ask(cached(Says(answer("first")), reply_cache), question())

    assert ask(cached(Says(answer("second")), reply_cache), question())[0].text == "first"


def with_fingerprint(fingerprint: str) -> Says:
    model = Says()
    model.fingerprint = fingerprint
    return model


def said(*messages: Message, trial: int = 0) -> Request:
    return Request(messages=messages, sample=SAMPLE, trial=trial)


@pytest.mark.parametrize(
    ("model", "name", "request_"),
    [
        pytest.param(Says(), "p/n", question(), id="another model"),
        pytest.param(with_fingerprint("g"), "p/m", question(), id="other parameters"),
        pytest.param(Says(), "p/m", question("2 + 3"), id="another question"),
        pytest.param(Says(), "p/m", question(trial=1), id="another trial"),
        pytest.param(Says(), "p/m", said(Message("system", "2 + 2")), id="another role"),
        pytest.param(
            Says(), "p/m", said(Message("user", "2 + 2"), Message("user", "")), id="more messages"
        ),
        pytest.param(Says(), "p/m", question("\ud800"), id="half a surrogate pair"),
        pytest.param(
            Says(), "p/m", structs.replace(question(), takes_all=True), id="an empty answer will do"
        ),
    ],
)
def test_what_can_change_the_answer_is_asked_anew(
    model: Says, name: str, request_: Request
) -> None:
    reply_cache = MemoryReplyCache()
    ask(cached(Says(), reply_cache), question())

    ask(cached(model, reply_cache, name=name), request_)

    assert len(model.asked) == 1


roles = st.sampled_from(["system", "user", "assistant"])
requests = st.builds(
    lambda messages, trial: said(*(Message(*each) for each in messages), trial=trial),
    st.lists(st.tuples(roles, st.text("a:01 ", max_size=4)), max_size=3),
    st.integers(0, 11),
)


@given(one=requests, other=requests)
def test_only_equal_questions_have_the_same_key(one: Request, other: Request) -> None:
    model = cached(Says(), MemoryReplyCache())

    assert (model._key(one) == model._key(other)) == (one == other)


@given(st.tuples(*[st.text("a:01", max_size=3)] * 4))
def test_a_name_never_runs_into_a_fingerprint(parts: tuple[str, str, str, str]) -> None:
    one, other = (parts[0], parts[1]), (parts[2], parts[3])
    keys = [
        cached(with_fingerprint(fingerprint), MemoryReplyCache(), name=name)._key(question())
        for name, fingerprint in (one, other)
    ]

    assert (keys[0] == keys[1]) == (one == other)


def test_a_failure_is_never_kept() -> None:
    reply_cache = MemoryReplyCache()
    model = cached(Says(ModelError("server", "500"), answer()), reply_cache)

    with pytest.raises(ModelError):
        ask(model, question())

    assert reply_cache.replies == {}
    assert ask(model, question())[0].text == "4"


def test_equal_questions_at_the_same_time_are_asked_once() -> None:
    async def together() -> tuple[list[Completion], Held, Counters]:
        inner, counters = Held(), Counters()
        model = CachedModel(inner, "p/m", reply_cache=MemoryReplyCache(), counters=counters)
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(5)]
        await settle()
        inner.go.set()
        return await asyncio.gather(*calls), inner, counters

    found, inner, counters = asyncio.run(together())

    assert len(inner.asked) == 1
    assert sorted(one.usage.requests for one in found) == [0, 0, 0, 0, 1]
    assert counters.cache_hits == 4


def test_who_waits_does_not_inherit_a_failure() -> None:
    async def together() -> list[Completion | BaseException]:
        inner = Held(ModelError("server", "500"), answer())
        model = cached(inner, MemoryReplyCache())
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(3)]
        await settle()
        inner.go.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    first, *rest = asyncio.run(together())

    assert isinstance(first, ModelError)
    assert [cast("Completion", one).text for one in rest] == ["4", "4"]


@pytest.mark.parametrize("who", [0, 1])
def test_cancelling_one_of_those_who_ask_the_same_leaves_the_others_their_answer(who: int) -> None:
    async def together() -> list[Completion | BaseException]:
        inner = Held()
        model = cached(inner, MemoryReplyCache())
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(3)]
        await settle()
        calls[who].cancel()
        await settle()
        inner.go.set()
        return await asyncio.gather(*calls, return_exceptions=True)

    found = asyncio.run(together())

    assert isinstance(found.pop(who), asyncio.CancelledError)
    assert [cast("Completion", one).text for one in found] == ["4", "4"]


def test_a_damaged_answer_is_asked_for_again_and_put_right() -> None:
    reply_cache = MemoryReplyCache()
    inner = Says()
    model = cached(inner, reply_cache)
    ask(model, question())
    (key,) = reply_cache.replies
    reply_cache.replies[key] = b"\xc1 not an answer"

    ask(model, question(), question())

    assert len(inner.asked) == 2


def test_an_answer_that_cannot_be_kept_is_an_answer_all_the_same() -> None:
    reply_cache = MemoryReplyCache()

    found = ask(cached(Says(answer("\ud800")), reply_cache), question())

    assert found[0].text == "\ud800"
    assert reply_cache.replies == {}


def test_hits_are_counted() -> None:
    counters = Counters()
    model = CachedModel(Says(), "p/m", reply_cache=MemoryReplyCache(), counters=counters)

    ask(model, question(), question(), question("other"), question())

    assert counters.cache_hits == 2


def asked(task: MLTask, given: object, trial: int = 0) -> Request:
    return Request(sample=SAMPLE, task=task, input=given, trial=trial)


def test_what_is_asked_beside_the_messages_is_part_of_the_question() -> None:
    requests = [
        asked("embeddings", ["a"]),
        asked("embeddings", ["a", "b"]),
        asked("custom", ["a"]),
        asked("custom", 1, trial=1),
        asked("custom", 11),
        asked("custom", None),
        asked("chat_completion", {"temperature": 0}),
        asked("chat_completion", {"temperature": 1}),
        asked("chat_completion", None),
    ]
    inner = Says(*(answer(str(number)) for number in range(len(requests))))

    ask(cached(inner, MemoryReplyCache()), *requests, *requests)

    assert len(inner.asked) == len(requests)


def test_the_calls_of_a_message_are_part_of_the_question() -> None:
    requests = [
        Request(messages=(message,), sample=SAMPLE)
        for message in (
            Message("assistant", ""),
            Message("assistant", "", tool_calls=(ToolCall("c", Called("f", "{}")),)),
            Message("assistant", "", tool_calls=(ToolCall("c", Called("g", "{}")),)),
            Message("tool", "", tool_call_id="c"),
            Message("tool", "", tool_call_id="d"),
        )
    ]
    inner = Says(*(answer(str(number)) for number in range(len(requests))))

    ask(cached(inner, MemoryReplyCache()), *requests, *requests)

    assert len(inner.asked) == len(requests)


def test_the_order_of_keys_is_no_part_of_the_question() -> None:
    inner = Says(answer("4"))

    ask(
        cached(inner, MemoryReplyCache()),
        asked("custom", {"a": 1, "b": {"c": 2, "d": 3}}),
        asked("custom", {"b": {"d": 3, "c": 2}, "a": 1}),
    )

    assert len(inner.asked) == 1


def test_an_output_and_the_bodies_are_kept_too() -> None:
    whole = Completion(text="", output={"embeddings": [[0.5]]}, bodies=("{}", "[]"))
    reply_cache = MemoryReplyCache()
    model = cached(Says(whole), reply_cache)

    hit = ask(model, asked("embeddings", "a"), asked("embeddings", "a"))[1]

    assert (hit.output, hit.bodies) == (whole.output, whole.bodies)


def test_an_empty_answer_is_kept_like_any_other() -> None:
    inner = Says(Completion(text=""), answer("another"))
    request = structs.replace(question(), takes_all=True)

    assert [one.text for one in ask(cached(inner, MemoryReplyCache()), request, request)] == [
        "",
        "",
    ]


@pytest.mark.parametrize("body", ["<html>busy</html>", "busy", "", '{"half": '])
def test_a_body_that_is_not_json_is_an_answer_but_is_not_kept(body: str) -> None:
    inner = Says(Completion(text="busy", bodies=("{}", body)), answer("4"))
    model = cached(inner, MemoryReplyCache())

    assert [found.text for found in ask(model, question(), question(), question())] == [
        "busy",
        "4",
        "4",
    ]
