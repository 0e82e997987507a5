"""The real model: what it says may differ between processors, so these are claims about any."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest
from tests.local_model import needs_local_model

from evalwright.clients.llama import server
from evalwright.clients.llama.model import Llama
from evalwright.clients.local import connect
from evalwright.errors import ModelError
from evalwright.types import Completion, Message, ModelOptions, Request, Sample

T = TypeVar("T")
SAMPLE = Sample("s", None)
PRIME = "Which is a prime?\nA) 21\nB) 37\nC) 51"


def asks(text: str, **more: Any) -> Request:
    return Request(messages=(Message("user", text),), sample=SAMPLE, **more)


DEFAULTS = {"max_tokens": 6, "context": 256, "slots": 2, "threads": 1}


class Shared:
    """A loop for all tests here, and a model, loaded once, for those that set no parameter."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self._usual: Llama | None = None

    def run(self, work: Callable[[Llama], Awaitable[T]], **parameters: Any) -> T:
        async def run() -> T:
            if not parameters:
                self._usual = self._usual or load()
                return await work(self._usual)
            model = load(**parameters)
            try:
                return await work(model)
            finally:
                await model.close()

        return self.runner.run(run())

    def close(self) -> None:
        with self.runner:
            if self._usual is not None:
                self.runner.run(self._usual.close())
                self._usual = None


SHARED = Shared()


@pytest.fixture(scope="module", autouse=True)
def _loop() -> Iterator[None]:
    yield
    SHARED.close()


def load(**parameters: Any) -> Llama:
    model = connect("smollm2", ModelOptions(parameters=DEFAULTS | parameters))
    assert isinstance(model, Llama)
    return model


def all_of(*requests: Request, **parameters: Any) -> list[Completion]:
    async def ask(model: Llama) -> list[Completion]:
        return await asyncio.gather(*map(model.complete, requests))

    return SHARED.run(ask, **parameters)


def failure(request: Request, **parameters: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        all_of(request, **parameters)
    return caught.value


@needs_local_model
def test_an_answer_comes_with_a_log_probability_a_token_and_costs_nothing() -> None:
    (found,) = all_of(asks("Name a colour."))

    assert found.text
    assert found.logprobs is not None
    assert len(found.logprobs) == found.usage.completion_tokens == 6
    assert all(one <= 0 for one in found.logprobs)
    assert found.finish == "length"
    assert (found.usage.requests, found.usage.cost) == (1, 0.0)


@needs_local_model
def test_log_probabilities_can_be_left_out() -> None:
    (found,) = all_of(asks("Name a colour."), logprobs=False)

    assert found.text
    assert found.logprobs is None


@needs_local_model
def test_the_same_question_has_the_same_answer_whatever_is_asked_beside_it() -> None:
    questions = [asks("Hi" + " there" * n) for n in (0, 1, 5, 20)]

    alone = [all_of(one)[0] for one in questions[:2]]
    together = all_of(*questions)
    reversed_order = all_of(*reversed(questions))[::-1]
    (on_two_threads,) = all_of(questions[1], threads=2, max_tokens=1)

    assert [answer.logprobs for answer in together] == [one.logprobs for one in reversed_order]
    assert [answer.logprobs for answer in alone] == [one.logprobs for one in together[:2]]
    assert on_two_threads.logprobs == (alone[1].logprobs or [])[:1]


@needs_local_model
def test_at_a_temperature_trials_differ_and_repeat() -> None:
    tries = [asks("Tell me a story.", trial=trial) for trial in (0, 1)]

    once, again = (all_of(*tries, temperature=1.5, seed=7) for _ in range(2))

    assert [one.text for one in once] == [one.text for one in again]
    assert len({one.text for one in once}) > 1


@needs_local_model
@pytest.mark.parametrize(
    "way",
    [
        pytest.param("json_schema", id="a schema of llama.cpp's own"),
        pytest.param("response_format", id="a schema as judges send it"),
    ],
)
def test_an_answer_follows_a_schema(way: str) -> None:
    schema = {
        "type": "object",
        "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"],
        "additionalProperties": False,
    }
    strict = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    told = {"json_schema": schema, "response_format": strict}[way]

    (found,) = all_of(asks("Is it?", input={way: told}), max_tokens=32)

    assert json.loads(found.text).keys() == {"ok"}


