"""The store that needs no server: one SQLite file, and its WAL beside it.

Promises:  what `append` has returned from survives `kill -9`; with `durable`, a machine that loses
           power. A full disk, a lock that is not let go, a file of a newer version: one
           `StoreError`, and nothing that was kept is lost. Several processes may use one file.
           Memory does not grow with a run: it is read in pieces, and no reader holds the WAL.
Does not:  give one consistent view over a whole iteration while another process appends to the
           same run: each piece is consistent in itself, and no job comes twice. By its key, what
           another process appends is found from the next opening on, or earlier.

The body of an outcome is the truth; its scalars are a copy, for asking.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from evalwright.errors import StoreError, Unreadable
from evalwright.lines import show_path
from evalwright.ports import Manifest
from evalwright.store.bodies import (
    ScoredBody,
    SolvedBody,
    UnreadableBody,
    pack,
    pack_body,
    unpack,
)
from evalwright.store.connection import (
    Access,
    Opener,
    SqliteConnection,
    create_database,
    damage_hint,
    prepare_reading,
)
from evalwright.store.files import check_files
from evalwright.store.membership import SqliteMembership, drop_claims
from evalwright.store.scalars import (
    RunLabels,
    current_time,
    match_run_id,
    scalars_of,
    unknown_run_error,
)
from evalwright.store.tables import (
    OUTCOME_COLUMNS,
    ROW_COLUMNS,
    STORE_SCHEMA,
    Names,
    Query,
    build_outcome,
    build_row,
    decode_text,
    encode_text,
    hash_key,
    read_pieces,
)
from evalwright.types import Outcome, Row, Run, RunStatus, Score, Trace, first_number

T = TypeVar("T")

_WAIT_S = 30.0
_SWEPT_AT_ONCE = 5000
_FOLDED_AT_ONCE = 16384
_BODIES_AT_ONCE = 100

_NUMBER = "SELECT number FROM runs WHERE id = ?"
_RUN = f"SELECT {', '.join(Run.__struct_fields__)} FROM runs"  # noqa: S608 - no input
_MANIFEST = "SELECT manifest FROM runs WHERE number = ?"
_NAME_NUMBER = "SELECT number FROM names WHERE name = ?"
_IDS = "SELECT id FROM runs ORDER BY updated DESC, number DESC"
_UPDATE = """UPDATE runs SET status = coalesce(?, status), updated = coalesce(?, updated),
    manifest = coalesce(?, manifest) WHERE number = ?"""
_UNDER = """
    SELECT body FROM keys CROSS JOIN bodies ON bodies.outcome = keys.outcome
    CROSS JOIN outcomes ON number = keys.outcome WHERE hash = ?
    ORDER BY task = (SELECT number FROM names WHERE name = ?) DESC, number DESC LIMIT 1 OFFSET ?"""
_LAST = "SELECT ifnull((SELECT max(number) FROM outcomes), 0), outcome FROM folded"
_FOLD = """
    INSERT OR IGNORE INTO keys
    SELECT solve_hash, number FROM outcomes WHERE number > ? AND solve_hash IS NOT NULL
    UNION ALL
    SELECT key_hash, outcome FROM scores WHERE outcome > ? AND key_hash IS NOT NULL ORDER BY 1"""
_COUNT = """
    SELECT count(*), (SELECT count(*) FROM outcomes WHERE run = ? AND failure_stage IS NOT NULL)
    FROM outcomes WHERE run = ?"""
_ORPHANED = "SELECT DISTINCT run FROM outcomes WHERE run NOT IN (SELECT number FROM runs)"
_STORED = "SELECT 1 FROM runs WHERE id = ? AND (SELECT max(number) FROM outcomes) >= ?"
_SWEEP = """
    DELETE FROM outcomes WHERE number IN (SELECT number FROM outcomes WHERE run = ? LIMIT ?)"""
_OF_MODEL = f" AND o.model = ({_NAME_NUMBER})"
_INSERT = f"INSERT OR REPLACE INTO outcomes VALUES (?{', ?' * 21})"  # noqa: S608 - no input


class SqliteStore:
    """The store at `path`; created if it does not exist, unless `create` is off."""

    def __init__(
        self,
        path: str | Path,
        *,
        durable: bool = False,
        wait_s: float = _WAIT_S,
        create: bool = True,
    ) -> None:
        self._path = Path(path).absolute()  # so that no name means anything special to SQLite
        access = Access(wait_s=wait_s, durable=durable, create=False)
        _prepare(self._path, access, create=create)
        with ExitStack() as cleanup:
            open_: Opener = partial(SqliteConnection, self._path, STORE_SCHEMA)
            try:
                self._writer = cleanup.enter_context(closing(open_(access)))
            except Unreadable:
                if create:
                    raise
                open_, access = prepare_reading(self._path, STORE_SCHEMA, access, cleanup)
                self._writer = cleanup.enter_context(closing(open_(access)))
            self._reader = cleanup.enter_context(
                closing(open_(structs.replace(access, durable=False)))
            )
            self._close = cleanup.pop_all().close
        self._numbers: dict[str, int] = {}
        self._is_folded = False
        self._unfolded: set[int | None] = set()  # hashes of what we appended since
        self._names = Names(self._reader)
        self._shared: set[int] = set()  # runs whose jobs are claimed

    def begin(self, run: Run, *, seen: Collection[str] | None = None) -> Run:
        """Add a run, whose id must be new; or return one of the same plan that is not in `seen`."""
        manifest = pack(run.manifest)
        with self._writer.transaction() as file:
            same = file.execute(f"{_RUN} WHERE plan_key = ?", (run.plan_key,)).fetchall()
            for row in same if seen is not None else []:
                if (other := _build_run(*row)).id not in (seen or ()):
                    return other
            if file.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchall():
                raise StoreError(f"{show_path(self._path)}: run `{run.id}` already exists")
            file.execute(
                "INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)",
                (run.id, run.created, run.updated, run.status, run.plan_key, run.parent, manifest),
            )
        self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)")  # even without its log, it is there
        return run

    def join(self, run_id: str) -> SqliteMembership:
        """Begin to work on a run, in which other processes may work too."""
        run = _run_number(self._writer, run_id)
        return SqliteMembership(self._writer, self._reader, run, on_share=self._shared.add)

    def update(
        self, run_id: str, *, status: RunStatus | None = None, manifest: Manifest | None = None
    ) -> None:
        """Change the status of a run and its manifest, by what it is then; the rest stays."""
        with self._writer.transaction() as file:
            number = _run_number(file, run_id)
            if callable(manifest):
                (row,) = file.execute(_MANIFEST, (number,)).fetchall()
                manifest = manifest(unpack(row[0], dict))
            packed = None if manifest is None else pack(manifest)
            file.execute(_UPDATE, (status, status and current_time(), packed, number))

    def runs(self) -> list[Run]:
        """Every run, newest first."""
        rows = self._reader.execute(f"{_RUN} ORDER BY number DESC")
        with self._explain_damage():
            return [_build_run(*row) for row in rows]

    def find(self, name: str) -> Run:
        """The run that `name` means: an id, the start of only one, a name, a tag, or `latest`."""
        ids = [id_ for (id_,) in self._reader.execute(_IDS)]
        run_id = match_run_id(name, ids, self._read_labels)
        with self._explain_damage():
            for row in self._reader.execute(f"{_RUN} WHERE id = ?", (run_id,)):
                return _build_run(*row)
        raise unknown_run_error(run_id)

    def _read_labels(self) -> dict[str, RunLabels]:
        rows = self._reader.execute("SELECT id, manifest FROM runs")
        with self._explain_damage():
            return {id_: unpack(manifest, RunLabels) for id_, manifest in rows}

    def append(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        """Keep all of them or none; each replaces the earlier outcome of its job."""
        newest = {(o.task, o.model, o.ordinal, o.trial): o for o in outcomes}.values()
        bodies = [pack_body(outcome) for outcome in newest]  # before anyone has to wait for us
        if not bodies:
            return
        self._writer.refuse_overwritten_file()
        with self._explain_damage(), self._writer.transaction() as file:
            run = _run_number(file, run_id)
            numbers = self._number_names(file, newest)
            ((last, folded),) = file.execute(_LAST).fetchall()
            first = max(last, folded) + 1  # a number that is folded is never given again
            file.executemany(_INSERT, _outcome_rows(newest, first, run, numbers))
            file.executemany("INSERT INTO bodies VALUES (?, ?)", enumerate(bodies, first))
            scores = list(_score_rows(newest, first, numbers))
            file.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?)", scores)
            if run in self._shared:
                drop_claims(file, run, [(o.task, o.model, o.ordinal, o.trial) for o in newest])
            self._unfolded.update(hash_key(outcome.solve_key) for outcome in newest)
            self._unfolded.update(row[-1] for row in scores)
        self._numbers = numbers
        self._writer.expect(_STORED, (run_id, first + len(bodies) - 1))
        if max(first + len(bodies) - folded, len(self._unfolded) // 4) > _FOLDED_AT_ONCE:
            self._fold()

    def _number_names(
        self, file: sqlite3.Connection, outcomes: Iterable[Outcome]
    ) -> dict[str, int]:
        names = {name for o in outcomes for name in (o.task, o.model, o.group, *o.scores)}
        new = names - self._numbers.keys()
        numbers = dict(self._numbers) if new else self._numbers
        for name in new:
            text = (encode_text(name),)
            file.execute("INSERT OR IGNORE INTO names (name) VALUES (?)", text)
            ((numbers[name],),) = file.execute(_NAME_NUMBER, text).fetchall()
        return numbers

    def list_jobs(self, run_id: str) -> Iterator[tuple[str, str, int, int, bool]]:
        """Task, model, ordinal, trial and whether it failed, for each outcome of a run."""
        query = Query(run=_run_number(self._reader, run_id), columns="o.failure_stage IS NOT NULL")
        return self._read(
            (task, decode_text(model), int(ordinal), int(trial), bool(failed))
            for task, piece in read_pieces(self._reader, query)
            for ordinal, trial, model, failed in piece
        )

    def trace(self, solve_key: str, task: str = "") -> Trace | None:
        """The newest trace under a key, of the task if it has one, whatever failed after it."""
        with self._explain_damage():
            for packed in self._under(solve_key, task):
                body = unpack(packed, SolvedBody)
                if body.solve_key == solve_key and body.trace is not None:
                    return body.trace
        return None

    def score(self, score_key: str, task: str = "") -> Score | None:
        """The newest score under a key, of the task if it has one."""
        with self._explain_damage():
            for packed in self._under(score_key, task):
                body = unpack(packed, ScoredBody)
                for scorer, score in body.scores.items():
                    if body.score_keys.get(scorer) == score_key:
                        return score
        return None

    def _under(self, key: str, task: str) -> Iterator[bytes]:
        """Bodies under the hash of a key, the task's first, the newest first of these."""
        at = hash_key(key)
        if at is None:
            return
        if not self._is_folded or at in self._unfolded:
            self._fold()
        for offset in count():
            rows = self._reader.execute(_UNDER, (at, task, offset))
            if not rows:
                return
            yield rows[0][0]

    def _fold(self) -> None:
        """Bring `keys` up to date with all outcomes, those of other processes included."""
        self._is_folded = False  # and stays so if this breaks
        with self._writer.transaction() as file:
            ((last, folded),) = file.execute(_LAST).fetchall()
            if last > folded:
                file.execute(_FOLD, (folded, folded))
                file.execute("UPDATE folded SET outcome = ?", (last,))
            self._unfolded.clear()
        self._is_folded = True

    def rows(self, run_id: str) -> Iterator[Row]:
        """The scalars of each outcome, by task, ordinal, trial and model."""
        query = Query(run=_run_number(self._reader, run_id), columns=ROW_COLUMNS)
        return self._read(
            build_row(task, self._names, row)
            for task, piece in read_pieces(self._reader, query)
            for row in piece
        )

    def outcomes(  # noqa: PLR0913 - one keyword per filter
        self,
        run_id: str,
        *,
        task: str | None = None,
        model: str | None = None,
        sample_id: str | None = None,
        failed: bool | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[Outcome]:
        """The outcomes themselves, in the order of `rows`: all, or a page of some."""
        wanted, parameters = "", []
        if failed is not None:
            wanted += f" AND o.failure_stage IS {'NOT' if failed else ''} NULL"
        if model is not None:
            wanted += _OF_MODEL
            parameters.append(encode_text(model))
        if sample_id is not None:  # without an index: a scan of the scalars is fast enough
            wanted += " AND o.sample_id = ?"
            parameters.append(encode_text(sample_id))
        query = Query(
            run=_run_number(self._reader, run_id),
            columns=OUTCOME_COLUMNS,
            task=None if task is None else encode_text(task),
            join="CROSS JOIN bodies AS b ON b.outcome = o.number",
            wanted=wanted,
            parameters=tuple(parameters),
            piece=_BODIES_AT_ONCE,
        )
        pieces = read_pieces(self._reader, query, offset=offset, limit=limit)
        return self._read(
            build_outcome(name, self._names, row) for name, piece in pieces for row in piece
        )

    def count(self, run_id: str) -> tuple[int, int]:
        """How many outcomes a run has, and how many of them failed."""
        run = _run_number(self._reader, run_id)
        ((every, failed),) = self._reader.execute(_COUNT, (run, run))
        return every, failed

    def delete(self, run_id: str) -> int:
        """Forget a run, and then its outcomes: half a run must never look like a whole one."""
        with self._writer.transaction() as file:
            run = _run_number(file, run_id)
            file.execute("DELETE FROM runs WHERE number = ?", (run,))
        self._writer.expect("SELECT 1", ())
        return self._sweep(run)

    def gc(self) -> int:
        """Give back what deleted runs have left; returns how many bytes."""
        before = self._bytes()
        for (run,) in self._writer.execute(_ORPHANED):
            self._sweep(run)
        with self._writer.transaction() as file:
            file.execute("DELETE FROM keys WHERE outcome NOT IN (SELECT number FROM outcomes)")
            for table in ("owners", "claims"):
                file.execute(f"DELETE FROM {table} WHERE run NOT IN (SELECT number FROM runs)")  # noqa: S608
        if self._writer.execute("PRAGMA freelist_count") != [(0,)]:
            self._writer.execute("VACUUM")
        self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, before - self._bytes())

    def find_damage(self) -> str:
        """Let SQLite check the whole file; return the first problem, empty for a sound file."""
        ((first,), *_) = self._reader.execute("PRAGMA integrity_check(1)")
        return "" if first == "ok" else " ".join(str(first).split())

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _sweep(self, run: int) -> int:
        """Remove outcomes, some at a time: a large WAL is the last thing a full disk needs."""
        swept = 0
        while True:
            with self._writer.transaction() as file:
                deleted = file.execute(_SWEEP, (run, _SWEPT_AT_ONCE)).rowcount
            swept += deleted
            if deleted < _SWEPT_AT_ONCE:
                return swept

    def _read(self, items: Iterable[T]) -> Iterator[T]:
        with self._explain_damage():
            yield from items

    @contextmanager
    def _explain_damage(self) -> Iterator[None]:
        """Name the file if what is read from it cannot be what was written."""
        try:
            yield
        except UnreadableBody as error:
            raise StoreError(
                f"{show_path(self._path)}: {error.message}", hint=error.hint
            ) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise StoreError(
                f"{show_path(self._path)}: the database is damaged ({error})",
                hint=damage_hint(self._path),
            ) from error

    def _bytes(self) -> int:
        files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())


