import asyncio
import gzip
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.servers.certificates import tls_of_a_stranger
from tests.servers.model_server import (
    Asked,
    Behaviour,
    ModelServer,
    body,
    hostile,
    html,
    huge,
    in_turn,
    json,
    never,
    reply,
    reset,
    status,
)
from yarl import URL

from evalwright.clients.http import Endpoint
from evalwright.clients.parameters import Timeouts
from evalwright.clients.providers import PROVIDERS, Address
from evalwright.errors import ModelError

KEY = "sk-" + "0123456789abcdef" * 3


class Sum(msgspec.Struct):
    """What these tests ask for."""

    choices: list[int]


PATIENT = Timeouts()
RIGHT = json({"choices": [4]})
DECODER = msgspec.json.Decoder(Sum)


def endpoint(url: str, *, key: str = KEY, proxy: str = "", waits: Timeouts = PATIENT) -> Endpoint:
    address = Address(PROVIDERS["openai"], URL(url) / "sums", key=key, proxy=proxy)
    headers = {"Authorization": f"Bearer {key}"}
    return Endpoint(address, headers=headers, timeouts=waits)


def asked_at_once(to: Endpoint, times: int = 1) -> list[Sum | BaseException]:
    async def ask() -> list[Sum | BaseException]:
        try:
            asks = (to.ask(b"{}", DECODER) for _ in range(times))
            return await asyncio.gather(*asks, return_exceptions=True)
        finally:
            await to.close()

    return asyncio.run(ask())


def failed(to: Endpoint) -> ModelError:
    (found,) = asked_at_once(to)
    assert isinstance(found, ModelError)
    return found


def failing(behaviour: Behaviour, waits: Timeouts = PATIENT) -> ModelError:
    with ModelServer(behaviour) as server:
        return failed(endpoint(server.url, waits=waits))


