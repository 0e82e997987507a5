"""Fetch rows from HTTP APIs that return JSON, and store them in files.

Promises:  a key is sent only to the configured address; a redirect is an error. Status codes 429,
           502, 503 and 504 are retried after the time that the server requests, and so are broken
           connections. All other failures raise `Unreadable` with the server's reply, without the
           key. Reading pages always ends, because a repeated cursor is an error. Rows are stored
           only when all rows have been fetched.
Does not:  read replies larger than 256 MiB.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from http.client import HTTPException, HTTPResponse, IncompleteRead
from itertools import count
from pathlib import Path
from time import sleep
from typing import Annotated, Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from pydantic import AfterValidator

from evalwright.components import Hidden
from evalwright.datasets.reading import FileRows, Reader, open_atomically
from evalwright.datasets.url import show_address
from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import refuse_nul, show_path
from evalwright.secrets import Redactor, Secret
from evalwright.vocabulary import MAX_LINE_BYTES

SILENCE_S = 60.0
"""Maximum time without data from the server, in seconds."""
MOST_BYTES = 256 * 1024 * 1024
_ATTEMPTS = 5
_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 120.0
_TRANSIENT = {429, 502, 503, 504}
_LONGEST_QUOTE = 200
_NOT_IN_HEADERS = re.compile(r"[^ -~]")
_BROKEN = (URLError, HTTPException, TimeoutError, OSError)


ApiKey = Annotated[Hidden, AfterValidator(lambda key: Secret(key.reveal().strip(), declared=True))]


class JsonApi:
    """A JSON API at an address."""

    def __init__(self, address: str, *, headers: Mapping[str, str], key: str, hint: str) -> None:
        """`hint` tells users how to set the key and the address."""
        try:
            self._address = check_address(address, field="address")
        except ValueError as error:
            raise Unreadable(str(error), hint=hint) from error
        if _NOT_IN_HEADERS.search(key):
            raise Unreadable(
                "the key contains a character that is not allowed in a header", hint=hint
            )
        self._headers = {
            "User-Agent": "evalwright",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **(headers if key else {}),
        }
        self._clean = Redactor([key]).clean
        self._hint = hint

    def get(self, path: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """Send a GET request and return the JSON; list parameters are repeated."""
        query = urlencode(parameters or {}, doseq=True)
        return self._fetch(f"{path}?{query}" if query else path, None)

    def post(self, path: str, body: Any) -> Any:
        """Send a POST request with a JSON body and return the JSON."""
        return self._fetch(path, msgspec.json.encode(body))

    def _fetch(self, path: str, body: bytes | None) -> Any:
        address = self._address + path
        name = show_address(address)
        for attempt in count(1):
            is_last = attempt >= _ATTEMPTS
            try:
                return self._parse(self._exchange(address, body), name)
            except HTTPError as error:
                with error:
                    pause_s = _get_pause(error, attempt)
                    if is_last or error.code not in _TRANSIENT or pause_s > _LONGEST_PAUSE_S:
                        raise self._refusal(name, error, pause_s) from error
            except _BROKEN as error:
                pause_s = _PAUSE_S * attempt
                if is_last or _is_final(error):
                    why = getattr(error, "reason", None) or error
                    message = f"{name}: could not be read: {self._clean(str(why))}"
                    raise Unreadable(message, hint=self._hint) from error
            sleep(pause_s)
        return None

    def _exchange(self, address: str, body: bytes | None) -> bytes:
        opener = request.OpenerDirector()  # without redirects, which would forward the key
        for handler in (
            request.ProxyHandler(),
            request.HTTPHandler(),
            request.HTTPSHandler(),
            request.HTTPDefaultErrorHandler(),
            request.HTTPErrorProcessor(),
        ):
            opener.add_handler(handler)
        headers = {**self._headers, **({"Content-Type": "application/json"} if body else {})}
        asked = request.Request(address, data=body, headers=headers)  # noqa: S310 - the opener supports no other schemes
        response: HTTPResponse
        with opener.open(asked, timeout=SILENCE_S) as response:
            content = response.read(MOST_BYTES + 1)
            promised = response.headers.get("Content-Length", "")
        if promised.isdecimal() and len(content) < min(int(promised), MOST_BYTES):
            raise IncompleteRead(content, int(promised) - len(content))
        if len(content) > MOST_BYTES:
            raise Unreadable(f"{show_address(address)}: more than {MOST_BYTES >> 20} MiB")
        return content

    def _parse(self, content: bytes, name: str) -> Any:
        try:
            try:
                return msgspec.json.decode(content)
            except msgspec.DecodeError:  # NaN, which Python servers may write, becomes null
                return json.loads(content, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            got = self._quote(content)
            raise Unreadable(f"{name}: expected JSON, got {got}", hint=self._hint) from error

    def _refusal(self, name: str, error: HTTPError, pause_s: float) -> Unreadable:
        reply = self._quote(error.read(4096))
        message = f"{name}: the server answered {error.code}: {reply}"
        if error.code in {401, 403}:
            return Unreadable(message, hint=f"the key is missing or wrong: {self._hint}")
        if error.code in _TRANSIENT and pause_s > _LONGEST_PAUSE_S:
            return Unreadable(
                f"{message}; it asks clients to wait {pause_s:.0f} s", hint="try again later"
            )
        if location := error.headers.get("Location"):
            return Unreadable(
                f"{name}: the server answered {error.code}: it redirects to "
                f"{show_address(location)}",
                hint=f"the key is not sent there; {self._hint}",
            )
        return Unreadable(message, hint=self._hint)

    def _quote(self, content: bytes) -> str:
        text = " ".join(self._clean(content.decode(errors="replace")).split())
        short = text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"
        return f"`{short}`" if short else "nothing"


def read_pages(
    fetch: Callable[[Any], tuple[Sequence[Any], Any]], *, name: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the objects on all pages. `fetch` takes a cursor (first None) and returns the next.

    The last page has no objects or no cursor.
    """
    cursor, seen = None, set()
    while True:
        objects, cursor = fetch(cursor)
        for number, value in enumerate(objects):
            if not isinstance(value, Mapping):
                raise BadDataset(f"{name}: expected an object at [{number}] in a page")
            yield value
        if cursor is None or not objects:
            return
        if cursor in seen:
            raise BadDataset(
                f"{name}: the pages do not end: the server sent the cursor `{cursor}` twice"
            )
        seen.add(cursor)


