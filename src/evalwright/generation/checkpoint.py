"""The checkpoint of a generated file: the rows so far, which survive the death of the process.

    quiz-3f2a….jsonl.part    one line per finished row of the data source, written when it finishes,
                             and one line per reply if a row needs several

An incomplete last line is dropped. Only one process at a time can open a checkpoint.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOSPC
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from evalwright.errors import EvalwrightError
from evalwright.types import Usage

_SYNC_EVERY = 64


class CheckpointRecord(Struct, frozen=True, omit_defaults=True):
    """A line of the checkpoint: the rows generated from one row of the data source."""

    place: int
    rows: list[dict[str, Any]] | None = None
    """None for a failure."""
    usage: dict[str, Usage] = {}
    """Usage per model, including failed rows."""
    step: str = ""
    """For an intermediate reply: the synthesizer that returned these rows, and its input row."""


class Checkpoint:
    """The rows of the data source that are finished."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path, self._file = path, file
        self._offsets: dict[int, int] = {}
        self._row_counts: dict[int, int] = {}
        self.n_rows = 0
        """Number of generated rows."""
        self._leading_places = self._leading_rows = 0
        self._steps: dict[int, dict[str, int]] = {}
        """Intermediate replies for unfinished rows."""
        self.attempts: dict[int, int] = {}
        """Number of failures of each row."""
        self.usages: list[dict[str, Usage]] = []
        self._unsynced = 0
        self._load()

    @property
    def n_done(self) -> int:
        """Number of finished rows of the data source."""
        return len(self._offsets)

    @property
    def last_place(self) -> int:
        """Position of the last finished row of the data source; -1 if there is none."""
        return max(self._offsets, default=-1)

    def count_leading_rows(self) -> int:
        """Count the generated rows before the first unfinished row of the data source."""
        while self.is_done(self._leading_places):
            self._leading_rows += self._row_counts[self._leading_places]
            self._leading_places += 1
        return self._leading_rows

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
        """Write a record; `EvalwrightError` if writing fails."""
        offset = self._file.seek(0, os.SEEK_END)
        line = msgspec.json.encode(record) + b"\n"
        try:
            if self._file.write(line) < len(line):
                raise OSError(ENOSPC, os.strerror(ENOSPC))  # noqa: TRY301 - the disk is full
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                os.fsync(self._file.fileno())
                self._unsynced = 0
        except OSError as error:
            self._truncate(offset)
            raise explain_write_error(self._path, error) from error
        self._index(record, offset)

    def clear(self) -> None:
        """Remove all records."""
        self._truncate(0)
        self._offsets.clear()
        self._row_counts.clear()
        self.n_rows = self._leading_places = self._leading_rows = 0
        self._steps.clear()
        self.attempts.clear()
        self.usages.clear()

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each row with the position of its row in the data source."""
        with self._path.open("rb") as reader:  # a new reader: the file may have been truncated
            for place in sorted(self._offsets):
                reader.seek(self._offsets[place])
                record = msgspec.json.decode(reader.readline(), type=CheckpointRecord)
                yield from ((place, row) for row in record.rows or ())

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
        self._truncate(offset)  # drop an incomplete line

    def _index(self, record: CheckpointRecord, offset: int) -> None:
        self.usages.append(record.usage)
        if record.step:
            self._steps.setdefault(record.place, {})[record.step] = offset
        elif record.rows is None:
            self.attempts[record.place] = self.attempts.get(record.place, 0) + 1
        else:
            self._offsets[record.place] = offset
            self.n_rows += len(record.rows) - self._row_counts.get(record.place, 0)
            self._row_counts[record.place] = len(record.rows)
            self._steps.pop(record.place, None)

    def _truncate(self, offset: int) -> None:
        os.ftruncate(self._file.fileno(), offset)


@contextmanager
def open_checkpoint(path: Path) -> Iterator[Checkpoint]:
    """Open and lock the checkpoint of `path`; `EvalwrightError` if another process holds it."""
    checkpoint_file = checkpoint_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = checkpoint_file.open("ab", buffering=0)
    except OSError as error:
        raise explain_write_error(checkpoint_file, error) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise EvalwrightError(
                f"{path}: another process is generating these rows",
                hint="wait until it has finished, then run the command again",
            ) from error
        yield Checkpoint(checkpoint_file, file)


def checkpoint_path(path: Path) -> Path:
    """Return the path of a file's checkpoint."""
    return path.with_name(f"{path.name}.part")


def explain_write_error(path: Path, error: OSError) -> EvalwrightError:
    """Return the error for a failed write."""
    reason = error.strerror or str(error)
    return EvalwrightError(
        f"{path}: cannot be written: {reason}",
        hint="finished rows are kept: free some disk space and run the command again",
    )
