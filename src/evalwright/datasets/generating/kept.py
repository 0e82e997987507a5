"""The file that rows are kept in while they are made, and the one that they lie in afterwards.

    quiz-3f2a….jsonl         all rows, in their order; there when all are made, and not before
    quiz-3f2a….jsonl.part    a line for every row of the source that is done, as it lands; and for
                             each answer on the way, where one row takes several

Holds:      what has landed survives the death of the process, and is not made again; a last line
            that was cut is let go; two processes never make the same rows at once.
Does not:   keep a failure: that row is tried again. What it is remembered by is how often it was
            tried, so that a cached reply which was no use is not taken again.
"""

import fcntl
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

import msgspec
from msgspec import Struct

from evalwright.errors import EvalwrightError
from evalwright.types import Usage

_SYNC_EVERY = 64
_FULL = "what is done is kept: make room, and run again"


class Landed(Struct, frozen=True, omit_defaults=True):
    """What became of one row of the source."""

    place: int
    rows: list[dict[str, Any]] | None = None
    """None for a failure."""
    usage: dict[str, Usage] = {}
    """What models took for it, failed or not."""
    step: str = ""
    """Where the row is not done yet: which synthesizer made these rows, and of which."""


class Part:
    """The rows that are done so far."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._offsets: dict[int, int] = {}
        self._steps: dict[int, dict[str, int]] = {}
        """Of rows that are not done."""
        self.attempts: dict[int, int] = {}
        """How often a row was tried in vain."""
        self.spent: list[dict[str, Usage]] = []
        self._unsynced = 0
        self._read()

    @property
    def done(self) -> int:
        """How many rows of the source."""
        return len(self._offsets)

    def has(self, place: int) -> bool:
        """Whether a row of the source is done."""
        return place in self._offsets

    def made(self, place: int, step: str) -> list[dict[str, Any]] | None:
        """What a step on the way to a row has made; None if it has not been taken."""
        offset = self._steps.get(place, {}).get(step)
        if offset is None:
            return None
        with self._path.open("rb") as reader:
            reader.seek(offset)
            return msgspec.json.decode(reader.readline(), type=Landed).rows

    def add(self, landed: Landed) -> None:
        """Keep it; `EvalwrightError` if the disk does not take it."""
        offset = self._file.seek(0, os.SEEK_END)
        line = msgspec.json.encode(landed) + b"\n"
        try:
            self._write(line)
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                os.fsync(self._file.fileno())
                self._unsynced = 0
        except OSError as error:
            self._back_to(offset)
            raise _unwritable(self._path, error) from error
        self._know(landed, offset)

    def clear(self) -> None:
        """Begin anew."""
        self._back_to(0)
        self._offsets.clear()
        self._steps.clear()
        self.attempts.clear()
        self.spent.clear()

    def rows(self) -> Iterator[dict[str, Any]]:
        """All that was made, in the order of the source."""
        return (row for _, row in self.placed())

    def placed(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The same, each with the place of the row that it was made of."""
        with self._path.open("rb") as reader:  # anew: what is buffered may have been cut since
            for place in sorted(self._offsets):
                reader.seek(self._offsets[place])
                landed = msgspec.json.decode(reader.readline(), type=Landed)
                yield from ((place, row) for row in landed.rows or ())

    def _write(self, line: bytes) -> None:
        if self._file.write(line) < len(line):  # as much as there was room for
            raise OSError(ENOSPC, os.strerror(ENOSPC))

    def _read(self) -> None:
        offset = 0
        with self._path.open("rb") as reader:
            for line in reader:
                try:
                    landed = msgspec.json.decode(line, type=Landed)
                except msgspec.MsgspecError:
                    break
                if not line.endswith(b"\n"):
                    break
                self._know(landed, offset)
                offset += len(line)
        self._back_to(offset)  # the end, or a line that was cut

    def _know(self, landed: Landed, offset: int) -> None:
        self.spent.append(landed.usage)
        if landed.step:
            self._steps.setdefault(landed.place, {})[landed.step] = offset
        elif landed.rows is None:
            self.attempts[landed.place] = self.attempts.get(landed.place, 0) + 1
        else:
            self._offsets[landed.place] = offset
            self._steps.pop(landed.place, None)

    def _back_to(self, offset: int) -> None:
        os.ftruncate(self._file.fileno(), offset)


def writable(row: dict[str, Any]) -> dict[str, Any]:
    """A row as a file has it: a NaN is no value; ValueError for what is no JSON."""
    made = {name: one for name, one in row.items() if not _is_nan(one)}
    if not made:
        raise ValueError("the row has no columns")
    try:
        json.dumps(made, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("a text of the row has half a surrogate pair in it") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the row cannot be written as JSON: {error}") from error
    return made


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


@contextmanager
def part_of(path: Path) -> Iterator[Part]:
    """The rows of `path` that are done so far; `EvalwrightError` if another process makes them."""
    beside = part_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = beside.open("ab", buffering=0)
    except OSError as error:
        raise _unwritable(beside, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise EvalwrightError(
                f"{path}: another process is making these rows", hint="wait for it, then run again"
            ) from error
        yield Part(beside, file)


def part_path(path: Path) -> Path:
    """Where the rows of a file lie while they are made."""
    return path.with_name(f"{path.name}.part")


def write_whole(path: Path, lines: Iterator[bytes]) -> int:
    """A file that is there when all of it is; how many lines it has."""
    count = 0
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".tmp", delete=False) as file:
            try:
                for line in lines:
                    file.write(line + b"\n")
                    count += 1
                file.flush()
                os.fsync(file.fileno())
                if count:
                    Path(file.name).replace(path)
            finally:
                Path(file.name).unlink(missing_ok=True)  # unless it has its name by now
    except OSError as error:
        raise _unwritable(path, error) from error
    return count


def _unwritable(path: Path, error: OSError) -> EvalwrightError:
    why = error.strerror or str(error)
    return EvalwrightError(f"{path}: cannot be written: {why}", hint=_FULL)
