"""Read text files, and the files that a document includes.

    long_description: !include README.md       the text, without surrounding whitespace
    definition:
      $ref: definitions/qa.yaml                the values

A file must be UTF-8, with or without a byte order mark, and at most 10 MB. Line endings are
converted to newlines, so line numbers match those in editors.

Paths are relative to the file that contains them. With symbolic links resolved, they must refer to
a regular file in the project or below a folder of `--include-root`. A document therefore cannot
read other files on the machine, and a named pipe or a device cannot block reading.

Keys next to `$ref` are merged with the keys in the file, one level deep. If both have a key, the
value in the file is used. A `$ref` may be an item of a list. It remains one item, even if the file
contains a list.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from evalwright.components import Authored

MAX_BYTES = 10_000_000
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ENDS = re.compile(r"\r\n?")
INCLUDE_TAG = "!include"
REF_KEY = "$ref"
MAX_REFS = 20
"""Maximum length of a chain of files that refer to each other."""


class TextFile(NamedTuple):
    """The text of a file."""

    text: str
    path: str
    """Path for opening the file and resolving paths in it."""
    shown: str
    """Path for messages: relative to the current folder if possible, otherwise as given."""


class Mistake(Struct, frozen=True):
    """The reason why a text or a value cannot be read."""

    rule: str
    detail: str
    hint: str = ""
    line: int = 1
    column: int | None = None


_more_roots: ContextVar[tuple[str, ...]] = ContextVar("_more_roots", default=())


@contextmanager
def allow_includes_below(folders: Iterable[str]) -> Iterator[None]:
    """Allow documents to include files below these folders."""
    token = _more_roots.set((*_more_roots.get(), *map(os.path.realpath, folders)))
    try:
        yield
    finally:
        _more_roots.reset(token)


def list_include_roots(root: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the folders from which the documents of a project may include files."""
    return (os.path.realpath(root), *_more_roots.get())


def read_text(path: str, *, takes_pipes: bool = False) -> TextFile | Mistake:
    """Return the text of a file, or the reason why it cannot be read.

    Named pipes and devices are rejected unless `takes_pipes` is true, because opening them may
    block forever.
    """
    try:
        if not takes_pipes and (kind := _special_file(path)):
            return Mistake("unreadable", f"expected a regular file, got {kind}")
        with open(path, "rb") as file:  # noqa: PTH123 - a path may have a NUL byte
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return Mistake("unreadable", _explain_os_error(error))
    except ValueError as error:  # a NUL byte in the path
        return Mistake("unreadable", str(error))
    if len(data) > MAX_BYTES:
        return Mistake(
            "too_large",
            f"expected at most {MAX_BYTES // 1_000_000} MB, but the file is larger",
            "move data to a dataset file",
        )
    return _decode(data, path)


def _special_file(path: str) -> str:
    """Return the type of a special file; empty for regular files and directories."""
    mode = os.stat(path).st_mode  # noqa: PTH116 - a path may have a NUL byte
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return ""
    if stat.S_ISFIFO(mode):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"


def check_inside(written: str, file: str, roots: Sequence[str]) -> str:
    """Return why a path in a document may not be included; `""` if it may."""
    try:
        real = Path(os.path.realpath(path_beside(file, written)))
    except (OSError, ValueError):
        # A NUL byte in the path, which is reported when the file is opened.
        return ""
    if any(real.is_relative_to(root) for root in roots):
        return ""
    return f"it is outside the project `{display_path(roots[0])}`"


OUTSIDE_HINT = "copy it into the project, or allow its folder with `--include-root DIR`"


def display_path(path: str) -> str:
    """Return a path for messages."""
    normalized = os.path.normpath(path)
    if "\0" in path or os.path.realpath(normalized) != os.path.realpath(path):
        return path  # `link/..` may be a different folder
    if Path(normalized).is_absolute():
        try:
            normalized = str(Path(normalized).relative_to(Path.cwd()))
        except (ValueError, OSError):
            # Not below the current folder, or the current folder was deleted.
            return normalized
    return normalized


def path_beside(file: str, written: str) -> str:
    """Resolve a path relative to the file that contains it."""
    return os.path.join(os.path.dirname(file), written)  # noqa: PTH118, PTH120 - `..` must stay


def _decode(data: bytes, path: str) -> TextFile | Mistake:
    if data.startswith(_UTF_16):
        return Mistake("not_text", "expected UTF-8, but the file is UTF-16", "save it as UTF-8")
    if (start := data.find(b"\0")) >= 0:
        return Mistake("not_text", "expected text, but the file is binary", line=_line(data, start))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = f"expected UTF-8, but byte 0x{data[error.start]:02x} is invalid"
        return Mistake("not_text", detail, "save it as UTF-8", _line(data, error.start))
    if "\r" in text:
        text = _ENDS.sub("\n", text)
    return TextFile(text, path, display_path(path))


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _explain_os_error(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "expected a file, got a directory"
    if isinstance(error, PermissionError):
        return "the file cannot be read: permission denied"
    return f"the file cannot be read: {error.strerror or error}"


def read_include(written: str, file: str, roots: Sequence[str]) -> Authored | Mistake:
    """Return the text of a file with the place of its first non-blank line."""
    if not written.strip():
        return Mistake("bad_include", "expected the path of a file after `!include`")
    if wrong := check_inside(written.strip(), file, roots):
        return Mistake("bad_include", f"`{written}`: {wrong}", OUTSIDE_HINT)
    read = read_text(path_beside(file, written.strip()))
    if isinstance(read, Mistake):
        return explain_unreadable("bad_include", written, read)
    text = read.text.strip()
    before = read.text[: len(read.text) - len(read.text.lstrip())]
    return Authored(text, file=read.shown, line=before.count("\n") + 1)


def check_ref(written: object) -> Mistake | None:
    """Return why this is not a valid reference, if this is known without opening a file."""
    if not isinstance(written, str) or not written.strip() or "\0" in written:
        return Mistake("bad_ref", f"expected the path of a YAML file, got `{written!r}`")
    if "://" in written:
        return Mistake(
            "bad_ref",
            "expected the path of a file, got a URL",
            "download a copy next to this document",
        )
    if "#" in written:
        return Mistake(
            "bad_ref",
            f"expected the path of a whole file, got the fragment `{written}`",
            "move the part to its own file",
        )
    return None


def explain_unreadable(rule: str, written: str, mistake: Mistake) -> Mistake:
    """Return the mistake for the place of the path in the including file."""
    line = f":{mistake.line}" if mistake.line > 1 else ""
    return Mistake(rule, f"`{written}{line}`: {mistake.detail}", mistake.hint)
