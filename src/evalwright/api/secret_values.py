"""The secrets that are stored on this machine: set, list, delete."""

from evalwright import secret_store


def set_secret(name: str, value: str) -> str:
    """Store a secret in the current folder; return the path of the file."""
    secret_store.set_secret(name, value)
    return str(secret_store.FILE)


def list_secrets() -> list[str]:
    """The names of the stored secrets, never their values."""
    return sorted(secret_store.read_secrets())


def delete_secret(name: str) -> None:
    """Remove a stored secret."""
    secret_store.delete_secret(name)
