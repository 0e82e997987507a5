"""Draw docs/pictures: SVG files that show the output of commands on an 80-column terminal.

    python -m tools.pictures           write them
    python -m tools.pictures --check   exit with code 1 if a picture shows outdated text

Each command runs in a pseudo-terminal, in a temporary folder. Before the text is drawn, `Clock`
replaces everything that differs between two runs (ids, times, durations, the Python version). Each
picture has its text in `<desc>`, which `--check` compares. Pictures do not load fonts.
"""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from html import escape, unescape
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from evalwright.spec.records.fixtures import TASKS

ROOT = Path(__file__).parent.parent
PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 80
ERASURE = re.compile(r"\r(?:\x1b\[(\d+)A)?\x1b\[[JK]")
"""Erases the current line and the lines above it, whose number is given before `A`."""
ROWS = 50
LEFT_OUT = "code_exec"
"""The category whose results depend on the isolation that the machine supports."""
RUN_ID = re.compile(r"(?<!\d)20\d{6}-\d{6}-[0-9a-f]{4}\b")
UNWANTED = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI", "PYTHONPATH")
POLICY = """\
key: release
rules:
  - key: correct
    definition: {type: threshold, metric: is_correct_mean, operator: ">=", threshold: 0.9}
  - key: complete
    definition: {type: threshold, metric: Completeness, operator: ">=", threshold: 0.75}
  - key: short
    definition: {type: threshold, metric: words_max, operator: "<=", threshold: 5}
"""
BAD = """\
{"id": "sum", "category": "arithmetic", "prompt": "2 + 2", "targets": ["4"], "metric_name": "exact_match", "post_process": "none"}
{"task_id": "capital", "category": "clasification", "prompt": "Which city is the capital of France?", "targets": [], "metric_name": "exact_match", "post_process": "none"}
{"task_id": "prime", "category": "mcq", "prompt": "Which is a prime?\\nA) 21\\nB) 37", "targets": ["B"], "metric_name": "exact_match", "post_process": "extract_letter", }
"""  # noqa: E501 - one record per line
THEME = TerminalTheme(
    (24, 26, 31),
    (222, 226, 230),
    [
        (24, 26, 31),
        (255, 123, 114),
        (126, 211, 133),
        (229, 192, 100),
        (121, 184, 255),
        (210, 168, 255),
        (118, 212, 220),
        (222, 226, 230),
    ],
)
ASPECT = 0.602
"""Width of a character divided by its height, in most terminal fonts."""
CHARACTER = 20 * ASPECT
"""Width of a character; rich draws characters with a height of 20."""
RUN_OF_TEXT = re.compile(
    r'<text class="(.*?)" x="(.*?)" y="(.*?)" textLength=".*?" clip-path=".*?">([^<]*)</text>'
)
TOP = 30
"""Height that rich reserves for a window frame, which is not drawn."""
FORMAT = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 %d {width} {height}" role="img">
<title>TITLE</title>
<desc>DESCRIPTION</desc>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
}}
{styles}
</style>
<rect y="%d" width="100%%" height="100%%" rx="8" fill="%s" />
<g transform="translate({terminal_x}, {terminal_y})" class="{unique_id}-matrix">
{matrix}
</g>
</svg>
""" % (TOP, TOP, THEME.background_color.hex)  # noqa: UP031 - braces are for rich


class Scene(NamedTuple):
    """A command and the name of its picture; without a name, it only prepares later scenes."""

    command: str
    picture: str = ""


SCENES = (
    Scene("evalwright validate bad.jsonl", "validate"),
    Scene(
        "evalwright run quiz.jsonl -m scripted/oracle -m scripted/noisy -m scripted/biased",
        "run-records",
    ),
    Scene("evalwright run quiz.jsonl -m scripted/noisy -p temperature=0 --name baseline"),
    Scene("evalwright run run.yaml", "run-project"),
    Scene("evalwright list", "list"),
    Scene("evalwright show --wrong --task capitals", "show-wrong"),
    Scene("evalwright gate --policy policy.yaml", "gate"),
)


def main() -> int:
    """Write the pictures, or check their text."""
    is_check = "--check" in sys.argv
    stale = []
    for scene, text in texts():
        path = PICTURES / f"{scene.picture}.svg"
        if is_check and shown_text(path) != Text.from_ansi(text).plain:
            stale.append(path.relative_to(ROOT))
        elif not is_check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(draw(scene, text), encoding="utf-8")
    for name in stale:
        print(f"{name} is out of date: run `make pictures`", file=sys.stderr)
    return int(bool(stale))


def texts() -> Iterator[tuple[Scene, str]]:
    """Yield each scene that has a picture, with the text of the picture."""
    clock = Clock()
    with tempfile.TemporaryDirectory(prefix="evalwright-pictures-") as name:
        folder = Path(name)
        on_a_terminal("evalwright init .", folder)
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "bad.jsonl").write_text(BAD)
        records = TASKS.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in records if json.loads(line)["category"] != LEFT_OUT]
        (folder / "quiz.jsonl").write_text("".join(kept), encoding="utf-8")
        for scene in SCENES:
            time.sleep(1 - time.time() % 1)  # runs are sorted by the second in which they started
            text = clock.normalize(on_a_terminal(scene.command, folder))
            if scene.picture:
                yield scene, f"\x1b[1m{wrap_command(scene.command)}\x1b[0m\n{text}"


def wrap_command(command: str) -> str:
    """Return the command as a user types it, continued on the next line if it is too long."""
    options = f"$ {command}".replace(" -", "\n-").split("\n")
    lines = [options[0]]
    for option in options[1:]:
        if len(f"{lines[-1]} {option}") > COLUMNS - len(" \\"):
            lines[-1] += " \\"
            lines.append(f"    {option}")
        else:
            lines[-1] += f" {option}"
    return "\n".join(lines)


def on_a_terminal(command: str, folder: Path) -> str:
    """Run a command on a terminal; return what the terminal shows at the end, with colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in UNWANTED and not name.endswith("_API_KEY") and "EVALWRIGHT" not in name
    }
    words = [sys.executable, "-m", *shlex.split(command)]
    shown = b""
    with subprocess.Popen(
        words,
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color"},
    ):
        os.close(theirs)
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return drop_erased_lines(shown.decode().replace("\r\n", "\n")).rstrip("\n")


