"""A file of rows, whichever its format, with a digest of its bytes.

The format is the name's: `.csv`, `.jsonl`, `.json`, `.parquet`, the first three also compressed
(`.gz`, `.zst`). A file that changes between two readings is an error: half of a run would have been
asked other questions than the other half.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b, file_digest
from os import stat_result
from pathlib import Path, PurePosixPath
from stat import S_ISDIR, S_ISREG
from time import monotonic
from typing import Any, Protocol

import msgspec

from evalwright.datasets.csv_file import CsvFile
from evalwright.datasets.json_files import JsonFile, JsonlFile
from evalwright.datasets.parquet_file import ParquetFile
from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import show_path
from evalwright.nearest import nearest, suggest


class _Format(Protocol):
    @property
    def header(self) -> tuple[str, ...] | None: ...

    def rows(self) -> Iterator[dict[str, Any]]: ...


_FORMATS: dict[str, Callable[[Path], _Format]] = {
    ".csv": CsvFile,
    ".jsonl": JsonlFile,
    ".ndjson": JsonlFile,
    ".json": JsonFile,
    ".parquet": ParquetFile,
}
_COMPRESSED = (".gz", ".zst")
_LOOK_S = 0.02
"""Seconds between two checks of a large file; a check per row would be an eighth of its cost."""
_SMALL_BYTES = 1_000_000
"""Up to this size, a file is checked for changes before every row."""
_SIZE = 2
_READABLE = "a .csv, .jsonl, .json or .parquet file"


class Reader(Protocol):
    """Anything that gives rows as often as it is asked, and can say when they are others."""

    @property
    def digest(self) -> str:
        """Of all that decides which rows come."""
        ...

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns, where they are known before the rows are."""
        ...

    def rows(self) -> Iterator[dict[str, Any]]:
        """In their order, one at a time."""
        ...


def format_of(name: str) -> str:
    """The ending that says how a file is read; ValueError if none does."""
    path = PurePosixPath(name)
    ending = path.suffix.lower()
    if ending in _COMPRESSED:
        ending = PurePosixPath(path.stem).suffix.lower()
        if ending == ".parquet":
            raise ValueError(f"expected {_READABLE}, got `{path.name}`: Parquet compresses itself")
    if ending not in _FORMATS:
        close = nearest(ending, list(_FORMATS)) if ending else None
        meant = f"; did you mean `{close}`?" if close else ""
        raise ValueError(f"expected {_READABLE}, got `{path.name}`{meant}")
    return ending


def digest_of(rows: Iterable[dict[str, Any]]) -> str:
    """Of rows that have no file: of what they hold."""
    digest = blake2b(digest_size=16)
    encode = msgspec.json.Encoder(order="deterministic").encode
    for row in rows:
        digest.update(encode(row) + b"\n")
    return f"rows:{digest.hexdigest()}"


class FileRows:
    """The rows of one file. `find` says where it is, when it is needed: it may be far away."""

    def __init__(
        self,
        find: Callable[[], Path],
        ending: str,
        *,
        make: Callable[[Path], _Format] | None = None,
    ) -> None:
        """`make` reads the file, where its ending alone does not say how."""
        self._find = find
        self._ending = ending
        self._make = make or _FORMATS[ending]

    @cached_property
    def path(self) -> Path:
        """Where the file is."""
        return self._find()

    @cached_property
    def digest(self) -> str:
        """Of its bytes and of the way they are read."""
        self._unchanged()
        with _opened(self.path) as file:
            found = file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
        return f"{self._ending}:{found}"

    @property
    def header(self) -> tuple[str, ...] | None:
        """The columns, where the format has a header."""
        self._unchanged()
        return self._format.header

    def rows(self) -> Iterator[dict[str, Any]]:
        """One after another, with the file as it was the first time."""
        self._unchanged()
        try:
            seen = monotonic()
            interval_s = _LOOK_S if self._first_seen[_SIZE] > _SMALL_BYTES else 0.0
            for row in self._format.rows():
                if (now := monotonic()) - seen > interval_s:  # before anybody is asked about it
                    self._unchanged()
                    seen = now
                yield row
        except (ValueError, LookupError):  # of a table that is not the one of the first reading
            self._unchanged()
            raise
        self._unchanged()

    @cached_property
    def _format(self) -> _Format:
        return self._make(self.path)

    @cached_property
    def _first_seen(self) -> tuple[int, ...]:
        return _signs(_looked_at(self.path))

    def _unchanged(self) -> None:
        before = self._first_seen
        try:
            same = _signs(os.stat(self.path)) == before  # noqa: PTH116 - often
        except OSError:
            same = False
        if not same and _signs(_looked_at(self.path)) != before:
            raise BadDataset(
                f"{show_path(self.path)}: the file has changed while it was in use",
                hint="start again: the rows are no longer those that were checked",
            )


def _signs(found: stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)  # size: `_SIZE`


def _looked_at(path: Path) -> stat_result:
    """Its place and age; `Unreadable` says why there is none, and what is there instead."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        why = "no such file" if missing else str(getattr(error, "strerror", None) or error)
        raise Unreadable(f"{show_path(path)}: {why}", hint=_neighbour(path)) from error
    if S_ISDIR(found.st_mode):
        raise Unreadable(
            f"{show_path(path)}: a directory, not a file",
            hint="the files of a directory are `source: {type: folder, directory_path: …}`",
        )
    if not S_ISREG(found.st_mode):
        raise Unreadable(f"{show_path(path)}: rows are read more than once: expected a file")
    return found


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror or error}") from error


def _neighbour(path: Path) -> str:
    """What the author may have meant, of the files in the same place."""
    try:
        names = sorted(one.name for one in path.parent.iterdir())
    except OSError:
        return ""
    return suggest(path.name, names)
