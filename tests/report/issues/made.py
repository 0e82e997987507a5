"""Files to be checked, for the tests of every renderer."""

from pathlib import Path

from tests.spec.records.made import GOOD, written

from evalwright.spec.checking import Checking

GOOD_LINE = written(GOOD)


def checking(folder: Path, *lines: bytes, name: str = "tasks.jsonl") -> Checking:
    """A file of these lines, about to be checked."""
    path = folder / name
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return Checking(str(path))


def missing(folder: Path) -> Checking:
    return Checking(str(folder / "missing.jsonl"))
