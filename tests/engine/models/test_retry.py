import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.models.made import Clock, Held, Says, answer, question, refused, settle

from evalwright.engine.models.base import Counters
from evalwright.engine.models.retry import Backoff, RetryingModel
from evalwright.errors import ModelError
from evalwright.types import Completion

USUAL = Backoff()


def broken(kind: str = "server", *, retryable: bool = True) -> ModelError:
    return ModelError(kind, "500: no", retryable=retryable, hint="be patient")


def ask(model: Says, backoff: Backoff = USUAL, *, luck: float = 1.0) -> tuple[Completion, Clock]:
    clock = Clock()
    retrying = RetryingModel(model, backoff, sleep=clock.sleep, random=lambda: luck)
    return asyncio.run(retrying.complete(question())), clock


def failure(model: Says, backoff: Backoff = USUAL) -> tuple[ModelError, Clock]:
    clock = Clock()
    retrying = RetryingModel(model, backoff, sleep=clock.sleep, random=lambda: 1.0)
    with pytest.raises(ModelError) as caught:
        asyncio.run(retrying.complete(question()))
    return caught.value, clock


def test_an_answer_at_once_is_passed_on_as_it_is() -> None:
    reply = answer()

    completion, clock = ask(Says(reply))

    assert completion is reply
    assert clock.slept == []


def test_an_error_that_may_pass_is_tried_again_until_there_is_an_answer() -> None:
    model = Says(broken("connection"), broken("timeout"), answer("4"))

    completion, _ = ask(model)

    assert completion.text == "4"
    assert len(model.asked) == 3


def test_the_attempts_that_failed_are_among_the_requests() -> None:
    completion, _ = ask(Says(broken(), broken(), answer(prompt=7, completion=2)))

    usage = completion.usage
    assert (usage.requests, usage.prompt_tokens, usage.completion_tokens) == (3, 7, 2)


def test_an_error_that_would_stay_is_raised_at_once() -> None:
    error, clock = failure(Says(broken("auth", retryable=False), answer()))

    assert (error.kind, error.attempts, clock.slept) == ("auth", 1, [])


@pytest.mark.parametrize("kind", [ValueError, ConnectionError, TimeoutError])
def test_nothing_but_a_model_error_is_tried_again(kind: type[Exception]) -> None:
    model = Says(kind("odd"), answer())

    with pytest.raises(kind):
        ask(model)

    assert len(model.asked) == 1


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_attempts_are_bounded_and_the_error_says_how_many_there_were(attempts: int) -> None:
    model = Says(broken())

    error, clock = failure(model, Backoff(attempts=attempts))

    assert (len(model.asked), error.attempts, len(clock.slept)) == (
        *(attempts, attempts, attempts - 1),
    )
    assert error.hint == "be patient"


def test_waits_double_up_to_the_cap() -> None:
    _, clock = failure(Says(broken()), Backoff(attempts=6, base_s=1, cap_s=5))

    assert clock.slept == [1, 2, 4, 5, 5]


@given(retry=st.integers(1, 10_000), seed=st.integers())
def test_a_wait_is_anywhere_between_nothing_and_its_bound(retry: int, seed: int) -> None:
    backoff = Backoff(base_s=0.5, cap_s=60)
    wait = Random(seed).random() * backoff.longest_s(retry)

    assert 0 <= wait < min(60, 0.5 * 2 ** min(retry - 1, 10))


@pytest.mark.parametrize(
    ("asked", "luck", "waited"),
    [
        pytest.param(20.0, 0.0, 20.0, id="at least as long as the server asks"),
        pytest.param(20.0, 1.0, 20.5, id="and apart from the others that it asked"),
        pytest.param(0.0, 0.5, 0.25, id="zero is no reason to hurry"),
        pytest.param(-5.0, 0.5, 0.25, id="a date in the past is none either"),
        pytest.param(float("nan"), 0.5, 0.25, id="nor is nonsense"),
        pytest.param(300.0, 0.0, 300.0, id="up to five minutes"),
    ],
)
def test_retry_after_is_honoured(asked: float, luck: float, waited: float) -> None:
    _, clock = ask(Says(refused(asked), answer()), luck=luck)

    assert clock.slept == [waited]


@pytest.mark.parametrize("asked", [301.0, 86_400.0, float("inf")])
def test_a_retry_after_beyond_patience_is_a_failure_that_says_so(asked: float) -> None:
    error, clock = failure(Says(refused(asked), answer()))

    assert clock.slept == []
    assert error.attempts == 1
    assert f"asks to wait {asked:,.0f} s" in error.hint


def test_the_hint_of_the_client_is_kept_beside_our_own() -> None:
    late = ModelError("rate_limited", "429", retryable=True, retry_after_s=900, hint="quota")

    error, _ = failure(Says(late))

    assert error.hint == "quota; the server asks to wait 900 s: run again after that"


def test_retries_are_counted_and_the_last_failure_is_none() -> None:
    counters = Counters()
    clock = Clock()
    model = RetryingModel(Says(broken()), Backoff(attempts=3), counters=counters, sleep=clock.sleep)

    with pytest.raises(ModelError):
        asyncio.run(model.complete(question()))

    assert counters.retries == 2


def test_a_call_can_be_cancelled_while_it_waits() -> None:
    async def cancelled() -> int:
        inner = Says(broken())
        task = asyncio.ensure_future(
            RetryingModel(inner, Backoff(base_s=3600)).complete(question())
        )
        await settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return len(inner.asked)

    assert asyncio.run(cancelled()) == 1


def test_cancelling_a_call_does_not_repeat_it() -> None:
    async def cancelled() -> int:
        inner = Held()
        task = asyncio.ensure_future(RetryingModel(inner).complete(question()))
        await settle()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return inner.most

    assert asyncio.run(cancelled()) == 1


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 attempt"):
        Backoff(attempts=0)
