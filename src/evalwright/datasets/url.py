"""`url`: a file at a URL, downloaded once.

    source:
      type: url
      url: https://example.org/questions.jsonl.gz

The file is stored in `.evalwright/downloads/` under the hash of its URL. To download it again,
delete it there. Only `http` and `https` URLs are allowed, including after redirects.
"""

from hashlib import sha256
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import IO, Literal, Self
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from pydantic import field_validator, model_validator

from evalwright.datasets.json_path import RecordPath
from evalwright.datasets.reading import (
    FileRows,
    Reader,
    check_records,
    find_format,
    open_atomically,
)
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import Unreadable
from evalwright.lines import refuse_nul

MOST_BYTES = 8 * 1024**3
SILENCE_S = 30.0
"""Maximum time without data from the server, in seconds."""
LONGEST_S = 3600.0
"""Time limit of a download, in seconds."""
_CHUNK = 1 << 18
_IN_ADDRESSES = "%/:=&?~#+!$,;'@()*[]"
_PAGE = (b"<!doctype html", b"<html")


class Url(SourceSpec):
    """The rows of a file at a URL, which is downloaded once."""

    type: Literal["url"]
    url: str
    """`http` or `https` URL. The file extension determines the format."""
    records: RecordPath | None = None
    """Path to the rows in a JSON document, such as `$.outputs[*]`. In a JSON Lines file, the path
    is applied to each line."""

    @field_validator("url")
    @classmethod
    def _check_address(cls, value: str) -> str:
        address = str(value).strip()
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            got = show_address(address)
            raise ValueError(f"expected a URL with http:// or https://, got `{got}`")
        refuse_nul(address)
        if parts.username is not None or parts.password is not None:
            raise ValueError("expected a URL without a user name and password")
        find_format(_file_name(address))
        return address

    @model_validator(mode="after")
    def _check_records(self) -> Self:
        check_records(_file_name(self.url), self.records)
        return self

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that downloads the file when the first row is read."""
        name = _file_name(self.url)
        stored = f"{sha256(self.url.encode()).hexdigest()[:32]}-{name[-80:]}"
        path = surroundings.cache_dir / "downloads" / stored
        options = self.read_options(self.records)
        return FileRows(lambda: fetch_file(self.url, path), find_format(name), options=options)

    def label(self) -> str:
        """Return the URL without parts that may contain a key, for messages."""
        return show_address(self.url)


def show_address(address: str) -> str:
    """Return a URL for messages, without user and query, which may contain a key."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "…" if parts.query else "", ""))


def _file_name(address: str) -> str:
    return PurePosixPath(unquote(urlsplit(address).path)).name


def fetch_file(address: str, path: Path, *, most_bytes: int = MOST_BYTES) -> Path:
    """Return the path; download the file if it does not exist."""
    if path.is_file():
        return path
    name = show_address(address)
    try:
        with _open_address(address) as response, open_atomically(path) as file:
            _copy(response, file, most_bytes, name)
    except HTTPError as error:
        error.close()
        raise Unreadable(f"{name}: the server answered {error.code}") from error
    except (URLError, HTTPException, TimeoutError, OSError) as error:
        why = getattr(error, "reason", None) or error
        raise Unreadable(
            f"{name}: the download failed: {why}",
            hint="a local file does not need the network: `source: {type: local, …}`",
        ) from error
    return path


def _open_address(address: str) -> HTTPResponse:
    opener = request.OpenerDirector()  # without handlers for ftp:, file: and data:
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPRedirectHandler(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    headers = {"User-Agent": "evalwright", "Accept-Encoding": "identity"}
    address_request = request.Request(quote(address, safe=_IN_ADDRESSES), headers=headers)  # noqa: S310 - the opener supports no other schemes
    response: HTTPResponse | None = opener.open(address_request, timeout=SILENCE_S)
    if response is None:  # no handler for the scheme of a redirect
        raise URLError("redirected to a URL that is neither http nor https")
    return response


def _copy(response: HTTPResponse, file: IO[bytes], most_bytes: int, name: str) -> None:
    promised = response.headers.get("Content-Length")
    began, size = monotonic(), 0
    # Returns the data that has arrived, so a slow server does not time out.
    while chunk := response.read1(_CHUNK):
        if not size and chunk.lstrip()[:20].lower().startswith(_PAGE):
            raise Unreadable(f"{name}: expected a data file, got a web page")
        size += len(chunk)
        if size > most_bytes:
            raise Unreadable(f"{name}: larger than {most_bytes >> 20} MiB")
        if monotonic() - began > LONGEST_S:
            raise TimeoutError(f"not finished after {LONGEST_S:.0f} s")
        file.write(chunk)
    if promised is not None and promised.isdecimal() and int(promised) != size:
        raise OSError(f"got {size} of {promised} bytes")
