"""Several processes that work on one run, so that each job is done by one of them.

    owners   one row per process that works on a run
    claims   one row per job that such a process has taken, and not stored yet

A process that is alone with its run owns all of its jobs, and writes no claims. If a second one
joins, it takes no job until the first has acknowledged it: in one transaction, the first writes
claims for its jobs in flight, and from then on claims each job before it takes it.

Claims of a process that has ended are dropped: at once if it was in the same place, otherwise when
its `beat` has not changed for `LEASE_S`. That time is the observer's own: the clocks of processes
are never compared, and time in which the observer could not look does not count. A process id is
reused, so the time at which the process started belongs to its identity.

Promises:  a claim is given to one process; a job whose outcome another process has stored since
           this one joined is not given again.
Does not:  keep a process that was stopped for longer than the lease from requesting its jobs in
           flight, which another process may have taken over.
"""

import os
import platform
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from evalwright.ports import JobClaim, JobId
from evalwright.store.connection import SqliteConnection
from evalwright.store.tables import encode_text
from evalwright.types import Usage

LEASE_S = 120.0
_BEAT_S = 5.0
_LONGEST_LOOK_S = 2.0
"""Time between two looks at other processes that counts at most."""

_OTHERS = """SELECT number, place, pid, started, beat, shares FROM owners
    WHERE run = ? AND number != ?"""
_JOIN = "INSERT INTO owners (run, place, pid, started, since, beat, shares) VALUES (?,?,?,?,?,0,?)"
_NAME = "(SELECT number FROM names WHERE name = ?)"
_DONE = f"""SELECT requests, prompt_tokens, completion_tokens, cost FROM outcomes
    WHERE run = ? AND task = {_NAME} AND ordinal = ? AND trial = ? AND model = {_NAME}
    AND number > ?"""  # noqa: S608 - no input
_KEY = "run = ? AND task = ? AND ordinal = ? AND trial = ? AND model = ?"
_DROP = f"DELETE FROM claims WHERE {_KEY}"  # noqa: S608 - no input
_OWNER = f"SELECT owner FROM claims WHERE {_KEY}"  # noqa: S608 - no input


class ProcessIdentity(Struct, frozen=True):
    """One process, on all machines and at all times."""

    place: str
    """Machine, its last start, and the container."""
    pid: int
    started: str = ""
    """When it started, as the kernel counts; empty if the platform does not tell."""


class _Observed(Struct):
    """How long the beat of another process has not changed."""

    beat: int
    seconds: float = 0.0


