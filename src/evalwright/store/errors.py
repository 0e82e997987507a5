"""What can go wrong with a database file, in one line each, with what to do next."""

import os
import sqlite3
from pathlib import Path

from evalwright.errors import EvalwrightError, StoreError, Unreadable
from evalwright.lines import shown

_SPACE = "free some space and run again: what was finished is kept, only the rest is run"
_PRIMARY = 0xFF  # the low byte of an extended result code


def explained(error: sqlite3.Error, path: Path) -> EvalwrightError:
    """What a person should be told of it."""
    where = shown(str(path))
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    match code:
        case sqlite3.SQLITE_FULL:
            return StoreError(f"{where}: the disk is full", hint=_SPACE)
        case sqlite3.SQLITE_IOERR:  # a quota or a limit on the size of files ends up here, too
            return StoreError(
                f"{where}: the disk could not be read or written ({error.sqlite_errorname})",
                hint=f"full, over quota, or failing? {_SPACE}",
            )
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreError(
                f"{where}: another process keeps the store locked",
                hint="run again when it has ended, or with another `--store`",
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreError(
                f"{where}: the database is damaged ({error})",
                hint=f"`sqlite3 {path.name} .recover` saves what can be saved; "
                "move the file away to start a new one",
            )
        case sqlite3.SQLITE_NOTADB:
            return Unreadable(f"{where}: not a database", hint="is `--store` what you meant?")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return Unreadable(f"{where}: {_forbidden(path)}")
    return StoreError(f"{where}: {str(error).rstrip('.')}")


def _forbidden(path: Path) -> str:
    """SQLite does not say why. To open the file and see would drop the locks of this process."""
    if path.is_dir():
        return "a directory, not a file"
    if not path.exists():
        return "cannot be created: permission denied"
    if not os.access(path, os.R_OK, effective_ids=True):
        return "permission denied"
    if not os.access(path, os.W_OK, effective_ids=True):
        return "may be read, but not written"
    if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=True):
        return "its folder may not be written to, and must be"
    return "cannot be opened"
