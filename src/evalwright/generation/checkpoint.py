"""The checkpoint of a generation, and the file that holds its rows in the end.

    quiz-3f2a….jsonl         all rows, in order; exists only when all are made
    quiz-3f2a….jsonl.part    the checkpoint: one line per finished row of the data source, written
                             as it finishes, and one line per reply, where a row takes several

Holds:      a finished row survives the death of the process and is not made again; a last line that
            was cut is dropped; two processes never make the same rows at once.
Does not:   record a failed row as done: it is tried again. Its attempts are counted, so that a
            cached reply that was unusable is not used again.
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
_DISK_HINT = "what is done is kept: make room, and run again"


class CheckpointRecord(Struct, frozen=True, omit_defaults=True):
    """A line of the checkpoint: the rows made from one row of the data source."""

    place: int
    rows: list[dict[str, Any]] | None = None
    """None for a failure."""
    usage: dict[str, Usage] = {}
    """Per model, failed or not."""
    step: str = ""
    """For an intermediate reply: which synthesizer made these rows, and from which row."""


class Checkpoint:
    """The rows of the data source that are finished so far."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._offsets: dict[int, int] = {}
        self._steps: dict[int, dict[str, int]] = {}
        """Intermediate replies of rows that are not finished."""
        self.attempts: dict[int, int] = {}
        """How often each row has failed."""
        self.usages: list[dict[str, Usage]] = []
        self._unsynced = 0
        self._load()

    @property
    def done(self) -> int:
        """The number of finished rows of the data source."""
        return len(self._offsets)

    def is_done(self, place: int) -> bool:
        """Whether a row of the data source is finished."""
        return place in self._offsets

    def find_step(self, place: int, step: str) -> list[dict[str, Any]] | None:
        """Return the rows of an intermediate step; None if it was not recorded."""
        offset = self._steps.get(place, {}).get(step)
        if offset is None:
            return None
        with self._path.open("rb") as reader:
            reader.seek(offset)
            return msgspec.json.decode(reader.readline(), type=CheckpointRecord).rows

    def append(self, record: CheckpointRecord) -> None:
        """Write a record; `EvalwrightError` if the disk does not take it."""
        offset = self._file.seek(0, os.SEEK_END)
        line = msgspec.json.encode(record) + b"\n"
        try:
            self._write(line)
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                os.fsync(self._file.fileno())
                self._unsynced = 0
        except OSError as error:
            self._truncate(offset)
            raise _write_error(self._path, error) from error
        self._index(record, offset)

    def clear(self) -> None:
        """Remove all records."""
        self._truncate(0)
        self._offsets.clear()
        self._steps.clear()
        self.attempts.clear()
        self.usages.clear()

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all rows that were made, in the order of the data source."""
        return (row for _, row in self.rows_with_places())

    def rows_with_places(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row with the place of the row of the data source that it was made from."""
        with self._path.open("rb") as reader:  # a new reader: the file may have been truncated
            for place in sorted(self._offsets):
                reader.seek(self._offsets[place])
                record = msgspec.json.decode(reader.readline(), type=CheckpointRecord)
                yield from ((place, row) for row in record.rows or ())

    def _write(self, line: bytes) -> None:
        if self._file.write(line) < len(line):  # the disk is full
            raise OSError(ENOSPC, os.strerror(ENOSPC))

    def _load(self) -> None:
        offset = 0
        with self._path.open("rb") as reader:
            for line in reader:
                try:
                    record = msgspec.json.decode(line, type=CheckpointRecord)
                except msgspec.MsgspecError:
                    break
                if not line.endswith(b"\n"):
                    break
                self._index(record, offset)
                offset += len(line)
        self._truncate(offset)  # drop a line that was cut

    def _index(self, record: CheckpointRecord, offset: int) -> None:
        self.usages.append(record.usage)
        if record.step:
            self._steps.setdefault(record.place, {})[record.step] = offset
        elif record.rows is None:
            self.attempts[record.place] = self.attempts.get(record.place, 0) + 1
        else:
            self._offsets[record.place] = offset
            self._steps.pop(record.place, None)

    def _truncate(self, offset: int) -> None:
        os.ftruncate(self._file.fileno(), offset)


def to_json_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row without NaN columns; ValueError if it is not JSON."""
    columns = {
        name: value
        for name, value in row.items()
        if not (isinstance(value, float) and math.isnan(value))
    }
    if not columns:
        raise ValueError("the row has no columns")
    try:
        json.dumps(columns, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("a text of the row has half a surrogate pair in it") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the row cannot be written as JSON: {error}") from error
    return columns


@contextmanager
def open_checkpoint(path: Path) -> Iterator[Checkpoint]:
    """Open and lock the checkpoint of `path`; `EvalwrightError` if another process has it."""
    checkpoint_file = checkpoint_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = checkpoint_file.open("ab", buffering=0)
    except OSError as error:
        raise _write_error(checkpoint_file, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise EvalwrightError(
                f"{path}: another process is making these rows", hint="wait for it, then run again"
            ) from error
        yield Checkpoint(checkpoint_file, file)


def checkpoint_path(path: Path) -> Path:
    """Return the path of the checkpoint of a file of rows."""
    return path.with_name(f"{path.name}.part")


def write_atomically(path: Path, lines: Iterator[bytes]) -> int:
    """Write a file that exists only when it is complete; return its number of lines."""
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
                Path(file.name).unlink(missing_ok=True)  # if it was not renamed
    except OSError as error:
        raise _write_error(path, error) from error
    return count


def _write_error(path: Path, error: OSError) -> EvalwrightError:
    reason = error.strerror or str(error)
    return EvalwrightError(f"{path}: cannot be written: {reason}", hint=_DISK_HINT)
