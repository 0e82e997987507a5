import asyncio
import os
import signal
import threading

import pytest
from tests.engine.made import FAILURE, outcome

from evalwright.engine.stop import Stop


def after(stop: Stop, *, completed: int = 0, failed: int = 0) -> bool:
    """Whether the run is ending once all of these have landed."""
    for _ in range(completed):
        stop.after(outcome())
    for _ in range(failed):
        stop.after(outcome(failure=FAILURE))
    return stop.is_stopping


@pytest.mark.parametrize(
    ("most", "failed", "stops"),
    [
        pytest.param(None, 99, False, id="without a limit, never"),
        pytest.param(0, 0, False, id="none may, none has"),
        pytest.param(0, 1, True, id="none may, one has"),
        pytest.param(3, 3, False, id="as many as may"),
        pytest.param(3, 4, True, id="one more"),
        pytest.param(1, 1, False, id="1 is one sample, not all of them"),
        pytest.param(0.1, 10, False, id="a tenth of a hundred"),
        pytest.param(0.1, 11, True, id="more than a tenth"),
        pytest.param(0.29, 29, False, id="a share is not rounded down by its floating point"),
        pytest.param(0.005, 1, True, id="a share of less than one sample"),
    ],
)
def test_too_many_failures_stop_a_run(most: float | None, failed: int, *, stops: bool) -> None:
    stop = Stop(most_failures=most, total=100)

    assert after(stop, completed=50, failed=failed) is stops


def test_the_reason_says_how_many_failed_and_how_many_may() -> None:
    one, many = Stop(most_failures=0), Stop(most_failures=2)

    after(one, failed=1)
    after(many, failed=5)

    assert one.reason == "1 sample failed, more than the 0 allowed"
    assert many.reason == "3 samples failed, more than the 2 allowed"


def test_the_first_reason_is_the_reason() -> None:
    stop = Stop()

    stop.request("the money is gone", hint="bring more")
    stop.request("something else", hint="do something else")

    assert (stop.is_stopping, stop.reason, stop.hint) == (True, "the money is gone", "bring more")


def test_a_wish_without_words_is_a_wish() -> None:
    stop = Stop()

    stop.request("")

    assert stop.is_stopping


@pytest.mark.parametrize(
    ("in_flight", "said"),
    [
        pytest.param(0, [], id="nothing to wait for"),
        pytest.param(
            1,
            ["stopping: waiting for 1 sample in flight; Ctrl-C again stops at once"],
            id="for one",
        ),
        pytest.param(
            64,
            ["stopping: waiting for 64 samples in flight; Ctrl-C again stops at once"],
            id="for many",
        ),
    ],
)
def test_the_first_interrupt_says_what_is_waited_for(in_flight: int, said: list[str]) -> None:
    told: list[str] = []
    stop = Stop(tell=told.append)
    stop.in_flight = in_flight

    stop.interrupt()

    assert told == said
    assert (stop.interrupted, stop.reason) == (True, "interrupted")


def test_the_second_interrupt_cancels_the_workers_and_says_nothing_more() -> None:
    told: list[str] = []
    stop = Stop(tell=told.append)
    stop.in_flight = 1

    async def work() -> bool:
        waiting = asyncio.ensure_future(asyncio.Event().wait())
        stop.tasks = [waiting]  # type: ignore[list-item]  # a worker that waits for ever
        stop.interrupt()
        await asyncio.sleep(0)
        assert not waiting.cancelled()
        stop.interrupt()
        await asyncio.wait([waiting])
        return waiting.cancelled()

    assert asyncio.run(work())
    assert len(told) == 1


def test_sigint_is_an_interrupt_while_it_is_listened_for_and_not_after() -> None:
    stop = Stop()

    async def work() -> None:
        with stop.on_signals():
            os.kill(os.getpid(), signal.SIGINT)
            while not stop.interrupted:  # noqa: ASYNC110 - the signal comes when it comes
                await asyncio.sleep(0)

    asyncio.run(work())

    assert stop.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_termination_cancels_the_workers_when_the_grace_period_is_over() -> None:
    told: list[str] = []
    stop = Stop(tell=told.append, grace_s=0.01)
    stop.in_flight = 1

    async def work() -> bool:
        waiting = asyncio.ensure_future(asyncio.Event().wait())
        stop.tasks = [waiting]  # type: ignore[list-item]  # a worker that waits for ever
        with stop.on_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait([waiting])
        return waiting.cancelled()

    before = signal.getsignal(signal.SIGTERM)
    assert asyncio.run(work())
    assert told == [
        "stopping: waiting at most 0.01 s for 1 sample in flight; a second signal stops at once"
    ]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_thread_beside_the_main_one_hears_no_signal_and_does_not_break() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    async def work() -> None:
        with Stop().on_signals():
            seen.append(signal.getsignal(signal.SIGINT))

    beside = threading.Thread(target=lambda: asyncio.run(work()))
    beside.start()
    beside.join()

    assert seen == [before]


def test_what_costs_nothing_to_do_again_is_done_unless_somebody_interrupts() -> None:
    stop, done = Stop(), list[str]()

    async def work() -> None:
        done.append("begun")
        asyncio.get_running_loop().call_soon(stop.interrupt)
        await asyncio.Event().wait()
        done.append("ended")

    async def quick() -> None:
        done.append("all of it")

    asyncio.run(stop.run_until_interrupt(work()))
    asyncio.run(Stop().run_until_interrupt(quick()))

    assert done == ["begun", "all of it"]


def test_after_an_interrupt_nothing_more_is_begun() -> None:
    stop, done = Stop(), list[str]()

    async def work() -> None:
        done.append("begun")

    stop.interrupt()
    asyncio.run(stop.run_until_interrupt(work()))

    assert done == []


def test_what_breaks_after_the_last_sample_is_no_interrupt() -> None:
    async def work() -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        asyncio.run(Stop().run_until_interrupt(work()))
