import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.models.made import Clock, Says, answer, question

from evalwright.engine.models.limits import Rate, RateLimitedModel, TokenBucket
from evalwright.errors import ModelError
from evalwright.types import Completion


def limited(model: Says, clock: Clock, **rate: float) -> RateLimitedModel:
    return RateLimitedModel(model, Rate(**rate), clock=clock, sleep=clock.sleep)


def ask(model: RateLimitedModel, *texts: str) -> list[Completion]:
    async def ask_all() -> list[Completion]:
        return [await model.complete(question(text)) for text in texts]

    return asyncio.run(ask_all())


@given(
    per_minute=st.integers(1, 10_000),
    pauses=st.lists(st.floats(0, 100, allow_nan=False), min_size=2, max_size=60),
)
def test_no_minute_holds_more_than_the_limit(per_minute: int, pauses: list[float]) -> None:
    clock = Clock()
    bucket = TokenBucket(per_minute, clock)

    sent = []
    for pause in pauses:
        clock.now += pause
        sent.append(clock.now + bucket.claim(1))

    least = 60 / per_minute * (1 - 1e-6)
    assert all(later - earlier >= least for earlier, later in pairwise(sent))


def test_the_first_call_goes_at_once_and_the_next_when_it_is_due() -> None:
    clock = Clock()

    ask(limited(Says(), clock, requests_per_minute=30), "a", "b", "c")

    assert clock.slept == [2, 2]


def test_idle_time_is_not_saved_up() -> None:
    clock = Clock()
    model = limited(Says(), clock, requests_per_minute=60)

    ask(model, "a")
    clock.now += 3600
    ask(model, "b", "c")

    assert clock.slept == [1]


def test_those_who_wait_together_are_sent_one_by_one() -> None:
    clock = Clock()
    bucket = TokenBucket(60, clock)

    assert [bucket.claim(1) for _ in range(4)] == [0, 1, 2, 3]


def test_tokens_are_guessed_from_the_length_of_the_messages() -> None:
    clock = Clock()
    model = limited(Says(answer(prompt=0, completion=0)), clock, tokens_per_minute=60)

    ask(model, "x" * 36, "y")

    assert clock.slept == [10]


@pytest.mark.parametrize(
    ("used", "waited"),
    [
        pytest.param(25, 25, id="more than guessed"),
        pytest.param(5, 5, id="less than guessed"),
    ],
)
def test_a_guess_is_put_right_by_what_was_used(used: int, waited: float) -> None:
    clock = Clock()
    reply = answer(prompt=used, completion=0)
    model = limited(Says(reply), clock, tokens_per_minute=60)

    ask(model, "x" * 36, "y")

    assert clock.slept == [waited]


def test_the_stricter_of_two_limits_decides() -> None:
    clock = Clock()
    model = limited(
        Says(answer(prompt=10, completion=0)), clock, requests_per_minute=60, tokens_per_minute=300
    )

    ask(model, "a", "b")

    assert clock.slept == [2]


def test_a_question_larger_than_a_minute_is_still_asked() -> None:
    clock = Clock()
    model = limited(Says(answer(prompt=600, completion=0)), clock, tokens_per_minute=60)

    found = ask(model, "x" * 2400, "y")

    assert len(found) == 2
    assert clock.slept == [600]


def test_a_failure_has_used_its_share() -> None:
    clock = Clock()
    model = limited(Says(ModelError("server", "500"), answer()), clock, requests_per_minute=60)

    with pytest.raises(ModelError):
        ask(model, "a")
    ask(model, "b")

    assert clock.slept == [1]


@pytest.mark.parametrize("rate", [0, -1, float("nan")])
def test_a_rate_of_nothing_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        limited(Says(), Clock(), requests_per_minute=rate)
