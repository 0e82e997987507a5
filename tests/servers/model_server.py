"""A real server on 127.0.0.1 that answers as it is told: well, badly or not at all.

    with ModelServer() as server:                       # every answer is "4"
        server.behave(in_turn(status(429), chat("5")))  # then: one 429, and "5" ever after
        ...                                             # ask server.url
        assert len(server.log) == 2

A behaviour is an async function of the request: it returns a response, or does worse. It may look
at `asked.body`, wait, or break the connection. The server runs in a thread with a loop of its own,
so that it can be used from anywhere, and from inside `asyncio.run` too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

import msgspec
from aiohttp import web

if TYPE_CHECKING:
    import ssl

JSON = "application/json"


@dataclass(frozen=True)
class Asked:
    """One request, as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    request: web.BaseRequest = field(repr=False)

    @property
    def body(self) -> Any:
        """Its JSON."""
        return msgspec.json.decode(self.raw)

    @property
    def prompt(self) -> str:
        """The last message."""
        said: str = (self.body.get("messages") or self.body["input"])[-1]["content"]
        return said


Behaviour = Callable[[Asked], Awaitable[web.StreamResponse]]


class ModelServer:
    """Serves models; `log` has every request in the order of arrival."""

    def __init__(
        self, behaviour: Behaviour | None = None, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.log: list[Asked] = []
        self.connections = 0
        """How many connections there have been."""
        self.most_at_once = 0
        """The most requests that were being served at any moment."""
        self._now = 0
        self._seen: WeakSet[asyncio.Transport] = WeakSet()
        self._behaviour = behaviour or chat("4")
        self._tls = tls
        self._port = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="model server")

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The base URL."""
        return f"{self.origin}/v1"

    def behave(self, behaviour: Behaviour) -> None:
        """Answer so from now on."""
        self._behaviour = behaviour

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(timeout=30):
            raise TimeoutError("the server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._tls, backlog=1024)
        await site.start()
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._end.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.transport and request.transport not in self._seen:
            self._seen.add(request.transport)
            self.connections += 1
        asked = Asked(
            method=request.method,
            path=request.path_qs,
            headers=request.headers.copy(),
            raw=await request.read(),
            request=request,
        )
        self.log.append(asked)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        try:
            return await self._behaviour(asked)
        finally:
            self._now -= 1


def chat(
    text: str | Callable[[Asked], str] | None = "4", *, finish: str | None = "stop", **message: Any
) -> Behaviour:
    """A chat completion with `n` choices; `text` may depend on the request."""

    async def behave(asked: Asked) -> web.StreamResponse:
        said = text(asked) if callable(text) else text
        choices = [
            {
                "index": place,
                "message": {"role": "assistant", "content": said, **message},
                "finish_reason": finish,
            }
            for place in range(asked.body.get("n") or 1)
        ]
        tokens = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        return reply({"object": "chat.completion", "choices": choices, "usage": tokens})

    return behave


def embeddings(*, usage: int = 5) -> Behaviour:
    """A vector a text: how long it is, and 1. The last comes first, as a server may send them."""

    async def behave(asked: Asked) -> web.StreamResponse:
        vectors = [
            {"index": place, "embedding": [float(len(text)), 1.0]}
            for place, text in enumerate(asked.body["input"])
        ]
        return reply({"data": vectors[::-1], "usage": {"prompt_tokens": usage}})

    return behave


def models(*names: str) -> Behaviour:
    """A list of models."""
    return json({"object": "list", "data": [{"id": name} for name in names]})


def by_path(**behaviours: Behaviour) -> Behaviour:
    """One for each last word of a path: `by_path(models=…, completions=…)`."""

    async def behave(asked: Asked) -> web.StreamResponse:
        return await behaviours[asked.path.partition("?")[0].rpartition("/")[2]](asked)

    return behave


def json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Behaviour:
    """This value, as JSON."""
    return body(msgspec.json.encode(value), status=status, headers=headers)


def body(
    raw: bytes,
    *,
    content_type: str = JSON,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """These bytes."""

    async def behave(_: Asked) -> web.StreamResponse:
        return web.Response(body=raw, content_type=content_type, status=status, headers=headers)

    return behave


def status(code: int, message: str = "", **headers: str) -> Behaviour:
    """An error as OpenAI words it; `retry_after="2"` is the header `Retry-After`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error = {"message": message, "type": "error", "code": None}
    return json({"error": error}, status=code, headers=named)


def html(code: int = 200) -> Behaviour:
    """A page, as proxies and login walls send it."""
    page = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>"
    return body(page, content_type="text/html", status=code)


def huge(size: int, *, declared: bool = True) -> Behaviour:
    """A reply of so many bytes, with or without saying so beforehand."""

    async def behave(asked: Asked) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": JSON})
        if declared:
            response.content_length = size
        await response.prepare(asked.request)
        chunk = b"x" * 2**16
        try:
            for sent in range(0, size, len(chunk)):
                await response.write(chunk[: size - sent])
        except ConnectionError:
            pass  # who asked has had enough
        return response

    return behave


async def reset(asked: Asked) -> web.StreamResponse:
    """The connection breaks before any answer."""
    return await _break(asked)


async def reset_in_mid_body(asked: Asked) -> web.StreamResponse:
    """The connection breaks in the middle of a reply."""
    response = web.StreamResponse(headers={"Content-Type": JSON})
    response.content_length = 1000
    await response.prepare(asked.request)
    await response.write(b'{"choices": [')
    return await _break(asked)


async def slow_drip(asked: Asked) -> web.StreamResponse:
    """A space every few milliseconds, for ever."""
    response = web.StreamResponse(headers={"Content-Type": JSON})
    await response.prepare(asked.request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.005)


async def never(_: Asked) -> web.StreamResponse:
    """No answer, ever."""
    await asyncio.Event().wait()
    return web.Response()


def after(seconds: float, behaviour: Behaviour) -> Behaviour:
    """The same, later."""

    async def behave(asked: Asked) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await behaviour(asked)

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """One a request, in order of arrival; the last one ever after."""
    left = list(behaviours)

    async def behave(asked: Asked) -> web.StreamResponse:
        return await (left.pop(0) if len(left) > 1 else left[0])(asked)

    return behave


def hostile() -> Iterable[tuple[str, Behaviour]]:
    """Every way to answer badly that has a name, and the kind of error it makes."""
    yield "rate_limited", status(429)
    yield "rate_limited", status(429, "slow down", retry_after="0")
    yield "server", status(500)
    yield "server", status(503, "overloaded")
    yield "connection", reset
    yield "connection", reset_in_mid_body
    yield "timeout", slow_drip
    yield "timeout", never
    yield "not_json", html()
    yield "wrong_shape", json({"answer": 4})
    yield "error_object", json({"error": {"message": "no such thing"}})
    yield "empty", json({"choices": []})
    yield "too_large", huge(50 * 2**20)


def reply(value: Any) -> web.Response:
    """A JSON response, for behaviours of a test's own."""
    return web.Response(body=msgspec.json.encode(value), content_type=JSON)


async def _break(asked: Asked) -> web.StreamResponse:
    if asked.request.transport:
        asked.request.transport.abort()
    return web.Response()
