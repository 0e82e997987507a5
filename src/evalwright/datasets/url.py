"""`url`: a file behind an address, fetched once.

    source:
      type: url
      url: https://example.org/questions.jsonl.gz

It is kept under `.evalwright/downloads/`, by the hash of its address, and never asked for again:
delete it there to fetch it anew. Only `http` and `https`, also after a redirect.
"""

from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import field_validator

from evalwright.datasets.reading import FileRows, Reader, format_of
from evalwright.datasets.source import Source, Surroundings


class Url(Source):
    """The rows of a file that is fetched once."""

    type: Literal["url"]
    url: str
    """`http` or `https`; the path ends as the name of a local file would."""

    @field_validator("url")
    @classmethod
    def _fetchable(cls, value: str) -> str:
        address = str(value).strip()
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(
                f"expected an address with http:// or https://, got `{shown(address)}`"
            )
        if parts.username is not None or parts.password is not None:
            raise ValueError("expected an address without a user and a password in it")
        format_of(_file_name(address))
        return address

    def reader(self, surroundings: Surroundings) -> Reader:
        """The file, which is fetched when the first row is asked for."""
        name = _file_name(self.url)
        kept = surroundings.cache_dir / "downloads" / _kept_name(self.url, name)

        def find() -> Path:
            from evalwright.datasets.fetching import fetched  # what speaks HTTP is slow to import

            return fetched(self.url, kept)

        return FileRows(find, format_of(name))

    def label(self) -> str:
        """The address, without what may be a key."""
        return shown(self.url)


def shown(address: str) -> str:
    """An address as a message shows it: a query may hold a key, and so may a user."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "…" if parts.query else "", ""))


def _file_name(address: str) -> str:
    return PurePosixPath(unquote(urlsplit(address).path)).name


def _kept_name(address: str, name: str) -> str:
    """By its whole address, query included; the name stays readable for who looks there."""
    return f"{sha256(address.encode()).hexdigest()[:32]}-{name[-80:]}"
