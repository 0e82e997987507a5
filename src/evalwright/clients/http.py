"""One endpoint that is asked over HTTP: JSON out, JSON back, every mishap told apart.

    connection    no connection, a reset, a reply broken off                    try again
    timeout       no connection, no first byte or no end in time                try again
    too_large     more than 32 MiB
    empty         no body
    not_json      something else: a page of HTML, a stream of events
    error_object  an error, under a status that says all is well
    wrong_shape   JSON, but not what this API answers

What a status says is in `statuses`, what a well-formed reply amounts to in `answers`.

Holds:      One session with keep-alive, made inside the loop that first asks. TLS is verified.
            No redirect is followed, no cookie kept. A reply over 256 KiB is read together with at
            most three others, so memory is bounded however many connections there are. No message
            holds the key, not even where the server repeats it; an answer is left as it came.
Does not:   Retry, wait, count or remember: those are wrapped around a client.
"""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from evalwright._version import __version__
from evalwright.clients.answers import one_line
from evalwright.clients.parameters import Timeouts
from evalwright.clients.providers import Address
from evalwright.clients.statuses import is_retryable, status_error, words
from evalwright.errors import ModelError
from evalwright.secrets import Redactor

MOST_REPLY_BYTES = 32 * 2**20
_MOST_ERROR_BYTES = 64 * 2**10
_LARGE_BYTES = 256 * 2**10
_LARGE_AT_ONCE = 4
_SHOWN = 80
_OK = 200
_NOT_OK = 300

Reply = TypeVar("Reply")


class Came(NamedTuple):
    """A reply as it came."""

    raw: bytes
    kind: str
    """Its content type."""
    status: int


