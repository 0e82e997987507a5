"""Notice files that change while a run uses them.

Rows are read again when they are run, and a changed file stops the run. Documents, and files whose
last row is in flight, are used no more: for these, the run only has to say that they have changed.

Does not:  notice a change that keeps the size and the time of the file.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from stat import S_ISREG

from msgspec import Struct

_SIZE = 2
_MOST_DIGESTED = 1_000_000


class InputFile(Struct, frozen=True):
    """A file, and what it was when the plan was compiled."""

    path: str
    identity: tuple[int, ...]
    content: bytes = b""
    """A digest, unless the file is large."""

    def has_changed(self) -> bool:
        """Whether the content of the file has changed. Writing the same content does not count."""
        if not self.identity or identify_file(self.path) == self.identity:
            return False
        return not self.content or _digest_small_file(self.path) != self.content


def identify_file(path: str) -> tuple[int, ...]:
    """Return device, inode, size and time of a regular file; nothing if there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - faster, and takes any text
    except (OSError, ValueError):
        return ()
    if not S_ISREG(status.st_mode):
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def watch_files(paths: Iterable[str]) -> tuple[InputFile, ...]:
    """Return each file as it is now."""
    return tuple(
        InputFile(path, identify_file(path), _digest_small_file(path))
        for path in dict.fromkeys(paths)
    )


def _digest_small_file(path: str) -> bytes:
    identity = identify_file(path)
    if not identity or identity[_SIZE] > _MOST_DIGESTED:
        return b""
    with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123 - takes any text
        return blake2b(file.read(_MOST_DIGESTED + 1)).digest()
    return b""


def describe_change(path: str) -> str:
    """Return what a reader of the results must know."""
    return f"{path} changed during the run: the results are of its earlier content"


def find_changed_files(files: Iterable[InputFile]) -> list[str]:
    """Return the paths of the files that are no longer what they were."""
    return [file.path for file in files if file.has_changed()]
