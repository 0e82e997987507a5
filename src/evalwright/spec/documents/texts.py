"""A file of a project as text, or the one reason why it cannot be had.

Holds:      UTF-8, with or without its mark; at most 10 MB, read no further; every line ends in a
            plain newline, so that lines count as in an editor.
Does not:   guess at other encodings.
"""

import os
import re
from pathlib import Path as FilePath
from typing import NamedTuple

from msgspec import Struct

MOST_BYTES = 10_000_000
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ENDS = re.compile(r"\r\n?")


class Text(NamedTuple):
    """What a file says."""

    text: str
    path: str
    """To open it, and to find its neighbours."""
    shown: str
    """To name it: from the current folder if it is below, else as it was given."""


class NoText(Struct, frozen=True):
    """Why there is no text."""

    rule: str
    detail: str
    hint: str = ""
    line: int = 1


def read_text(path: str) -> Text | NoText:
    """The text of a file; any kind of failure is the second."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path may have a NUL byte
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        return NoText("unreadable", _why(error))
    except ValueError as error:  # a NUL byte in the path
        return NoText("unreadable", str(error))
    if len(data) > MOST_BYTES:
        return NoText(
            "too_large",
            f"expected at most {MOST_BYTES // 1_000_000} MB, the file is larger",
            "put data into a dataset file, not into a document",
        )
    return _decoded(data, path)


def shown(path: str) -> str:
    """A path as messages name it."""
    tidy = os.path.normpath(path)
    if "\0" in path or os.path.realpath(tidy) != os.path.realpath(path):
        return path  # `link/..` is not where it seems
    if FilePath(tidy).is_absolute():
        try:
            tidy = str(FilePath(tidy).relative_to(FilePath.cwd()))
        except (ValueError, OSError):  # it is elsewhere; or there is no current folder any more
            return tidy
    return tidy


def beside(file: str, written: str) -> str:
    """The path that is written in a file, relative to that file."""
    return os.path.join(os.path.dirname(file), written)  # noqa: PTH118, PTH120 - `..` must stay


def _decoded(data: bytes, path: str) -> Text | NoText:
    if data.startswith(_UTF_16):
        return NoText("not_text", "expected UTF-8, the file is UTF-16", "save it as UTF-8")
    if b"\0" in data:
        return NoText("not_text", "expected text, the file is binary", line=_line(data, b"\0"))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        return NoText(
            "not_text",
            f"expected UTF-8, the byte 0x{byte:02x} is not",
            "save it as UTF-8",
            data.count(b"\n", 0, error.start) + 1,
        )
    if "\r" in text:
        text = _ENDS.sub("\n", text)
    return Text(text, path, shown(path))


def _line(data: bytes, what: bytes) -> int:
    return data.count(b"\n", 0, data.index(what)) + 1


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "expected a file, it is a directory"
    if isinstance(error, PermissionError):
        return "the file may not be read: permission denied"
    return f"the file cannot be read: {error.strerror or error}"
