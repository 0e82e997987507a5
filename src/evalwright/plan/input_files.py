"""Notice files that change while a run uses them.

Rows are read again when they are run, and a changed file stops the run. Documents, and files whose
last row is in flight, are used no more: for these, the run only has to say that they have changed.

Does not:  notice a change that keeps the size and the time of the file.
"""

import os
from collections.abc import Iterable
from stat import S_ISREG

from msgspec import Struct


class InputFile(Struct, frozen=True):
    """A file, and what it was when the plan was compiled."""

    path: str
    identity: tuple[int, ...]


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
    return tuple(InputFile(path, identify_file(path)) for path in dict.fromkeys(paths))


def describe_change(path: str) -> str:
    """Return what a reader of the results must know."""
    return f"{path} changed during the run: the results are of its earlier content"


def find_changed_files(files: Iterable[InputFile]) -> list[str]:
    """Return the paths of the files that are no longer what they were."""
    return [
        file.path for file in files if file.identity and identify_file(file.path) != file.identity
    ]
