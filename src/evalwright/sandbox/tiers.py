"""Find out which tier this machine has: believe one only when attempts to break out of it fail.

One canary program runs like any candidate. It tries to read a file outside, connect to a port,
start a process, write a file, and signal its parent. The test checks both what it reports and what
it did.
"""

import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from evalwright.errors import EvalwrightError
from evalwright.sandbox.worker import (
    TIERS,
    NoWorker,
    SandboxSettings,
    SandboxWorker,
    Tier,
    Verdicts,
    WorkerDied,
)
from evalwright.types import Program

_TIMEOUT_S = 20.0
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


class NoTier(EvalwrightError):
    """No isolating tier is available here; the message says why for each."""


class Standing(Struct, frozen=True, kw_only=True):
    """Whether this machine has one tier."""

    tier: Tier
    available: bool
    why: str = ""
    """Why it is not available."""
    canaries: dict[str, str] = {}
    """Attempt to break out, and what stopped it."""


def choose(
    tier: Tier | None, *, verdicts: Verdicts, packages: Mapping[str, str], python: str | None
) -> tuple[SandboxSettings, SandboxWorker]:
    """The best tier that holds, or `tier` if it does, and a worker of it; else `NoTier`."""
    reasons = []
    for each in (tier,) if tier else TIERS:
        settings = SandboxSettings(
            tier=each,
            verdicts=verdicts,
            packages=dict(packages),
            python=python or sys.executable,
        )
        try:
            return settings, _start_worker(settings)[0]
        except NoWorker as error:
            reasons.append(f"{each}: {error}")
    raise NoTier("; ".join(reasons))


def survey() -> list[Standing]:
    """Every tier, best first."""
    standings = []
    for tier in TIERS:
        try:
            worker, canaries = _start_worker(SandboxSettings(tier=tier))
        except NoWorker as error:
            standings.append(Standing(tier=tier, available=False, why=str(error)))
        else:
            worker.close()
            standings.append(Standing(tier=tier, available=True, canaries=canaries))
    return standings


def _start_worker(settings: SandboxSettings) -> tuple[SandboxWorker, dict[str, str]]:
    """A worker that holds, and what stopped each canary; `NoWorker` if there is none."""
    if sys.platform != "linux":
        raise NoWorker(f"needs Linux, and this is {sys.platform}")
    worker = SandboxWorker(settings)
    try:
        return worker, _run_canaries(worker)
    except (WorkerDied, ChildProcessError, NoWorker) as error:
        worker.close()
        raise NoWorker(str(error)) from None


def _run_canaries(worker: SandboxWorker) -> dict[str, str]:
    with _set_bait() as (path, server):
        port = server.getsockname()[1]
        constants = f"PATH, PORT, PARENT = {str(path)!r}, {port}, {os.getpid()}\n"
        program = Program(
            source=constants + _CANARY,
            targets=(f"refused == {list(_ATTEMPTS)!r}", "add(2, 3) == 5"),
            timeout_s=_TIMEOUT_S,
        )
        execution, _ = worker.judge(program, threading.Event())
        stopped = dict(line.split(": ") for line in execution.output.splitlines() if ": " in line)
        if execution.outcome != "pass":
            got_out = [name for name in _ATTEMPTS if name not in stopped]
            what = f"these were not stopped: {', '.join(got_out)}" if got_out else execution.detail
            raise NoWorker(f"the self-test failed: {what or execution.outcome}")
        if path.with_name(path.name + ".new").exists() or _has_visitor(server):
            raise NoWorker("the self-test failed: a canary reached the host")
    return stopped


@contextmanager
def _set_bait() -> Iterator[tuple[Path, socket.socket]]:
    """A file to read, in a folder to write to, and a port to connect to."""
    with (
        tempfile.TemporaryDirectory(prefix="evalwright-") as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        # Open to all, the folder too: only the jail may stop a canary.
        Path(folder).chmod(0o777)
        path = Path(folder) / "secret"
        path.write_text("secret")
        path.chmod(0o666)
        server.settimeout(0)
        yield path, server


def _has_visitor(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True
