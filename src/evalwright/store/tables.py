"""The tables of a SQLite store, and how outcomes are read from them in order and in pieces.

    runs       one row per run
    names      tasks, models, groups and scorers: each written once, and never removed, so that a
               process may remember their numbers
    outcomes   one row per job: the scalars, so that reports and lists read nothing else
    bodies     the rest of an outcome, apart: what a report reads is a tenth of the file
    scores     one row per score: its first value, and the hash of its key
    keys       the hashes of keys, sorted, and whose they are; only up to the outcome in `folded`
    owners     one row per process that works on a run, and
    claims     the jobs that such processes have taken; see `store/membership.py`

Keys are random, so sorting in each as it comes would write a page of the file for each: 51 µs per
outcome at a million. Folded in by the ten thousand, in order, they cost 22. Of a key, 64 bits are
kept; the body has all of it, and is compared.

Each piece is one statement that begins where the last one ended (a keyset, not an offset), so the
millionth costs what the first did, memory stays flat, and between two pieces nothing is open that
would keep a writer from folding its WAL into the file.

SQLite takes any text but lone surrogates, which a file name that is not UTF-8 has: such a text is
kept as bytes.
"""

import sqlite3
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from evalwright.store.bodies import Body, unpack
from evalwright.store.connection import Schema, SqliteConnection
from evalwright.types import Outcome, Row

_VERSION_1 = (
    """CREATE TABLE runs (
        number INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again, while a deleted run leaves
        id TEXT NOT NULL UNIQUE,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        status TEXT NOT NULL,
        plan_key TEXT NOT NULL,
        parent TEXT,
        manifest BLOB NOT NULL
    )""",
    "CREATE TABLE names (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE outcomes (
        number INTEGER PRIMARY KEY, -- the larger, the newer
        run INTEGER NOT NULL, task INTEGER NOT NULL, model INTEGER NOT NULL,
        sample_id TEXT NOT NULL, ordinal INTEGER NOT NULL, trial INTEGER NOT NULL,
        "group" INTEGER NOT NULL,
        failure_stage TEXT, failure_type TEXT,
        score REAL, correct INTEGER, confidence REAL, nll REAL, nll_tokens INTEGER NOT NULL,
        finish TEXT NOT NULL,
        requests INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL, cost REAL, latency_s REAL NOT NULL,
        solve_hash INTEGER -- of its solve key; NULL where no other run may take the trace
    )""",
    "CREATE UNIQUE INDEX outcomes_by_job ON outcomes (run, task, ordinal, trial, model)",
    """CREATE INDEX outcomes_failed ON outcomes (run, task, ordinal, trial, model)
        WHERE failure_stage IS NOT NULL""",
    "CREATE TABLE bodies (outcome INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE scores (
        outcome INTEGER NOT NULL, scorer INTEGER NOT NULL,
        value REAL, correct INTEGER, key_hash INTEGER,
        PRIMARY KEY (outcome, scorer)
    ) WITHOUT ROWID""",
    """CREATE TABLE keys (
        hash INTEGER NOT NULL, outcome INTEGER NOT NULL, PRIMARY KEY (hash, outcome)
    ) WITHOUT ROWID""",
    "CREATE TABLE folded (outcome INTEGER NOT NULL)",  # the last one that is in `keys`
    "INSERT INTO folded VALUES (0)",
    # Fires on REPLACE, too, on a connection with `recursive_triggers`.
    """CREATE TRIGGER outcomes_gone AFTER DELETE ON outcomes BEGIN
        DELETE FROM bodies WHERE outcome = OLD.number;
        DELETE FROM scores WHERE outcome = OLD.number;
    END""",
)


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in _VERSION_1:
        connection.execute(statement)


def _add_claims(connection: sqlite3.Connection) -> None:
    connection.execute("""CREATE TABLE owners (
        number INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
        run INTEGER NOT NULL,
        place TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
        since INTEGER NOT NULL, -- the newest outcome when it joined
        beat INTEGER NOT NULL, -- grows while it lives
        shares INTEGER NOT NULL -- whether it claims each job before it takes it
    )""")
    connection.execute("""CREATE TABLE claims (
        run INTEGER NOT NULL, task TEXT NOT NULL, ordinal INTEGER NOT NULL,
        trial INTEGER NOT NULL, model TEXT NOT NULL, owner INTEGER NOT NULL,
        PRIMARY KEY (run, task, ordinal, trial, model)
    ) WITHOUT ROWID""")


STORE_SCHEMA = Schema(  # "EWLT"
    "store",
    application_id=0x45574C54,
    migrations=(_create_tables, _add_claims),
)

_PRIME = (1 << 64) - 59  # so that every digit of a key counts
_HALF = 1 << 63


