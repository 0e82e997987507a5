"""Fetch a file, whole or not at all: a limit on its size, on silence and on the time it takes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from evalwright.datasets.url import shown
from evalwright.errors import Unreadable

MOST_BYTES = 8 * 1024**3
"""What nobody means to fetch by a line in a document."""
SILENCE_S = 30.0
"""How long a server may say nothing."""
LONGEST_S = 3600.0
"""How long all of it may take."""
_CHUNK = 1 << 18
_IN_ADDRESSES = "%/:=&?~#+!$,;'@()*[]"
_PAGE = (b"<!doctype html", b"<html")


def fetched(address: str, kept: Path, *, most_bytes: int = MOST_BYTES) -> Path:
    """Where the file is now: fetched, whole, or there already."""
    if kept.is_file():
        return kept
    try:
        with _answer(address) as response, _written_whole(kept) as file:
            _copy(response, file, most_bytes, shown(address))
    except HTTPError as error:
        error.close()
        raise Unreadable(f"{shown(address)}: the server answered {error.code}") from error
    except (URLError, HTTPException, TimeoutError, OSError) as error:
        why = getattr(error, "reason", None) or error
        raise Unreadable(
            f"{shown(address)}: could not be fetched: {why}",
            hint="a file that is here already needs no network: `source: {type: local, …}`",
        ) from error
    return kept


@contextmanager
def _answer(address: str) -> Iterator[HTTPResponse]:
    opener = OpenerDirector()  # without the handlers of ftp:, file: and data:
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPDefaultErrorHandler(),
        HTTPRedirectHandler(),
        HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    headers = {"User-Agent": "evalwright", "Accept-Encoding": "identity"}
    asked = Request(quote(address, safe=_IN_ADDRESSES), headers=headers)  # noqa: S310 - the opener has no other schemes
    response = opener.open(asked, timeout=SILENCE_S)
    if response is None:  # no handler for where a redirect went
        raise URLError("it leads to an address that is neither http nor https")
    with response:
        yield response


@contextmanager
def _written_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file that is there when all of it is, and not before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(path)
        finally:
            Path(file.name).unlink(missing_ok=True)  # unless it has its name by now


def _copy(response: HTTPResponse, file: IO[bytes], most_bytes: int, name: str) -> None:
    promised = response.headers.get("Content-Length")
    began, size = monotonic(), 0
    while chunk := response.read1(_CHUNK):  # what there is: a drip is no silence
        if not size and chunk.lstrip()[:20].lower().startswith(_PAGE):
            raise Unreadable(f"{name}: expected a file of rows, got a web page")
        size += len(chunk)
        if size > most_bytes:
            raise Unreadable(f"{name}: larger than {most_bytes >> 20} MiB")
        if monotonic() - began > LONGEST_S:
            raise TimeoutError(f"not done after {LONGEST_S:.0f} s")
        file.write(chunk)
    if promised is not None and promised.isdecimal() and int(promised) != size:
        raise OSError(f"{size} of {promised} bytes came")
