"""Open the store of runs."""

import os
from contextlib import ExitStack, closing
from pathlib import Path

from evalwright.errors import EvalwrightError, UsageError
from evalwright.lines import show_path
from evalwright.plan.earlier_evaluations import find_earlier_evaluation
from evalwright.plan.options import STATE
from evalwright.ports import ReplyCache, Store
from evalwright.spec.documents.resolve.earlier import EarlierEvaluation, FindEarlier
from evalwright.store.memory import MemoryStore
from evalwright.store.reply_cache import SqliteReplyCache
from evalwright.store.sqlite import SqliteStore

DEFAULT_STORE = STATE / "runs.db"
MEMORY = "memory:"
"""The name of a store in memory."""


def store_name(name: str | Path | None = None) -> str:
    """Return the name, or `EVALWRIGHT_STORE`, or `.evalwright/runs.db` in the current folder."""
    return str(name or os.environ.get("EVALWRIGHT_STORE") or DEFAULT_STORE)


def open_store(
    name: str | Path | None = None, *, durable: bool = False, create: bool = True
) -> Store:
    """Open the store with this name; see `store_name`."""
    name = store_name(name)
    if name == MEMORY:
        return MemoryStore()
    if "://" in name:
        raise UsageError(f"{name}: a store must be a file", hint="give the path of a file")
    return SqliteStore(name, durable=durable, create=create)


def find_store_problem(path: str | Path) -> str:
    """Read a whole store, and return what is wrong with it; empty for a sound one."""
    try:
        with closing(SqliteStore(path, create=False)) as store:
            damage = store.find_damage()
    except EvalwrightError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    return f"{show_path(path)}: the database is damaged ({damage})" if damage else ""


def make_earlier_finder(name: str | Path | None = None) -> FindEarlier:
    """Return a function that finds evaluations in a store, which is opened only when needed."""

    def find(key: str) -> EarlierEvaluation:
        opened_name = store_name(name)
        if opened_name == MEMORY or not Path(opened_name).exists():
            return EarlierEvaluation(key, opened_name)
        with closing(open_store(opened_name, create=False)) as store:
            return find_earlier_evaluation(key, store=store, name=opened_name)

    return find


def open_reply_cache(exit_stack: ExitStack) -> ReplyCache:
    """Open the cache of replies until `exit_stack` closes."""
    reply_cache = SqliteReplyCache(STATE / "cache.db")
    exit_stack.callback(reply_cache.close)
    return reply_cache
