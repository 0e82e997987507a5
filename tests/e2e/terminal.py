"""The command on a terminal of 80 columns."""

import os
import pty
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from tests.e2e import in_process
from tools.pictures import drop_erased_lines

from evalwright.report.tables import display_width

WIDTH = 80


def on_a_terminal(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What a terminal is sent, stderr included, without lines that are rewritten."""
    ours, theirs = pty.openpty()
    environment = {**(os.environ if env is None else env), "TERM": "xterm", "COLUMNS": str(WIDTH)}
    shown: list[bytes] = []
    reader = Thread(target=lambda: shown.extend(_read_terminal(ours)))
    reader.start()
    with os.fdopen(theirs, "rb", 0) as keys, os.fdopen(os.dup(theirs), "wb", 0) as screen:
        in_process.run_with_streams(arguments, (keys, screen, screen), cwd=cwd, env=environment)
    reader.join()
    os.close(ours)
    return drop_erased_lines(b"".join(shown).decode().replace("\r\n", "\n"))


def _read_terminal(descriptor: int) -> Iterator[bytes]:
    """Yield what is written to a terminal until the other side is closed."""
    with suppress(OSError):
        while data := os.read(descriptor, 4096):
            yield data


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def find_misfits(shown: str, piped: str) -> list[str]:
    """The lines that are too wide, but for those that one long word fills, and broken words."""
    text = without_colours(shown)
    wide = [
        line
        for line in text.split("\n")
        if display_width(line) > WIDTH and display_width(max(line.split(), key=len)) < WIDTH - 20
    ]
    whole = set(re.findall(r"[a-z]{4,}", piped))
    words = re.findall(r"(?<![\w….-])[a-z]{4,}(?! ?…|\w)", text)
    return [*wide, *(word for word in words if word not in whole)]
