"""Which tier this machine has: each is believed only when attempts to break out of it have failed.

One canary program runs like any candidate, in both of the processes that a candidate has. It tries
to read a file outside, connect to a port, start a process, write a file, and signal its parent; the
test looks both at what it says and at what it did.
"""

import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from evalwright.sandbox import verdict
from evalwright.sandbox.worker import (
    TIERS,
    NoWorker,
    SandboxSettings,
    SandboxWorker,
    Tier,
    Work,
    WorkerDied,
)
from evalwright.types import Program

_TIMEOUT_S = 20.0
_MAX_OUTPUT_BYTES = 1 << 16
_CANARY = """
import os, socket

def attempt(name, action):
    try:
        action()
    except Exception as error:
        print(f"{name}: {type(error).__name__}", flush=True)
        return "refused"
    return "worked"

def read(): open(PATH).read()
def write(): open(PATH + ".new", "w").write("x")
def connect(): socket.create_connection(("127.0.0.1", PORT), 2).close()
def fork():
    if not os.fork(): os._exit(0)
def signal(): os.kill(PARENT, 0)
def add(a, b): return a + b

attempts = {"read": read, "write": write, "connect": connect, "fork": fork, "signal": signal}
refused = [name for name, action in attempts.items() if attempt(name, action) == "refused"]
"""
_ATTEMPTS = ("read", "write", "connect", "fork", "signal")


class NoTier(Exception):
    """No isolating tier is available here; the message says why of each."""


class Standing(Struct, frozen=True, kw_only=True):
    """How one tier does on this machine."""

    tier: Tier
    available: bool
    why: str = ""
    """Of one that is not available: the reason."""
    canaries: dict[str, str] = {}
    """Attempt to break out, and what stopped it."""


def choose(
    tier: Tier | None, *, in_process: bool, packages: Mapping[str, str], python: str | None
) -> tuple[SandboxSettings, SandboxWorker]:
    """The best tier that holds, or `tier` if it does, and a worker of it; else `NoTier`."""
    reasons = []
    for each in (tier,) if tier else TIERS:
        settings = SandboxSettings(
            tier=each,
            in_process=in_process,
            packages=dict(packages),
            python=python or sys.executable,
        )
        standing, worker = _try_tier(settings)
        if worker is not None:
            return settings, worker
        reasons.append(f"{each}: {standing.why}")
    raise NoTier("; ".join(reasons))


def survey(*, python: str | None = None) -> list[Standing]:
    """Every tier, best first."""
    standings = []
    for tier in TIERS:
        standing, worker = _try_tier(SandboxSettings(tier=tier, python=python or sys.executable))
        if worker is not None:
            worker.close()
        standings.append(standing)
    return standings


def _try_tier(settings: SandboxSettings) -> tuple[Standing, SandboxWorker | None]:
    if sys.platform != "linux":
        return _unavailable(settings, f"needs Linux, and this is {sys.platform}"), None
    try:
        worker = SandboxWorker(settings)
    except NoWorker as error:
        return _unavailable(settings, str(error)), None
    try:
        stopped = _run_canaries(worker)
    except (WorkerDied, ChildProcessError, _SelfTestFailed) as error:
        worker.close()
        return _unavailable(settings, str(error)), None
    return Standing(tier=settings.tier, available=True, canaries=stopped), worker


def _unavailable(settings: SandboxSettings, why: str) -> Standing:
    return Standing(tier=settings.tier, available=False, why=why)


class _SelfTestFailed(Exception):
    """Something got out, or nothing got done."""


def _run_canaries(worker: SandboxWorker) -> dict[str, str]:
    nonce = secrets.token_hex(16)
    with _set_bait() as (path, port, heard):
        constants = f"PATH, PORT, PARENT = {str(path)!r}, {port}, {os.getpid()}\n"
        program = Program(
            source=constants + _CANARY,
            targets=(f"refused == {list(_ATTEMPTS)!r}", "add(2, 3) == 5"),
            timeout_s=_TIMEOUT_S,
        )
        work = Work(
            job={"nonce": nonce, "source": program.source, "targets": program.targets},
            timeout_s=program.timeout_s,
            max_output_bytes=_MAX_OUTPUT_BYTES,
            max_report_bytes=verdict.max_report_bytes(program),
        )
        execution = verdict.judge_report(program, worker.run(work, threading.Event()), nonce)
        stopped = dict(line.split(": ") for line in execution.output.splitlines() if ": " in line)
        if execution.outcome != "pass":
            got_out = [name for name in _ATTEMPTS if name not in stopped]
            what = f"these were not stopped: {', '.join(got_out)}" if got_out else execution.detail
            raise _SelfTestFailed(f"the self-test failed: {what or execution.outcome}")
        if path.with_name(path.name + ".new").exists() or heard():
            raise _SelfTestFailed("the self-test failed: a canary reached the host")
    return stopped


@contextmanager
def _set_bait() -> Iterator[tuple[Path, int, "_Heard"]]:
    """A file to read, a folder to write to, and a port to call."""
    with (
        tempfile.TemporaryDirectory(prefix="evalwright-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        # Open to all, folder too: what stops a canary must be the jail.
        Path(folder).chmod(0o777)
        path = Path(folder) / "secret"
        path.write_text("secret")
        path.chmod(0o666)
        yield path, server.getsockname()[1], _Heard(server)


class _Heard:
    """Whether anybody called."""

    def __init__(self, server: socket.socket) -> None:
        server.settimeout(0)
        self._server = server

    def __call__(self) -> bool:
        try:
            self._server.accept()[0].close()
        except BlockingIOError:
            return False
        return True