def store_rows(
    kind: str,
    query: Mapping[str, Any],
    fetch: Callable[[], Iterable[dict[str, Any]]],
    *,
    cache_dir: Path,
    name: str,
) -> Reader:
    """Return a reader of fetched rows. `fetch` is called once per `query`; the rows are stored.

    `query` contains everything that the rows depend on, without the key.
    """
    digest = sha256(msgspec.json.encode([kind, query], order="sorted")).hexdigest()[:32]
    path = cache_dir / "downloads" / f"{digest}-{kind}.jsonl"

    def find() -> Path:
        if not path.is_file():
            _write_rows(path, fetch(), name)
        return path

    return FileRows(find, ".jsonl")


def _write_rows(path: Path, rows: Iterable[dict[str, Any]], name: str) -> None:
    encode = msgspec.json.Encoder().encode
    is_empty = True
    try:
        with open_atomically(path) as file:
            for row in rows:
                line = encode(row) + b"\n"
                if len(line) > MAX_LINE_BYTES:
                    most = f"{MAX_LINE_BYTES >> 20} MiB"
                    raise BadDataset(f"{name}: `{row['sample_id']}` is larger than {most}")
                file.write(line)
                is_empty = False
            if is_empty:
                raise BadDataset(f"{name}: no rows", hint="check the name and the time range")
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror or error}") from error


def check_address(address: str, *, field: str) -> str:
    """Return the address; ValueError if it is not http or https."""
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        got = show_address(address)
        raise ValueError(f"expected an address with http:// or https:// as `{field}`, got `{got}`")
    refuse_nul(address)
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"expected an address without a user name and password as `{field}`")
    return address.rstrip("/")


def read_variable(*names: str) -> str:
    """Return the first environment variable that has a value; empty if there is none."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def quote_part(text: str) -> str:
    """Quote a string as one part of a URL path."""
    return quote(text, safe="")


def _get_pause(error: HTTPError, attempt: int) -> float:
    asked = str(error.headers.get("Retry-After", "")).strip()
    if asked.isdecimal():
        return float(asked)
    try:
        pause: float = (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds()
        return max(pause, 0.0)
    except (ValueError, TypeError):
        return _PAUSE_S * float(2 ** (attempt - 1))


def _is_final(error: BaseException) -> bool:
    """Whether a retry is useless: connection refused, or unknown host."""
    reason = getattr(error, "reason", error)
    return not isinstance(reason, ConnectionResetError | TimeoutError | HTTPException)