def encode_text(text: str) -> str | bytes:
    """A text as it is kept."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def decode_text(kept: str | bytes) -> str:
    """A text that was kept."""
    return kept if isinstance(kept, str) else kept.decode(errors="surrogatepass")


def hash_key(key: str) -> int | None:
    """64 bits of a key, by which it is found; None for no key."""
    if not key:
        return None
    try:
        number = int(key, 16)
    except ValueError:  # not one of ours
        from hashlib import blake2b

        number = int.from_bytes(blake2b(key.encode(errors="surrogatepass")).digest())
    return number % _PRIME - _HALF


ROW_COLUMNS = """o.sample_id, o."group", o.failure_stage, o.failure_type, o.score, o.correct,
    o.confidence, o.nll, o.nll_tokens, o.finish, o.requests, o.prompt_tokens, o.completion_tokens,
    o.cost, o.latency_s"""
OUTCOME_COLUMNS = 'o.sample_id, o."group", b.body'

_START = (-sys.maxsize - 1, 0, "")  # before every (ordinal, trial, model)
_TASKS = """
    SELECT number, name FROM names
    WHERE EXISTS (SELECT 1 FROM outcomes WHERE run = ? AND task = names.number) ORDER BY name"""


class Query(Struct, frozen=True, kw_only=True):
    """Which outcomes of a run (`o`), what of them, how many at a time."""

    run: int
    columns: str
    task: str | bytes | None = None
    join: str = ""
    wanted: str = ""
    parameters: tuple[Any, ...] = ()
    piece: int = 1000


def read_pieces(
    connection: SqliteConnection, query: Query, *, offset: int = 0, limit: int | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Each piece with the name of its task: ordinal, trial and model first, then the columns."""
    sql = _piece_query(query)
    left = sys.maxsize if limit is None else limit
    for number, name in connection.execute(_TASKS, (query.run,)):
        if query.task not in {None, name}:
            continue
        which = (query.run, number, *query.parameters)
        at: tuple[int, int, str] = _START
        if offset:
            ((there,),) = connection.execute(_index_query("count(*)", query), which)
            if there <= offset:
                offset -= there
                continue
            at, offset = _position(connection, query, which, offset)
        while size := min(query.piece, left):
            piece = connection.execute(sql, (*which, *at, size, offset))
            if piece:
                yield decode_text(name), piece
                at = piece[-1][:3]
            offset, left = 0, left - len(piece)
            if len(piece) < size:
                break


def _position(
    connection: SqliteConnection, query: Query, which: tuple[Any, ...], offset: int
) -> tuple[tuple[int, int, str], int]:
    """Where to begin, and how many to leave out there, found in the index alone."""
    nth = (
        f"{_index_query('o.ordinal, o.trial', query)} ORDER BY o.ordinal, o.trial LIMIT 1 OFFSET ?"
    )
    ((ordinal, trial),) = connection.execute(nth, (*which, offset))
    earlier = f"{_index_query('count(*)', query)} AND (o.ordinal, o.trial) < (?, ?)"
    ((before,),) = connection.execute(earlier, (*which, ordinal, trial))
    return (ordinal, trial, ""), offset - before


def _index_query(columns: str, query: Query) -> str:
    return (
        f"SELECT {columns} FROM outcomes AS o"  # noqa: S608 - no input
        f" WHERE o.run = ? AND o.task = ? {query.wanted}"
    )


def _piece_query(query: Query) -> str:
    # CROSS JOIN: in this order, which is that of the index, so that nothing large is sorted.
    return f"""
        SELECT o.ordinal, o.trial, m.name, {query.columns}
        FROM outcomes AS o CROSS JOIN names AS m ON m.number = o.model {query.join}
        WHERE o.run = ? AND o.task = ? {query.wanted}
        AND (o.ordinal, o.trial, m.name) > (?, ?, ?)
        ORDER BY o.ordinal, o.trial, m.name LIMIT ? OFFSET ?"""  # noqa: S608 - no input


class Names(dict[int, str]):
    """Number to name; asks for a name when it first meets its number."""

    def __init__(self, connection: SqliteConnection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, number: int) -> str:
        ((name,),) = self._connection.execute("SELECT name FROM names WHERE number = ?", (number,))
        self[number] = decode_text(name)
        return self[number]


def build_row(task: str, names: Names, row: Sequence[Any]) -> Row:
    """A `Row` of what `ROW_COLUMNS` brought."""
    ordinal, trial, model, sample_id, group, stage, kind, score, correct, *rest = row
    sure, nll, nll_tokens, _, requests, prompt_tokens, completion_tokens, cost, latency_s = rest
    # Fails if a number is a text, which SQLite allows; adding is the cheapest way to find out.
    _ = (
        (score or 0) + (sure or 0) + (nll or 0) + (cost or 0) + latency_s + nll_tokens
        + requests + prompt_tokens + completion_tokens + ordinal + trial
    )  # fmt: skip
    if model.__class__ is not str or sample_id.__class__ is not str:  # rarely
        model, sample_id = decode_text(model), decode_text(sample_id)
    is_correct = None if correct is None else correct == 1
    about = task, model, sample_id, ordinal, trial, names[group], stage, kind
    return Row(*about, score, is_correct, *rest)


def build_outcome(task: str, names: Names, row: Sequence[Any]) -> Outcome:
    """An `Outcome` of what `OUTCOME_COLUMNS` brought."""
    ordinal, trial, model, sample_id, group, packed = row
    ordinal + trial  # fails if one is a text
    body = unpack(packed, Body)
    return Outcome(
        task=task,
        model=decode_text(model),
        sample_id=decode_text(sample_id),
        trial=trial,
        group=names[group],
        ordinal=ordinal,
        **structs.asdict(body),
    )