@contextmanager
def speaking(words: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Something that says these words to its first caller: its address, and what it heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def speak() -> None:
            caller, _ = listener.accept()
            with caller:
                heard.append(caller.recv(2**16))
                caller.sendall(words)

        thread = threading.Thread(target=speak)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
        thread.join()


def test_json_goes_out_and_comes_back() -> None:
    with ModelServer(RIGHT) as server:
        found = asked_at_once(endpoint(server.url))

        assert found == [Sum([4])]
        assert [(one.method, one.path, one.body) for one in server.log] == [
            ("POST", "/v1/sums", {})
        ]
        assert server.log[0].headers["Authorization"] == f"Bearer {KEY}"
        assert server.log[0].headers["Content-Type"] == "application/json"
        assert server.log[0].headers["User-Agent"].startswith("evalwright/")


def test_a_connection_is_kept_and_used_again() -> None:
    with ModelServer(RIGHT) as server:
        to = endpoint(server.url)

        async def one_after_another() -> None:
            for _ in range(5):
                await to.ask(b"{}", DECODER)
            await to.close()

        asyncio.run(one_after_another())

        assert (len(server.log), server.connections) == (5, 1)


def test_a_refusal_does_not_cost_the_connection() -> None:
    with ModelServer(in_turn(status(429), status(500), RIGHT)) as server:
        to = endpoint(server.url)

        async def until_it_answers() -> Sum:
            for _ in range(2):
                with pytest.raises(ModelError):
                    await to.ask(b"{}", DECODER)
            found = await to.ask(b"{}", DECODER)
            await to.close()
            return found

        assert asyncio.run(until_it_answers()) == Sum([4])
        assert server.connections == 1


def test_there_are_as_many_connections_as_are_asked_for() -> None:
    all_of_them = asyncio.Barrier(150)

    async def when_all_are_there(_: Asked) -> web.StreamResponse:
        await all_of_them.wait()
        return reply({"choices": [4]})

    with ModelServer(when_all_are_there) as server:
        assert asked_at_once(endpoint(server.url), 150) == [Sum([4])] * 150
        assert server.most_at_once == 150


def test_after_closing_it_can_be_used_in_another_loop() -> None:
    with ModelServer(RIGHT) as server:
        to = endpoint(server.url)

        assert asked_at_once(to) == asked_at_once(to) == [Sum([4])]


def test_closing_what_was_never_used_is_fine() -> None:
    asyncio.run(endpoint("http://127.0.0.1:9").close())


@pytest.mark.parametrize(
    ("kind", "behaviour"),
    [case for case in hostile() if case[0] != "empty"],  # no choices at all is well-formed here
)
def test_every_hostile_answer_is_an_error_that_tells_which(kind: str, behaviour: Behaviour) -> None:
    # Short only where the end of patience is what the test is about: the machine may be busy.
    patience = 0.2 if kind == "timeout" else 20.0
    error = failing(
        behaviour, Timeouts(first_byte_timeout_s=patience, total_timeout_s=2 * patience)
    )

    assert error.kind == kind
    assert error.retryable == (kind in {"connection", "timeout", "rate_limited", "server"})


def test_a_hundred_hostile_answers_at_once_all_end() -> None:
    ways = [behaviour for _, behaviour in hostile()]

    async def any_way(asked: Asked) -> web.StreamResponse:
        return await ways[len(server.log) % len(ways)](asked)

    with ModelServer(any_way) as server:
        to = endpoint(server.url, waits=Timeouts(first_byte_timeout_s=0.5, total_timeout_s=1))
        found = asked_at_once(to, 100)

    assert all(isinstance(one, ModelError | Sum) for one in found)
    assert len({one.kind for one in found if isinstance(one, ModelError)}) > 5


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        pytest.param(
            html(),
            "is not JSON but text/html: <!DOCTYPE html> <html><head><title>Sign in</title></head>",
            id="a page instead of JSON shows its type and how it begins",
        ),
        pytest.param(
            body(b"data: {}\n\ndata: [DONE]", content_type="text/event-stream"),
            "is not JSON but text/event-stream: data: {} data: [DONE]",
            id="a stream that nobody asked for",
        ),
        pytest.param(body(b'{"choices": [4'), "is not JSON but application/json", id="cut short"),
        pytest.param(body(b"\xff\xfe4"), "is not JSON", id="not UTF-8"),
        pytest.param(body(b'{"z":' + b"[" * 100_000), "is not JSON", id="nested without end"),
        pytest.param(
            body(b"\x1b[31mred\x07" + b"." * 500, content_type="text/plain"),
            "text/plain: [31mred " + "." * 71 + "…",
            id="no control characters, and no more than 80",
        ),
        pytest.param(
            json({"choices": ["4"]}),
            "has the wrong shape: Expected `int`, got `str` - at `$.choices[0]`",
            id="the wrong type says where",
        ),
        pytest.param(
            json([]), "has the wrong shape: Expected `object`, got `array`", id="not an object"
        ),
        pytest.param(body(b" \n"), "has no body", id="nothing at all"),
        pytest.param(
            json({"error": {"message": "no such\nthing", "code": 7}}),
            "answered with an error: no such thing",
            id="an error object says what the server says",
        ),
        pytest.param(json({"error": "busy"}), "answered with an error: busy", id="a plain error"),
        pytest.param(
            json({"error": {"odd": 1}}), "answered with an error: no details", id="a mute one"
        ),
        pytest.param(reset, "failed: Server disconnected", id="closed without a word"),
    ],
)
def test_a_message_says_what_came(behaviour: Behaviour, message: str) -> None:
    with ModelServer(behaviour) as server:
        error = failed(endpoint(server.url))

        assert message in error.message
        assert server.origin in error.message
        assert "\n" not in error.message


@pytest.mark.parametrize(
    ("code", "retryable"), [(429, True), (502, True), (400, False), ("rate_limited", False)]
)
def test_an_error_object_may_be_tried_again_if_its_code_says_so(
    code: int | str, *, retryable: bool
) -> None:
    error = failing(json({"error": {"message": "upstream", "code": code}}))

    assert (error.kind, error.retryable) == ("error_object", retryable)


@pytest.mark.parametrize(
    ("waits", "message"),
    [
        pytest.param(Timeouts(first_byte_timeout_s=0.1), "sent nothing for 0.1 s", id="first byte"),
        pytest.param(Timeouts(total_timeout_s=0.1), "no complete reply from", id="total"),
    ],
)
def test_a_timeout_says_which(waits: Timeouts, message: str) -> None:
    error = failing(never, waits)

    assert (error.kind, error.retryable) == ("timeout", True)
    assert message in error.message