@needs_local_model
def test_an_answer_follows_a_grammar_and_ends_at_a_stop() -> None:
    free, stopped = all_of(
        asks("Yes or no?", input={"grammar": 'root ::= "maybe"'}),
        asks("Yes or no?", input={"grammar": 'root ::= "may" "be"', "stop": ["be"]}),
    )

    assert (free.text, free.finish) == ("maybe", "stop")
    assert stopped.text == "may"


@needs_local_model
def test_given_answers_weigh_the_same_in_any_order_and_however_many_tokens_follow() -> None:
    found, turned = all_of(
        asks(PRIME, given=("A", "B", "A prime")), asks(PRIME, given=("A prime", "B", "A"))
    )

    assert [len(one) for one in found.given] == [1, 1, 2]
    assert found.given == turned.given[::-1]
    assert found.given[2][0] == pytest.approx(found.given[0][0], abs=1e-4)
    assert (found.text, found.usage.completion_tokens, found.usage.cost) == ("", 0, 0.0)
    assert found.usage.prompt_tokens > 40


@needs_local_model
def test_text_in_any_script_is_weighed() -> None:
    texts = ("é ü ñ", "Hello 😀", "漢字", "สวัสดี", "مرحبا", "a\0b")

    said, read = all_of(asks("Write something.", given=texts), Request(sample=SAMPLE, given=texts))

    for text, answer, alone in zip(texts, said.given, read.given, strict=True):
        assert len(answer) == len(alone) >= 2, text
        assert all(one < 0 for one in (*answer, *alone)), text


@needs_local_model
def test_a_text_is_weighed_whole_however_long_it_is() -> None:
    text = "One two three four five six seven eight nine ten. " * 24  # longer than the context

    (found,) = all_of(Request(sample=SAMPLE, given=(text, "Oslo.")))

    long, short = found.given
    assert len(long) == 265
    assert 1.0 < math.exp(-math.fsum(long) / len(long)) < 5, "it repeats itself"
    assert len(short) == 3
    assert found.usage.prompt_tokens == 268


@needs_local_model
@pytest.mark.parametrize(
    ("request_", "kind", "said"),
    [
        pytest.param(
            asks("x " * 400), "context", "431 tokens, but the context has only 256", id="long"
        ),
        pytest.param(asks("x " * 400, given=("A",)), "context", "431 tokens", id="long and given"),
        pytest.param(asks("x", given=("y " * 400,)), "context", "the context is full", id="full"),
        pytest.param(asks("x", given=("",)), "bad_request", "an empty string", id="empty"),
        pytest.param(asks("\ud800"), "bad_request", "not valid Unicode", id="half a character"),
        pytest.param(
            asks("x", input={"grammar": "root ::= <<"}), "bad_request", "grammar", id="grammar"
        ),
        pytest.param(asks("x", input={"n": 2}), "bad_request", "`n`", id="not the author's to set"),
        pytest.param(
            Request(sample=SAMPLE, task="embeddings", input="x"),
            "unsupported",
            "does not support embeddings",
            id="embeddings",
        ),
        pytest.param(
            Request(sample=SAMPLE, task="custom", input="x"), "unsupported", "custom", id="custom"
        ),
    ],
)
def test_what_cannot_be_answered_says_why(request_: Request, kind: str, said: str) -> None:
    found = failure(request_)

    assert found.kind == kind
    assert said in found.message


@needs_local_model
def test_a_model_and_its_judge_share_one_process_which_ends_with_the_last_of_them() -> None:
    async def run() -> list[int]:
        options = ModelOptions(
            parameters={"slots": 1, "threads": 1, "context": 256, "max_tokens": 1}
        )
        one, other = (connect("smollm2", options) for _ in range(2))
        for model in (one, other):
            await model.complete(asks("Hi"))
        counts = [len(server._servers[asyncio.get_running_loop()])]
        await one.close()
        await other.complete(asks("Hi"))
        await other.close()
        counts.append(len(server._servers[asyncio.get_running_loop()]))
        return counts

    assert asyncio.run(run()) == [1, 0]
