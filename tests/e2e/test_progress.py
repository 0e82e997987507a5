"""The progress of a run on a real terminal."""

import asyncio
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.servers.model_server import Asked, ModelServer, chat

from evalwright.session.terminal_progress import LinePart, fit_line

LINES = 12
PARTS = [
    LinePart("420/1,000", 0),
    LinePart("12.3/s", 5),
    LinePart("47 s left", 2),
    LinePart("3 failed", 1),
    LinePart("$0.12", 4),
    LinePart("mean 0.71 [0.62, 0.79]", 3),
    LinePart("88,000 tokens", 9),
]


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (
            79,
            "███░░░░░  420/1,000  12.3/s  47 s left  3 failed  $0.12  mean 0.71 [0.62, 0.79]",
        ),
        (59, "420/1,000  47 s left  3 failed  mean 0.71 [0.62, 0.79]"),
        (30, "420/1,000  47 s left  3 failed"),
        (12, "420/1,000"),
        (5, ""),
    ],
)
def test_parts_drop_out_of_a_narrow_line(width: int, line: str) -> None:
    shown = fit_line(PARTS, width, share=0.42, has_colour=False)

    assert shown == line


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(chat(lambda _: "1")) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-no-use")
        yield running


def write_tasks(folder: Path) -> None:
    rows = (
        {
            "task_id": f"t{number}",
            "category": "arithmetic",
            "prompt": f"Sum {number}:",
            "targets": ["1" if number % 2 else "2"],
            "metric_name": "exact_match",
            "post_process": "none",
        }
        for number in range(LINES)
    )
    (folder / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def watch(
    folder: Path, columns: int, *models: str, stop: Callable[[bytes], bool] = lambda _: False
) -> tuple[int, str]:
    """Run on a pseudo-terminal of that width; return the exit code and what was written to it.

    Ctrl-C is sent once, as soon as `stop` is true of what was written.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    named = [argument for model in models for argument in ("-m", model)]
    limits = ["--requests-per-minute", "600", "--concurrency", "1", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "evalwright", "run", "tasks.jsonl", *named, *limits],
        cwd=folder,
        stderr=theirs,
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if key != "COLUMNS"}
        | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        written, is_stopped = b"", False
        while chunk := _read(ours):
            written += chunk
            if not is_stopped and stop(written):
                process.send_signal(signal.SIGINT)
                is_stopped = True
        os.close(ours)
        return process.wait(), written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def frames(written: str) -> list[list[str]]:
    """What was drawn each time, line by line, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", written)
    drawn = re.split(r"\r(?:\x1b\[\d+A)?\x1b\[J", plain)
    return [frame.replace("\r", "").split("\n") for frame in drawn]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("columns", [80, 60])
def test_one_line_fits_the_terminal_and_is_erased(tmp_path: Path, columns: int) -> None:
    write_tasks(tmp_path)

    code, written = watch(tmp_path, columns, "openai/x")

    assert code == 0, written
    drawn = [frame for frame in frames(written) if f"/{LINES}" in frame[0]]
    assert drawn
    assert all(len(line) < columns for frame in drawn for line in frame)
    assert any("mean 0.5" in frame[0] and "]" in frame[0] for frame in drawn)
    assert any("left" in frame[0] for frame in drawn)
    assert any("█" in frame[0] for frame in drawn) or columns < 80
    assert frames(written)[-1] == [""], "nothing is left on the terminal"


def test_each_of_two_models_has_a_line_and_ctrl_c_erases_all_of_them(
    tmp_path: Path, server: ModelServer
) -> None:
    write_tasks(tmp_path)

    async def answer_slowly(asked: Asked) -> web.StreamResponse:
        # Longer than the time between two frames; then long enough for Ctrl-C to come in time.
        await asyncio.sleep(0.15 if len(server.log) < LINES // 2 else 2.0)
        return await chat("1")(asked)

    server.behave(answer_slowly)
    code, written = watch(
        tmp_path,
        80,
        "openai/x",
        "openai/y",
        stop=lambda written: bool(re.search(rb"(?:[3-9]|1\d)/24", written)),
    )

    assert code == 130
    drawn = [frame for frame in frames(written) if "/24" in frame[0]]
    assert all(len(frame) == 3 for frame in drawn)
    assert drawn[-1][1].startswith("  openai/x  mean 0.")
    assert "openai/y" in drawn[-1][2]
    assert "/24" not in frames(written)[-1][0], "nothing is left on the terminal"


@pytest.mark.usefixtures("server")
def test_no_color_means_no_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tasks(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    _, written = watch(tmp_path, 80, "openai/x")

    assert not re.search(r"\x1b\[[0-9;]*m", written)
