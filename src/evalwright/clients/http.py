"""HTTP endpoints that exchange JSON, with one kind of error per problem.

    connection    no connection, a reset, an incomplete reply                   retryable
    timeout       no connection, first byte or complete reply in time           retryable
    too_large     more than 32 MiB
    empty         no body
    not_json      another format: an HTML page, an event stream
    error_object  an error with a success status
    wrong_shape   JSON, but not in the format of this API

The kind for each status other than success:

    301 302 303 307 308   not_found      a POST is not redirected: it carries the key
    400 422, other 4xx    bad_request    with the server's message; `filtered` if it is about a
                                         content filter
    401 403               auth
    404 405               not_found      unknown model or address
    408                   timeout        retryable
    409                   conflict       retryable
    429                   rate_limited   retryable, after `Retry-After` if the server sends it;
                                         not if the quota is spent
    5xx                   server         retryable, after `Retry-After` if the server sends it

`replies` interprets well-formed replies.

Holds:      There is one keep-alive session, created in the loop of the first request. TLS is
            verified. Redirects are not followed, and cookies are not stored. At most four replies
            over 256 KiB are read at a time, so memory is bounded for any number of connections. No
            message contains the key, even if the server repeats it. Answers are not changed.
Does not:   Retry, wait, count or cache. Wrappers around a client do this.
"""

import asyncio
import math
import ssl
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import responses
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from evalwright._version import __version__
from evalwright.clients import replies
from evalwright.clients.parameters import Timeouts
from evalwright.clients.providers import Address, Provider, locate, locate_neighbour
from evalwright.errors import ModelError, UsageError
from evalwright.secrets import Redactor

MOST_REPLY_BYTES = 32 * 2**20
_MOST_ERROR_BYTES = 64 * 2**10
_LARGE_BYTES = 256 * 2**10
_LARGE_AT_ONCE = 4
_MAX_SHOWN = 80
_SUCCESS = range(200, 300)
_KINDS = {
    401: "auth",
    403: "auth",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    409: "conflict",
    429: "rate_limited",
    **dict.fromkeys(range(500, 600), "server"),
}
_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached"}
_FILTER_CODES = {"content_filter", "content_policy_violation"}
_FILTER_WORDS = "content filtering policy"
_LIST_TIMEOUTS = Timeouts(first_byte_timeout_s=20, total_timeout_s=30)
_MAX_LISTED = 1000

Reply = TypeVar("Reply")


class _RawReply(NamedTuple):
    content: bytes
    content_type: str
    status: int


class Exchange(NamedTuple, Generic[Reply]):
    """A decoded reply, and the bodies of request and reply if the endpoint keeps them."""

    reply: Reply
    bodies: tuple[str, str] | None = None