def test_a_server_that_does_not_pick_up_is_a_timeout_of_the_connection() -> None:
    with socket.socket() as deaf, socket.socket() as one, socket.socket() as two:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for caller in (one, two):  # they fill the queue, and the kernel drops whoever comes next
            caller.setblocking(False)  # noqa: FBT003 - the standard library's own signature
            caller.connect_ex(deaf.getsockname())
        port = deaf.getsockname()[1]

        waits = Timeouts(connect_timeout_s=0.1)
        error = failed(endpoint(f"http://127.0.0.1:{port}", waits=waits))

    assert (error.kind, error.retryable) == ("timeout", True)
    assert error.message == f"no connection to http://127.0.0.1:{port} within 0.1 s"


def test_where_nothing_listens_is_a_connection_error_with_a_hint() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    error = failed(endpoint(f"http://127.0.0.1:{port}"))

    assert (error.kind, error.retryable) == ("connection", True)
    assert error.message.startswith(f"no connection to http://127.0.0.1:{port}: ")
    assert "OPENAI_BASE_URL" in error.hint


def test_what_is_no_http_is_a_connection_error() -> None:
    with speaking(b"SSH-2.0-OpenSSH_9.6\r\n") as (address, _):
        error = failed(endpoint(address))

    assert (error.kind, error.message) == ("connection", f"{address} did not send valid HTTP")


def test_an_untrusted_certificate_ends_it_at_once(tmp_path: Path) -> None:
    with ModelServer(RIGHT, tls=tls_of_a_stranger(tmp_path)) as server:
        error = failed(endpoint(server.url))

        assert server.log == []
    assert (error.kind, error.retryable) == ("connection", False)
    assert "certificate" in error.message
    assert "SSL_CERT_FILE" in error.hint


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(code: int) -> None:
    with ModelServer(RIGHT) as elsewhere:
        away = json({}, status=code, headers={"Location": f"{elsewhere.url}/sums"})

        error = failing(away)

        assert elsewhere.log == []
        assert (error.kind, error.retryable) == ("not_found", False)
        assert f"at {elsewhere.url}/sums" in error.message


def test_no_cookie_is_kept() -> None:
    with ModelServer(json({"choices": [4]}, headers={"Set-Cookie": "who=you; Path=/"})) as server:
        to = endpoint(server.url)

        async def twice() -> None:
            await to.ask(b"{}", DECODER)
            await to.ask(b"{}", DECODER)
            await to.close()

        asyncio.run(twice())

        assert "Cookie" not in server.log[1].headers


@pytest.mark.parametrize("proxy", ["http://user:pass%20word@{}", "http://{}"])
def test_a_proxy_is_asked_instead_and_told_its_password_in_a_header(proxy: str) -> None:
    with ModelServer(RIGHT) as server:
        by = proxy.format(server.origin.removeprefix("http://"))

        assert asked_at_once(endpoint("http://model.example/v1", proxy=by)) == [Sum([4])]
        assert str(server.log[0].request.url) == "http://model.example/v1/sums"
        assert server.log[0].headers["Authorization"] == f"Bearer {KEY}"
        assert server.log[0].headers.get("Proxy-Authorization") == (
            "Basic dXNlcjpwYXNzIHdvcmQ=" if "@" in proxy else None
        )


def test_a_proxy_that_only_tunnels_is_not_shown_the_key() -> None:
    with speaking(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n") as (address, heard):
        by = address.replace("//", "//user:pass%20word@")
        error = failed(endpoint("https://model.example/v1", proxy=by))

    assert heard[0].startswith(b"CONNECT model.example:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNzIHdvcmQ=\r\n" in heard[0]
    assert KEY.encode() not in heard[0]
    assert (error.kind, error.retryable) == ("connection", True)
    assert error.message == "the proxy for https://model.example answered 407"


def test_a_proxy_that_is_down_is_a_connection_error_without_its_password() -> None:
    error = failed(endpoint("http://model.example/v1", proxy="http://user:hunter22@127.0.0.1:9"))

    assert error.kind == "connection"
    assert "hunter22" not in error.message


def test_a_large_reply_that_is_not_too_large_is_read() -> None:
    numbers = [*range(400_000)]

    with ModelServer(json({"choices": numbers})) as server:
        assert asked_at_once(endpoint(server.url), 6) == [Sum(numbers)] * 6


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(huge(50 * 2**20), id="that says so"),
        pytest.param(huge(50 * 2**20, declared=False), id="that does not say so"),
        pytest.param(
            body(gzip.compress(b" " * 50 * 2**20), headers={"Content-Encoding": "gzip"}),
            id="that was small when it was compressed",
        ),
    ],
)
def test_a_reply_of_fifty_megabytes_is_too_large(behaviour: Behaviour) -> None:
    error = failing(behaviour)

    assert (error.kind, error.retryable) == ("too_large", False)
    assert "larger than 32 MiB" in error.message


