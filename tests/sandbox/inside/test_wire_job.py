"""A job is read whole, and nothing after it."""

import os
import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from evalwright.sandbox.inside import wire

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def frame(source: str, *targets: str) -> bytes:
    return wire.pack_job("N", source, targets)


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        pytest.param("", (), id="empty"),
        pytest.param("x = 1\n", ("x == 1", "x"), id="two targets"),
        pytest.param("é = '\U0001f600\0\u2028'", ("'\U0001f600'",), id="beyond ASCII"),
        pytest.param("x = '\ud800'", ("'\udfff'",), id="lone surrogates"),
        pytest.param("x = '\ud83d\ude00'", ("", "\n"), id="surrogates that are no pair"),
    ],
)
def test_a_job_is_read_as_it_was_written(pair: Pair, source: str, targets: tuple[str, ...]) -> None:
    here, there = pair
    there.sendall(frame(source, *targets))

    assert wire.read_job(here.fileno()) == ("N", source, list(targets))


def test_a_job_that_no_buffer_holds_is_read_whole(pair: Pair) -> None:
    here, there = pair
    source, targets = "x = 1\n" * 1_000_000, [f"x == {number}" for number in range(10_000)]

    sending = Thread(target=there.sendall, args=(frame(source, *targets),))
    sending.start()
    job = wire.read_job(here.fileno())
    sending.join()

    assert job == ("N", source, targets)


def test_what_follows_a_job_is_left_alone(pair: Pair) -> None:
    here, there = pair
    there.sendall(frame("x = 1") + frame("y = 2"))

    assert wire.read_job(here.fileno())[1] == "x = 1"
    assert wire.read_job(here.fileno())[1] == "y = 2"


@pytest.mark.parametrize("size", [0, 3, 8, 20])
def test_a_job_that_is_cut_short_is_no_job(pair: Pair, size: int) -> None:
    here, there = pair
    there.sendall(frame("x = 1", "x == 1")[:size])
    there.close()

    with pytest.raises(EOFError, match="the engine has gone"):
        wire.read_job(here.fileno())


def test_nothing_is_read_from_what_is_closed() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    try:
        with pytest.raises(EOFError):
            wire.read_job(reading)
    finally:
        os.close(reading)