class SqliteMembership:
    """The part of this process in a run of a SQLite store."""

    def __init__(
        self,
        writer: SqliteConnection,
        reader: SqliteConnection,
        run: int,
        *,
        on_share: Callable[[int], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer, self._reader, self._run = writer, reader, run
        self._clock = clock
        self._on_share = on_share
        self._observed: dict[int, _Observed] = {}
        self._looked = self._beaten = clock()
        self._me = identify_process()
        self._number = 0
        with writer.transaction() as file:
            ((self._since,),) = file.execute("SELECT ifnull(max(number), 0) FROM outcomes")
            for number, process, *_ in self._read_others(file):
                if is_gone(process):
                    _remove(file, number)
            others = len(self._read_others(file))
            ((first,),) = file.execute("SELECT min(since) FROM owners WHERE run = ?", (run,))
            self._first = self._since if first is None else first
            self._register(file, shares=others > 0)
        self.is_shared = others > 0
        if self.is_shared:
            on_share(run)

    def _register(self, file: sqlite3.Connection, *, shares: bool) -> None:
        me = self._me
        row = (self._run, me.place, me.pid, me.started, self._since, shares)
        self._number = int(file.execute(_JOIN, row).lastrowid or 0)

    def has_others(self) -> bool:
        """Whether another process works on the run, or has not said that it has ended."""
        return bool(self._reader.execute(_OTHERS, (self._run, self._number)))

    def count_earlier(self) -> int:
        """Return how many outcomes the run had before any of its current processes joined."""
        sql = "SELECT count(*) FROM outcomes WHERE run = ? AND number <= ?"
        ((count,),) = self._reader.execute(sql, (self._run, self._first))
        return int(count)

    def share(self, jobs: Sequence[JobId]) -> None:
        """Claim the jobs in flight, and tell the others that all jobs are claimed from now on."""
        self._on_share(self._run)
        self.is_shared = True
        with self._writer.transaction() as file:
            for job in jobs:
                self._claim(file, job)
            file.execute("UPDATE owners SET shares = 1 WHERE number = ?", (self._number,))

    def is_ready(self) -> bool:
        """Whether every other process claims its jobs: before that, none may be taken."""
        self._look()
        return all(shares for *_, shares in self._reader.execute(_OTHERS, self._which))

    def claim(self, jobs: Sequence[JobId]) -> list[JobClaim]:
        """Claim jobs, in one transaction."""
        with self._writer.transaction() as file:
            return [self._claim(file, job) for job in jobs]

    def others_claim(self) -> bool:
        """Whether another process has claimed a job, and has not ended since."""
        self._look()
        sql = "SELECT 1 FROM claims WHERE run = ? AND owner != ? LIMIT 1"
        return bool(self._reader.execute(sql, self._which))

    def renew(self, jobs: Sequence[JobId]) -> None:
        """Show that this process lives; `jobs` are claimed again if others thought that it ended.

        Also drops the claims of processes that have ended.
        """
        self._look()
        now = self._clock()
        if now - self._beaten < _BEAT_S:
            return
        self._beaten = now
        sql = "UPDATE owners SET beat = beat + 1 WHERE number = ?"
        with self._writer.transaction() as file:
            if not file.execute(sql, (self._number,)).rowcount:
                self._register(file, shares=True)
                for job in jobs:
                    self._claim(file, job)

    def release(self) -> None:
        """Give up all claims."""
        with self._writer.transaction() as file:
            file.execute("DELETE FROM claims WHERE owner = ?", (self._number,))

    def leave(self) -> None:
        """Give up all claims, and stop working on the run."""
        with self._writer.transaction() as file:
            _remove(file, self._number)

    @property
    def _which(self) -> tuple[int, int]:
        return self._run, self._number

    def _claim(self, file: sqlite3.Connection, job: JobId) -> JobClaim:
        key = _claim_key(self._run, job)
        _, task, ordinal, trial, model = key
        done = file.execute(_DONE, (self._run, task, ordinal, trial, model, self._since)).fetchall()
        if done:
            return JobClaim(state="done", usage=Usage(*done[0]))
        sql = "INSERT OR IGNORE INTO claims VALUES (?, ?, ?, ?, ?, ?)"
        if file.execute(sql, (*key, self._number)).rowcount:
            return JobClaim(state="mine")
        ((owner,),) = file.execute(_OWNER, key).fetchall()
        return JobClaim(state="mine" if owner == self._number else "theirs")

    def _read_others(
        self, file: sqlite3.Connection | SqliteConnection
    ) -> list[tuple[int, ProcessIdentity, int]]:
        return [
            (number, ProcessIdentity(place, pid, started), beat)
            for number, place, pid, started, beat, _ in list(file.execute(_OTHERS, self._which))
        ]

    def _look(self) -> None:
        """Remove processes that have ended, with their claims."""
        now = self._clock()
        elapsed = min(now - self._looked, _LONGEST_LOOK_S)
        self._looked = now
        for number, process, beat in self._read_others(self._reader):
            observed = self._observed.setdefault(number, _Observed(beat))
            if observed.beat != beat:
                self._observed[number] = _Observed(beat)
                continue
            observed.seconds += elapsed
            if is_gone(process) or observed.seconds > LEASE_S:
                with self._writer.transaction() as file:
                    sql = "SELECT 1 FROM owners WHERE number = ? AND beat = ?"
                    if file.execute(sql, (number, beat)).fetchall():
                        _remove(file, number)


def _claim_key(run: int, job: JobId) -> tuple[Any, ...]:
    task, model, ordinal, trial = job
    return run, encode_text(task), ordinal, trial, encode_text(model)


def _remove(file: sqlite3.Connection, owner: int) -> None:
    file.execute("DELETE FROM owners WHERE number = ?", (owner,))
    file.execute("DELETE FROM claims WHERE owner = ?", (owner,))


def drop_claims(file: sqlite3.Connection, run: int, jobs: Sequence[JobId]) -> None:
    """Drop the claims of jobs whose outcomes are stored in this transaction."""
    file.executemany(_DROP, [_claim_key(run, job) for job in jobs])


def identify_process() -> ProcessIdentity:
    """Return the identity of this process."""
    pid = os.getpid()
    return ProcessIdentity(_read_place(), pid, _read_start(pid) or "")


def is_gone(process: ProcessIdentity) -> bool:
    """Whether a process has certainly ended. Of a process in another place, nothing is certain."""
    if process.place != _read_place():
        return False
    if process.started:
        return _read_start(process.pid) != process.started
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # of another user
        return False
    return False


@cache
def _read_place() -> str:
    parts = [platform.node()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:  # not Linux
        pass
    return "/".join(parts)


def _read_start(pid: int) -> str | None:
    """Return when a process started; None if it has ended, or the platform does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, start = fields[0], fields[19]
    return None if state in {b"Z", b"X"} else start.decode()