class Endpoint:
    """Sends requests to one address. Call `close` in the loop that sent the requests."""

    def __init__(
        self,
        address: Address,
        *,
        timeouts: Timeouts,
        headers: Mapping[str, str] | None = None,
        secrets: Iterable[str] = (),
        tls: ssl.SSLContext | None = None,
        keeps_bodies: bool = False,
    ) -> None:
        """`headers` replace the provider's headers; `secrets` are redacted."""
        self._keeps_bodies = keeps_bodies
        self.url = address.url
        self._provider = address.provider
        self._redactor = Redactor([address.key, *secrets])
        self._tls = tls
        self._origin = str(address.url.origin())
        # Passed with every request, because aiohttp sends session headers (the key) to proxies.
        self._headers = CIMultiDict(
            {
                "Accept": "application/json",
                "Content-Type": "application/json",
                "User-Agent": f"evalwright/{__version__}",
            }
        )
        # Names are case-insensitive.
        self._headers.update(address.headers if headers is None else headers)
        self._timeouts = timeouts
        self._proxy_options: dict[str, Any] = {}
        if address.proxy:
            self._use_proxy(URL(address.proxy))
        self._session: aiohttp.ClientSession | None = None
        self._large: asyncio.Semaphore

    async def ask(self, body: bytes | None, decoder: msgspec.json.Decoder[Reply]) -> Reply:
        """Send a POST request (without a body, GET); return the reply or raise `ModelError`."""
        return (await self.exchange(body, decoder)).reply

    async def exchange(
        self, body: bytes | None, decoder: msgspec.json.Decoder[Reply]
    ) -> Exchange[Reply]:
        """Send a request; return the decoded reply and the bodies, or raise `ModelError`."""
        raw = await self._exchange(body)
        reply = self._decode(raw, decoder)
        if error := getattr(reply, "error", None):
            raise self.error_object(error)
        if body is None or not self._keeps_bodies:
            return Exchange(reply)
        return Exchange(reply, (body.decode(), raw.content.decode(errors="replace")))

    async def ask_text(self, body: bytes) -> tuple[str, int]:
        """Send a request; return the reply as text of any format, and its status."""
        reply = await self._exchange(body)
        try:
            return reply.content.decode(), reply.status
        except UnicodeDecodeError as error:
            broken = self._decoding_error(reply, error)
        raise broken  # raised here, because a decoding error contains all bytes

    async def close(self) -> None:
        """Close the connections."""
        session, self._session = self._session, None
        if session:
            await session.close()

    def error_object(self, error: Any) -> ModelError:
        """Return the error that a reply reports with a success status."""
        return replies.reported_error(error, by=f"{self._origin} answered with", clean=self.clean)

    def clean(self, text: str) -> str:
        """Remove the key, in any encoding, from a text. Call this before the text is shortened."""
        return self._redactor.clean(text)

    async def _exchange(self, body: bytes | None) -> _RawReply:
        session = self._session or self._open()
        try:
            async with session.request(
                "GET" if body is None else "POST",
                self.url,
                data=body,
                headers=self._headers,
                allow_redirects=False,
                **self._proxy_options,
            ) as response:
                if response.status not in _SUCCESS:
                    raise await self._read_error(response)
                content = await self._read(response)
                if not content.strip():
                    raise ModelError("empty", f"the reply from {self._origin} has no body")
                kind = response.headers.get("Content-Type", "")
                return _RawReply(content, kind, response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            broken = self._connection_error(error)
        raise broken  # raised here, because aiohttp's errors contain the headers with the key

    def _decode(self, reply: _RawReply, decoder: msgspec.json.Decoder[Reply]) -> Reply:
        try:
            return decoder.decode(reply.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            broken = self._decoding_error(reply, error)
        del reply  # an exception keeps its frames and their variables alive
        raise broken

    def _use_proxy(self, proxy: URL) -> None:
        """Set the header with the proxy's password, for the request or for the tunnel."""
        self._proxy_options["proxy"] = proxy.with_user(None)
        if proxy.user:
            login = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
            header = {"Proxy-Authorization": f"Basic {login}"}
            if self.url.scheme == "http":
                self._headers.update(header)
            else:
                self._proxy_options["proxy_headers"] = header

    def _open(self) -> aiohttp.ClientSession:
        timeouts = self._timeouts
        # Like a session, a semaphore belongs to a loop.
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                connect=timeouts.connect_timeout_s,
                sock_read=timeouts.first_byte_timeout_s,
                total=timeouts.total_timeout_s,
            ),
        )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """Return the body. Its size is counted while reading, because the header may be wrong."""
        if (response.content_length or 0) > MOST_REPLY_BYTES:
            raise self._too_large()
        content = response.content
        chunks: list[bytes] = []
        size = 0
        while size <= _LARGE_BYTES:
            chunk = await content.readany()
            if not chunk:
                return chunks[0] if len(chunks) == 1 else b"".join(chunks)
            chunks.append(chunk)
            size += len(chunk)
        async with self._large:  # other large replies wait in their socket buffers
            while chunk := await content.readany():
                chunks.append(chunk)
                size += len(chunk)
                if size > MOST_REPLY_BYTES:
                    chunks.clear()  # likewise
                    raise self._too_large()
        return b"".join(chunks)

    async def _read_error(self, response: aiohttp.ClientResponse) -> ModelError:
        chunks: list[bytes] = []
        try:
            while sum(map(len, chunks)) < _MOST_ERROR_BYTES and (
                chunk := await response.content.readany()
            ):
                chunks.append(chunk)
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass  # the status is sufficient
        return status_error(
            response.status,
            response.headers,
            b"".join(chunks).decode(errors="replace"),
            provider=self._provider,
            clean=self.clean,
        )

    def _too_large(self) -> ModelError:
        most = MOST_REPLY_BYTES // 2**20
        return ModelError("too_large", f"the reply from {self._origin} is larger than {most} MiB")

    def _decoding_error(self, reply: _RawReply, error: Exception) -> ModelError:
        try:
            value = msgspec.json.decode(reply.content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            kind = replies.to_one_line(self.clean(reply.content_type)) or "an unknown type"
            start = self.clean(reply.content[:_MOST_ERROR_BYTES].decode(errors="replace"))
            shown = f"{kind}: {replies.to_one_line(start, most=_MAX_SHOWN)}"
            return ModelError("not_json", f"the reply from {self._origin} is not JSON but {shown}")
        if isinstance(value, dict) and value.get("error"):
            return self.error_object(value["error"])
        why = replies.to_one_line(self.clean(str(error)))
        return ModelError(
            "wrong_shape", f"the reply from {self._origin} has the wrong shape: {why}"
        )

    def _connection_error(self, error: Exception) -> ModelError:
        at = self._origin
        timeouts = self._timeouts
        match error:
            case aiohttp.ConnectionTimeoutError():
                message = f"no connection to {at} within {timeouts.connect_timeout_s:g} s"
            case aiohttp.SocketTimeoutError():
                message = f"{at} sent nothing for {timeouts.first_byte_timeout_s:g} s"
            case TimeoutError():
                message = f"no complete reply from {at} within {timeouts.total_timeout_s:g} s"
            case aiohttp.ClientConnectorCertificateError():
                return ModelError(
                    "connection",
                    f"the certificate of {at} is not trusted: {_reason(error)}",
                    hint="set SSL_CERT_FILE to the certificate authorities to trust",
                )
            case aiohttp.ClientConnectorError():
                message = f"no connection to {at}: {_reason(error)}"
            case aiohttp.ClientHttpProxyError():
                message = f"the proxy for {at} answered {error.status}"
            case aiohttp.ClientResponseError():
                message = f"{at} did not send valid HTTP"
            case aiohttp.ClientPayloadError():
                message = f"the reply from {at} is incomplete"
            case _:
                message = f"the connection to {at} failed: {_reason(error)}"
        return ModelError(
            "timeout" if isinstance(error, TimeoutError) else "connection",
            self.clean(message),
            retryable=True,
            hint=f"is the server running? check {self._provider.base_url_variable}"
            if isinstance(error, aiohttp.ClientConnectorError)
            else "",
        )


class ApiModel:
    """Base class of models behind a provider's API."""

    caveat = ""
    api: ClassVar[str]
    """Name of the API; part of the fingerprint."""

    def __init__(self, name: str, endpoint: Endpoint, parameters: dict[str, Any]) -> None:
        facts = {"api": self.api, "url": str(endpoint.url), "parameters": parameters}
        try:
            self.fingerprint = msgspec.json.encode(facts, order="sorted").decode()
        except TypeError as error:
            raise UsageError(f"a parameter is not a JSON value: {error}") from error
        self._endpoint = endpoint
        self._body = {"model": name, **parameters}

    async def close(self) -> None:
        """Close the connections."""
        await self._endpoint.close()


class _ListedModel(msgspec.Struct, frozen=True):
    id: str


class _ModelList(msgspec.Struct, frozen=True):
    data: list[_ListedModel]


_list_decoder = msgspec.json.Decoder(_ModelList | list[_ListedModel])


async def list_served_models(provider: str, environment: Mapping[str, str]) -> list[str]:
    """Return the models that a provider's server lists; `UsageError` if the key is missing.

    The list is at `/models`, next to the chat endpoint. It may be under the key `data`.
    """
    is_anthropic = provider == "anthropic"
    path = "/messages" if is_anthropic else "/chat/completions"
    address = locate_neighbour(locate(provider, path, environment), path, "/models")
    if is_anthropic:
        address.url = address.url.with_query(limit=_MAX_LISTED)
    endpoint = Endpoint(address, timeouts=_LIST_TIMEOUTS)
    try:
        reply = await endpoint.ask(None, _list_decoder)
    finally:
        await endpoint.close()
    models = reply.data if isinstance(reply, _ModelList) else reply
    return [model.id.removeprefix("models/") for model in models]  # Gemini adds this prefix


def _reason(error: Exception) -> str:
    """Return the reason for a connection error, without the address."""
    cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    reason = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "") or str(cause)
    return replies.to_one_line(reason) or type(error).__name__