def test_many_large_replies_at_once_do_not_fill_the_memory() -> None:
    async def large_and_stuck(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(asked.request)
        for _ in range(64):
            await response.write(b" " * 2**16)
        return await never(asked)

    with ModelServer(large_and_stuck) as server:
        to = endpoint(server.url, waits=Timeouts(total_timeout_s=2))
        tracemalloc.start()
        try:
            found = asked_at_once(to, 60)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert [one.kind for one in found if isinstance(one, ModelError)] == ["timeout"] * 60
    assert peak < 120 * 2**20, "all of them together would be 240 MiB"


def test_an_error_page_without_end_is_read_no_further_than_needed() -> None:
    async def endless(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(status=503)
        await response.prepare(asked.request)
        while True:
            await response.write(b"busy " * 2**12)

    assert failing(endless).kind == "server"


def test_a_status_counts_even_if_its_body_breaks_off() -> None:
    async def broken(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(status=429, headers={"Retry-After": "7"})
        response.content_length = 100
        await response.prepare(asked.request)
        await response.write(b'{"err')
        assert asked.request.transport is not None
        asked.request.transport.abort()
        return response

    error = failing(broken)

    assert (error.kind, error.retry_after_s) == ("rate_limited", 7)


async def parrot(asked: Asked) -> web.StreamResponse:
    """Repeats the key in every place a server has."""
    key = asked.headers["Authorization"]
    code = int(asked.headers["X-Status"])
    way = asked.headers["X-Way"]
    bodies: dict[str, Any] = {
        "message": {"error": {"message": f"wrong key {key}"}},
        "long": {"error": {"message": "." * 180 + key}},
        "shape": {"choices": [key]},
        "text": f"wrong key {key}",
        "html": f"<p>{'.' * 60}{key}</p>",
    }
    raw = bodies[way]
    return web.Response(
        body=raw.encode() if isinstance(raw, str) else msgspec.json.encode(raw),
        status=code,
        headers={"Location": f"http://x/{key}", "Content-Type": f"text/plain; key={key[7:]}"},
    )


@pytest.mark.parametrize("code", [200, 302, 400, 401, 429, 500])
@pytest.mark.parametrize("way", ["message", "long", "shape", "text", "html"])
def test_the_key_is_in_no_message_even_if_the_server_repeats_it(way: str, code: int) -> None:
    with ModelServer(parrot) as server:
        to = endpoint(server.url)
        to._headers.extend({"X-Way": way, "X-Status": str(code)})

        error = failed(to)

    shown = "".join(map(repr, (error, error.hint, error.__cause__, error.__context__, to)))
    assert KEY[:8] not in shown
    assert "Bearer" not in shown or "[redacted]" in shown


@pytest.mark.parametrize("behaviour", [reset, never, body(b"")])
def test_the_key_is_in_nothing_that_an_error_refers_to(behaviour: Behaviour) -> None:
    error = failing(behaviour, Timeouts(total_timeout_s=0.1))

    assert error.__cause__ is None
    assert error.__context__ is None


def test_a_word_that_is_no_secret_is_left_in_the_message() -> None:
    with ModelServer(status(400, "no model none")) as server:
        error = failed(endpoint(server.url, key="none"))

    assert error.message == "HTTP 400: no model none"


def test_it_can_be_cancelled() -> None:
    arrived = threading.Event()

    async def silent(asked: Asked) -> web.StreamResponse:
        arrived.set()
        return await never(asked)

    async def cancelled() -> None:
        to = endpoint(server.url)
        task = asyncio.ensure_future(to.ask(b"{}", DECODER))
        await asyncio.to_thread(arrived.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await to.close()

    with ModelServer(silent) as server:
        asyncio.run(cancelled())
