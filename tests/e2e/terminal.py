"""The command on a terminal of 80 columns, in a process of its own."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.living import PATIENCE_S
from tools.pictures import drop_erased_lines

from evalwright.report.tables import display_width

WIDTH = 80


def on_a_terminal(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """What a terminal is sent, stderr included, without lines that are rewritten."""
    ours, theirs = pty.openpty()
    shown = b""
    environment = {**(os.environ if env is None else env), "TERM": "xterm", "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "evalwright", *arguments]
    with subprocess.Popen(
        command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as child:
        os.close(theirs)
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
        child.wait(timeout=PATIENCE_S)
    os.close(ours)
    return drop_erased_lines(shown.decode().replace("\r\n", "\n"))


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