def _prepare(path: Path, access: Access, *, create: bool) -> None:
    """Create the store if there is none; refuse what is there if it is no store."""
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise Unreadable(f"{show_path(path)}: {problem}") from error
        except ValueError:  # a NUL byte, which is an error below
            pass
    if check_files(path):
        return
    if not create:
        raise Unreadable(f"{show_path(path)}: no such file") from FileNotFoundError(path)
    create_database(path, STORE_SCHEMA, access)


def _run_number(file: sqlite3.Connection | SqliteConnection, run_id: str) -> int:
    """Asked for in every transaction: another process may have deleted the run."""
    for (number,) in list(file.execute(_NUMBER, (run_id,))):
        return int(number)
    raise unknown_run_error(run_id)


def _build_run(*row: Any) -> Run:
    fields = dict(zip(Run.__struct_fields__, row, strict=True))
    return Run(**{**fields, "manifest": unpack(fields["manifest"], dict)})


def _outcome_rows(
    outcomes: Iterable[Outcome], first: int, run: int, numbers: dict[str, int]
) -> Iterator[tuple[Any, ...]]:
    for number, outcome in enumerate(outcomes, first):
        task, model, sample_id, ordinal, trial, group, *scalars = scalars_of(outcome)
        yield (
            number,
            run,
            numbers[task],
            numbers[model],
            encode_text(sample_id),
            ordinal,
            trial,
            numbers[group],
            *scalars,
            hash_key(outcome.solve_key) if outcome.trace else None,
        )


def _score_rows(
    outcomes: Iterable[Outcome], first: int, numbers: dict[str, int]
) -> Iterator[tuple[Any, ...]]:
    for number, outcome in enumerate(outcomes, first):
        for scorer, score in outcome.scores.items():
            yield (
                number,
                numbers[scorer],
                first_number(score.values),
                score.correct,
                hash_key(outcome.score_keys.get(scorer, "")),
            )