def status_error(
    status: int,
    headers: Mapping[str, str],
    body: str,
    *,
    provider: Provider,
    clean: Callable[[str], str],
) -> ModelError:
    """Return the error for a reply with this status; `clean` removes secrets from the message."""
    error = _parse_error(body)
    words = replies.to_one_line(clean(replies.error_text(error) or body))
    codes = {error.get("code"), error.get("type")} if isinstance(error, dict) else set()
    if codes & _FILTER_CODES or _FILTER_WORDS in words:
        return replies.filter_error(words)
    detail = f": {words}" if words else f" {responses.get(status, '')}".rstrip()
    message = f"HTTP {status}{detail}"
    kind = _KINDS.get(status, "bad_request")
    if status < HTTPStatus.BAD_REQUEST:
        kind = "not_found"
        message = f"HTTP {status}: the server redirects the request"
        if location := headers.get("Location"):
            message += f", at {replies.to_one_line(clean(location))}"
    hints = {
        "auth": f"check {provider.key_variable}",
        "not_found": f"check the model name and {provider.base_url_variable}",
    }
    return ModelError(
        kind,
        message,
        retryable=status in replies.RETRYABLE and not codes & _QUOTA_CODES,
        retry_after_s=retry_after(headers) if status in replies.RETRYABLE else None,
        hint=hints.get(kind, ""),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `retry-after-ms` or `Retry-After` (number or date), or None."""
    if (milliseconds := _parse_seconds(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After", "")
    if (seconds := _parse_seconds(value)) is not None:
        return seconds
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _parse_error(body: str) -> Any:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    inner = value.get("error") if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else value


def _parse_seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
