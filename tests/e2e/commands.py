"""`evalwright` as a person runs it, against a server on this machine: for tests of whole runs."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.e2e import in_process
from tests.living import PATIENCE_S
from tests.servers.model_server import Asked, Behaviour, ModelServer

from evalwright import api
from evalwright.types import Outcome

COMMAND = [sys.executable, "-m", "evalwright"]
KEY = "sk-test-4f1c9A+/z=7Qe2"
SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def environment(server: ModelServer) -> dict[str, str]:
    """Of the command: no key and no store but the test's own."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith((*SECRET_NAMES, "_PROXY", "_proxy")) and name != "EVALWRIGHT_STORE"
    }
    return {**ours, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}


def start(
    server: ModelServer, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """The command, under way."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        env={**environment(server), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def finished(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """The command, at its end."""
    with process:
        try:
            said, told = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, said, told)


def evalwright(
    server: ModelServer, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command, from its start to its end."""
    return in_process.evalwright(*arguments, cwd=cwd, env={**environment(server), **(env or {})})


def report_of(done: subprocess.CompletedProcess[str], *, exit_code: int = 0) -> Any:
    """What `--json` printed."""
    assert done.returncode == exit_code, done.stderr
    return json.loads(done.stdout)


def outcomes_in(folder: Path, run: str = "latest") -> list[Outcome]:
    """Every outcome of a run in the store there, in the order of the samples."""
    return list(api.export(run, str(folder / ".evalwright" / "runs.db")))


def record(task_id: str, **changes: Any) -> dict[str, Any]:
    """One that the server's usual answer solves; its prompt is its id."""
    return {
        "task_id": task_id,
        "category": "arithmetic",
        "prompt": task_id,
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
        **changes,
    }


def write_tasks(folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """`tasks.jsonl`."""
    text = "".join(f"{json.dumps(one)}\n" for one in records)
    (folder / "tasks.jsonl").write_text(text)


def metrics_of(report: Any) -> Any:
    """All that must be the same whatever happened on the way."""
    parts = ("models", "tasks", "metrics", "leaderboard", "calibration", "failures")
    return {part: report[part] for part in parts}


class Held:
    """A behaviour that waits until it is opened."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._opened = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, asked: Asked) -> web.StreamResponse:
        """Answer, in time."""
        self._loop = asyncio.get_running_loop()
        await self._opened.wait()
        return await self._behaviour(asked)

    def open(self) -> None:
        """From now on."""
        assert self._loop, "nobody has asked yet"
        self._loop.call_soon_threadsafe(self._opened.set)
