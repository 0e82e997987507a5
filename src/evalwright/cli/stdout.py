"""Lines and JSON on stdout, for commands that show what is stored."""

import sys
from collections.abc import Iterable
from io import TextIOWrapper
from typing import Any


def write_lines(lines: Iterable[str]) -> None:
    """For people. What their terminal cannot show is `?`, not the end."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def write_json(thing: Any) -> None:
    """For tools: one object, indented, in UTF-8 whatever the terminal speaks."""
    import msgspec

    from evalwright.report.export.rows import to_json

    write_bytes([msgspec.json.format(to_json(thing), indent=2) + b"\n"])


def write_json_list(things: Iterable[Any]) -> None:
    """A list, written as it comes: an element a line."""
    from evalwright.report.export.rows import to_json

    def pieces() -> Iterable[bytes]:
        before = b"["
        for thing in things:
            yield before + b"\n" + to_json(thing)
            before = b","
        yield b"[]\n" if before == b"[" else b"\n]\n"

    write_bytes(pieces())


def write_bytes(pieces: Iterable[bytes]) -> None:
    """Past the encoding of the terminal."""
    sys.stdout.flush()
    out = sys.stdout.buffer
    for piece in pieces:
        out.write(piece)
    out.flush()
