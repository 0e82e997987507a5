"""A `.json` file with one list of objects. It is read whole: JSON Lines is the format of size."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evalwright.errors import BadDataset
from evalwright.lines import BadLine, read_lines, shown

MOST_BYTES = 256 * 1024 * 1024
_HINT = "a list of objects, `[{…}, {…}]`; one object a line is a .jsonl file"


class JsonFile:
    """The rows of a `.json` file."""

    header: tuple[str, ...] | None = None
    """Only the rows know which columns there are."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One an object of the list."""
        try:
            yield from msgspec.json.decode(self._text(), type=list[dict[str, Any]])
        except (ValueError, RecursionError) as error:
            raise BadDataset(f"{shown(self._path)}: {error}", hint=_HINT) from error

    def _text(self) -> bytes:
        lines, size = [], 0
        for line in read_lines(self._path, limit=MOST_BYTES):
            size += len(line) + 1
            if isinstance(line, BadLine) or size > MOST_BYTES:
                raise BadDataset(
                    f"{shown(self._path)}: more than {MOST_BYTES >> 20} MiB, or no text",
                    hint="a large table is read line by line from a .jsonl file",
                )
            lines.append(line)
        return b"\n".join(lines)
