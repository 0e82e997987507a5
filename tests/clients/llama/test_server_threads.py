import asyncio
import os

import pytest

from evalwright.clients.llama.server import choose_threads, count_cores, count_idle, idle_threads


@pytest.mark.parametrize(
    ("idle", "load", "expected"),
    [
        pytest.param(8.0, 0.0, 8, id="a quiet machine: all"),
        pytest.param(7.7, 0.2, 8, id="nearly quiet"),
        pytest.param(3.2, 0.5, 3, id="busy now, whatever the last minute was"),
        pytest.param(8.0, 6.5, 1, id="busy in the last minute, whatever it is now"),
        pytest.param(0.0, 20.0, 1, id="never none"),
        pytest.param(None, 2.0, 6, id="only the load is known"),
        pytest.param(2.0, None, 2, id="only the moment is known"),
        pytest.param(64.0, 0.0, 8, id="never more than this process may use"),
        pytest.param(None, None, 1, id="nothing is known"),
    ],
)
def test_threads_are_as_many_as_cores_are_idle(
    idle: float | None, load: float | None, expected: int
) -> None:
    assert choose_threads(8, idle=idle, load=load) == expected


@pytest.mark.parametrize("value", ["true", "1", "yes"])
def test_in_ci_it_is_one(value: str) -> None:
    assert asyncio.run(idle_threads({"CI": value})) == 1


@pytest.mark.parametrize("value", ["", "0", "false"])
def test_elsewhere_it_is_at_least_one_and_at_most_all(value: str) -> None:
    assert 1 <= asyncio.run(idle_threads({"CI": value})) <= (os.cpu_count() or 1)


def test_a_process_may_use_some_of_the_cores() -> None:
    assert 0 < count_cores() <= (os.cpu_count() or 1)


def test_idle_cores_are_counted_between_two_looks() -> None:
    before = [100, 0, 100, 1000, 0, 0, 0, 0]
    after = [110, 0, 110, 1015, 5, 0, 0, 0]

    assert count_idle(before, after) == pytest.approx(0.5 * (os.cpu_count() or 1))


def test_two_looks_at_the_same_moment_say_nothing() -> None:
    assert count_idle([1] * 8, [1] * 8) is None
    assert count_idle(None, [1] * 8) is None