class Endpoint:
    """Asks one address. `close` it inside the loop that it was used in."""

    def __init__(
        self,
        address: Address,
        *,
        headers: Mapping[str, str],
        timeouts: Timeouts,
        secrets: Iterable[str] = (),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`secrets` are kept out of messages like the key; `tls` is for a trust of its own."""
        self.url = address.url
        self._provider = address.provider
        self._redactor = Redactor([address.key, *secrets])
        self._tls = tls
        self._origin = str(address.url.origin())
        # Given with every request: aiohttp shows a proxy the headers of a session, key and all.
        self._headers = CIMultiDict(
            {
                "Accept": "application/json",
                "Content-Type": "application/json",
                "User-Agent": f"evalwright/{__version__}",
            }
        )
        self._headers.update(headers)  # whatever their case
        self._timeouts = timeouts
        self._proxied: dict[str, Any] = {}
        if address.proxy:
            self._go_through(URL(address.proxy))
        self._session: aiohttp.ClientSession | None = None
        self._large: asyncio.Semaphore

    async def ask(self, body: bytes, decoder: msgspec.json.Decoder[Reply]) -> Reply:
        """The decoded reply, or a `ModelError` that tells what happened."""
        return self._decoded(await self._exchange("POST", body), decoder)

    async def get(self, decoder: msgspec.json.Decoder[Reply]) -> Reply:
        """The same for what is only looked up."""
        return self._decoded(await self._exchange("GET", None), decoder)

    async def tell(self, body: bytes) -> tuple[str, int]:
        """The reply as text, whatever is in it, and its status: for who reads it themselves."""
        came = await self._exchange("POST", body)
        if not came.raw.strip():
            raise ModelError("empty", f"the reply of {self._origin} has no body")
        try:
            return came.raw.decode(), came.status
        except UnicodeDecodeError as error:
            broken = self._unreadable(came.raw, came.kind, error)
        raise broken  # out here: a decoding error carries all of the bytes

    async def close(self) -> None:
        """Let go of the connections."""
        session, self._session = self._session, None
        if session:
            await session.close()

    def error_object(self, error: Any) -> ModelError:
        """The error that a reply spoke of under a good status; a code in it may say: try again."""
        code = error.get("code") if isinstance(error, dict) else None
        said = one_line(self.clean(words(error))) or "it says no more"
        return ModelError(
            "error_object",
            f"{self._origin} answered with an error: {said}",
            retryable=isinstance(code, int) and is_retryable(code),
        )

    def clean(self, text: str) -> str:
        """Somebody else's words without the key, however it is written; before any are cut off."""
        return self._redactor.clean(text)

    async def _exchange(self, method: str, body: bytes | None) -> Came:
        session = self._session or self._open()
        try:
            async with session.request(
                method,
                self.url,
                data=body,
                headers=self._headers,
                allow_redirects=False,
                **self._proxied,
            ) as response:
                if not _OK <= response.status < _NOT_OK:
                    raise await self._status(response)
                raw = await self._read(response)
                return Came(raw, response.headers.get("Content-Type", ""), response.status)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            broken = self._broken(error)
        raise broken  # out here: aiohttp's own errors carry the headers, and the key in them

    def _decoded(self, came: Came, decoder: msgspec.json.Decoder[Reply]) -> Reply:
        try:
            return decoder.decode(came.raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            broken = self._unreadable(came.raw, came.kind, error)
        del came  # an exception keeps its frames, and they what is in them
        raise broken

    def _go_through(self, proxy: URL) -> None:
        """Its password goes into a header: of the request, or of the one that opens a tunnel."""
        self._proxied["proxy"] = proxy.with_user(None)
        if proxy.user:
            login = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
            told = {"Proxy-Authorization": f"Basic {login}"}
            if self.url.scheme == "http":
                self._headers.update(told)
            else:
                self._proxied["proxy_headers"] = told

    def _open(self) -> aiohttp.ClientSession:
        waits = self._timeouts
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)  # like a session, it belongs to a loop
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(
                connect=waits.connect_timeout_s,
                sock_read=waits.first_byte_timeout_s,
                total=waits.total_timeout_s,
            ),
        )
        return self._session

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        """The body; its size is counted as it comes, for what a header says of it may be wrong."""
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
        async with self._large:  # meanwhile the others' sockets are full, and nothing is read
            while chunk := await content.readany():
                chunks.append(chunk)
                size += len(chunk)
                if size > MOST_REPLY_BYTES:
                    chunks.clear()  # likewise
                    raise self._too_large()
        return b"".join(chunks)

    async def _status(self, response: aiohttp.ClientResponse) -> ModelError:
        chunks: list[bytes] = []
        try:
            while sum(map(len, chunks)) < _MOST_ERROR_BYTES:
                chunk = await response.content.readany()
                if not chunk:
                    break
                chunks.append(chunk)
        except (aiohttp.ClientError, TimeoutError, OSError):
            pass  # the status has said what matters
        return status_error(
            response.status,
            response.headers,
            b"".join(chunks).decode(errors="replace"),
            provider=self._provider,
            clean=self.clean,
        )

    def _too_large(self) -> ModelError:
        most = MOST_REPLY_BYTES // 2**20
        return ModelError("too_large", f"the reply of {self._origin} is larger than {most} MiB")

    def _unreadable(self, raw: bytes, content_type: str, error: Exception) -> ModelError:
        """Why a reply could not be decoded: the patient look, at a reply already known bad."""
        if not raw.strip():
            return ModelError("empty", f"the reply of {self._origin} has no body")
        try:
            found = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            kind = one_line(self.clean(content_type)) or "of no type"
            start = self.clean(raw[:_MOST_ERROR_BYTES].decode(errors="replace"))
            shown = f"{kind}: {one_line(start, most=_SHOWN)}"
            return ModelError("not_json", f"the reply of {self._origin} is not JSON but {shown}")
        if isinstance(found, dict) and found.get("error"):
            return self.error_object(found["error"])
        why = one_line(self.clean(str(error)))
        return ModelError("wrong_shape", f"the reply of {self._origin} has the wrong shape: {why}")

    def _broken(self, error: Exception) -> ModelError:
        at = self._origin
        waits = self._timeouts
        match error:
            case aiohttp.ConnectionTimeoutError():
                said = f"no connection to {at} within {waits.connect_timeout_s:g} s"
            case aiohttp.SocketTimeoutError():
                said = f"{at} said nothing for {waits.first_byte_timeout_s:g} s"
            case TimeoutError():
                said = f"no complete reply from {at} within {waits.total_timeout_s:g} s"
            case aiohttp.ClientConnectorCertificateError():
                return ModelError(
                    "connection",
                    f"the certificate of {at} is not to be trusted: {_why(error)}",
                    hint="SSL_CERT_FILE names the authorities to trust",
                )
            case aiohttp.ClientConnectorError():
                said = f"no connection to {at}: {_why(error)}"
            case aiohttp.ClientHttpProxyError():
                said = f"the proxy on the way to {at} answered {error.status}"
            case aiohttp.ClientResponseError():
                said = f"{at} does not answer in HTTP"
            case aiohttp.ClientPayloadError():
                said = f"the reply of {at} broke off"
            case _:
                said = f"the connection to {at} broke: {_why(error)}"
        return ModelError(
            "timeout" if isinstance(error, TimeoutError) else "connection",
            self.clean(said),
            retryable=True,
            hint=self._reach() if isinstance(error, aiohttp.ClientConnectorError) else "",
        )

    def _reach(self) -> str:
        return f"is there a server? {self._provider.base_url_variable} says where"


def _why(error: Exception) -> str:
    """The reason under a connection's error, without the address: that was said."""
    cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", None) or error
    said = getattr(cause, "verify_message", "") or getattr(cause, "strerror", "") or str(cause)
    return one_line(said) or type(error).__name__