def drop_erased_lines(shown: str) -> str:
    """Return what remains on the terminal after the progress lines of a run are erased."""
    remaining, start = "", 0
    for erasure in ERASURE.finditer(shown):
        lines = (remaining + shown[start : erasure.start()]).split("\n")
        remaining = "".join(f"{line}\n" for line in lines[: -1 - int(erasure[1] or 0)])
        start = erasure.end()
    return remaining + shown[start:]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


class Clock:
    """Replaces everything that differs between two runs with text of the same width."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}

    def normalize(self, text: str) -> str:
        """Return the text with fixed ids, times, durations and Python version."""
        text = re.sub(r"\b\d+\.\d s\b", "0.4 s", text)
        text = re.sub(r"\b\d+\.\d{3} s\b", "0.120 s", text)
        text = re.sub(r"\bPython 3\.\d+", "Python 3.11", text)
        return "\n".join(self._fix_times(text))

    def _fix_times(self, text: str) -> Iterator[str]:
        """Yield the lines; the time in a line belongs to the last run that was named."""
        number = 0
        for line in text.split("\n"):
            for run_id in re.findall(RUN_ID, line):
                number = self._runs.setdefault(run_id, len(self._runs))
            fixed = re.sub(RUN_ID, lambda match: _fixed_id(self._runs[match[0]]), line)
            fixed = re.sub(r"\b20\d\d-\d\d-\d\d\b", "2026-01-05", fixed)
            yield re.sub(r"\b\d\d:\d\d:\d\d\b", f"09:{10 + number}:00", fixed)


def _fixed_id(number: int) -> str:
    return f"20260105-09{10 + number}00-{number + 0x7C1E:x}"


def draw(scene: Scene, text: str) -> str:
    """Return an SVG file."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    shown = Text.from_ansi(text)
    console.print(shown, overflow="ignore", no_wrap=True, crop=False)
    svg = console.export_svg(
        theme=THEME, code_format=FORMAT, font_aspect_ratio=ASPECT, unique_id=scene.picture
    )
    height = re.compile(rf'(?<=viewBox="0 {TOP} )(\d+) ([\d.]+)')
    svg = height.sub(lambda match: f"{match[1]} {float(match[2]) - TOP:g}", svg)
    svg = re.sub(RUN_OF_TEXT, _split_run, svg)
    return svg.replace("TITLE", escape(scene.command)).replace("DESCRIPTION", escape(shown.plain))


def _split_run(match: re.Match[str]) -> str:
    """Position each cell separately, because some viewers ignore spaces and `textLength`."""
    name, x, y, text = match.groups()
    pieces = []
    for cell in re.finditer(r"\S+(?: \S+)*", unescape(text).replace("\xa0", " ")):
        place = f'x="{float(x) + CHARACTER * cell.start():g}" y="{y}"'
        width = f'textLength="{CHARACTER * len(cell[0]):g}"'
        words = escape(cell[0], quote=False).replace(" ", "&#160;")
        pieces.append(f'<text class="{name}" {place} {width}>{words}</text>\n')
    return "".join(pieces)


def shown_text(path: Path) -> str:
    """Return the text of a picture, or an empty string if the picture does not exist."""
    svg = path.read_text(encoding="utf-8") if path.exists() else ""
    match = re.search("<desc>(.*?)</desc>", svg, flags=re.DOTALL)
    return unescape(match[1]) if match else ""


if __name__ == "__main__":
    sys.exit(main())
