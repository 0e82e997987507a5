"""Secrets that a person keeps on this machine, for `<< secrets.NAME >>` in documents.

    .evalwright/secrets.json       in the current folder; its owner alone may read it (mode 0600)

Holds:      a value is replaced whole or not at all; a file that others may read is refused.
Does not:   encrypt. Whoever may read this user's files may read the values.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from evalwright.errors import UsageError
from evalwright.secrets import Secret

FILE = Path(".evalwright", "secrets.json")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_OWNER_ONLY = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secrets(file: Path = FILE) -> dict[str, Secret]:
    """Return the stored secrets; `UsageError` for a file that is damaged or open to others."""
    try:
        with file.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error
    if mode & _OTHERS:
        raise UsageError(
            f"{file}: other users may read the secrets in it", hint=f"chmod 600 {file}"
        )
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not all(isinstance(each, str) for each in values.values()):
        raise UsageError(
            f"{file}: expected a JSON object that maps names to strings",
            hint="delete the file and set the secrets again",
        )
    return {name: Secret(value, declared=True) for name, value in values.items()}


def set_secret(name: str, value: str, file: Path = FILE) -> Path:
    """Store a secret in place of an earlier one of that name; return the file."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"`{name}` cannot be the name of a secret", hint="use letters, digits, `_` and `-`"
        )
    if not value:
        raise UsageError(f"the value of `{name}` is empty: nothing was stored")
    _write({**read_secrets(file), name: Secret(value)}, file)
    return file


def list_secrets(file: Path = FILE) -> list[str]:
    """Return the names of the stored secrets, never their values."""
    return sorted(read_secrets(file))


def delete_secret(name: str, file: Path = FILE) -> None:
    """Remove a secret; `UsageError` if there is none of that name."""
    secrets = read_secrets(file)
    if name not in secrets:
        raise UsageError(f"there is no secret `{name}`", hint="`evalwright secret list` names them")
    del secrets[name]
    _write(secrets, file)


def _write(secrets: Mapping[str, Secret], file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        ignored = file.parent / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")
        values = {name: secret.reveal() for name, secret in sorted(secrets.items())}
        with NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as written:
            temporary = Path(written.name)
            try:
                os.fchmod(written.fileno(), _OWNER_ONLY)
                json.dump(values, written)
                written.flush()
                os.fsync(written.fileno())
                temporary.replace(file)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written: {error.strerror}") from error
