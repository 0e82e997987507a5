"""A frame arrives as it was sent, however it was cut; all else is refused."""

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
        here.settimeout(None)
        yield here, there


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("body", [b"", b"x", b'["get","f"]', bytes(range(256)) * 3])
def test_a_frame_arrives_as_it_was_sent(pair: Pair, body: bytes) -> None:
    here, there = pair

    wire.send(there.fileno(), body)

    assert wire.receive(here.fileno()) == body


def test_a_frame_is_its_length_and_its_body(pair: Pair) -> None:
    here, there = pair

    wire.send(there.fileno(), b"abc")

    assert here.recv(100) == b"\0\0\0\3abc"


def test_frames_follow_each_other_when_each_is_awaited(pair: Pair) -> None:
    here, there = pair

    for body in (b"one", b"", b"three"):
        wire.send(there.fileno(), body)
        assert wire.receive(here.fileno()) == body


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 7])
def test_a_frame_may_come_in_pieces(pair: Pair, piece: int) -> None:
    here, there = pair
    sent = frame(b"in many pieces")

    def dribble() -> None:
        for start in range(0, len(sent), piece):
            there.sendall(sent[start : start + piece])
            wait_until_read(here)

    dribbling = Thread(target=dribble)
    dribbling.start()
    received = wire.receive(here.fileno())
    dribbling.join()

    assert received == b"in many pieces"


def wait_until_read(end: socket.socket) -> None:
    """Until nothing is left to read at this end, so that the next piece is read by itself."""
    while True:
        try:
            end.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return


def test_a_frame_that_no_buffer_holds_arrives_whole(pair: Pair) -> None:
    here, there = pair
    body = bytes(range(256)) * (wire.MAX_BYTES // 256)

    sending = Thread(target=wire.send, args=(there.fileno(), body))
    sending.start()
    received = wire.receive(here.fileno())
    sending.join()

    assert len(body) == wire.MAX_BYTES, "the longest that is taken"
    assert received == body


def test_one_byte_over_the_limit_is_refused_by_its_head(pair: Pair) -> None:
    here, there = pair
    there.sendall((wire.MAX_BYTES + 1).to_bytes(4, "big"))

    with pytest.raises(wire.BadFrame, match="8 MiB"):
        wire.receive(here.fileno())


def test_a_reader_may_set_another_limit(pair: Pair) -> None:
    here, there = pair

    wire.send(there.fileno(), b"1234")
    assert wire.receive(here.fileno(), 4) == b"1234"
    wire.send(there.fileno(), b"12345")
    with pytest.raises(wire.BadFrame):
        wire.receive(here.fileno(), 4)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(frame(b"one") + frame(b"two"), id="two frames"),
        pytest.param(frame(b"one") + b"t", id="a byte too many"),
        pytest.param(frame(b"") + b"\0", id="after an empty one"),
    ],
)
def test_nothing_may_follow_a_frame(pair: Pair, sent: bytes) -> None:
    here, there = pair
    there.sendall(sent)

    with pytest.raises(wire.BadFrame, match="more than one message"):
        wire.receive(here.fileno())


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="before the head"),
        pytest.param(frame(b"body")[:2], id="inside the head"),
        pytest.param(frame(b"body")[:4], id="before the body"),
        pytest.param(frame(b"body")[:6], id="inside the body"),
    ],
)
def test_an_end_that_closes_too_early_is_gone(pair: Pair, sent: bytes) -> None:
    here, there = pair
    there.sendall(sent)
    there.close()

    with pytest.raises(wire.Closed):
        wire.receive(here.fileno())


def test_nobody_is_left_to_send_to(pair: Pair) -> None:
    here, there = pair
    here.close()

    with pytest.raises(wire.Closed):
        wire.send(there.fileno(), b"anybody?")


def test_a_descriptor_that_is_not_open_is_closed() -> None:
    with pytest.raises(wire.Closed):
        wire.receive(-1)
    with pytest.raises(wire.Closed):
        wire.send(-1, b"")
