"""Child processes: an isolated Python runs one script and is watched until all of it has ended.

The script has a function `main(report: int, arguments: list[bytes])`. What it writes to the
descriptor `report` comes back in `Ended.report`, apart from what it prints. Its first byte there
says that it is ready, and starts its clock: interpreter start-up does not count.

Holds:      a deadline, kept here; CPU time, address space, size of a file, open files and core
            dumps, by rlimits that the child sets on itself before the script runs; the sizes of
            output and report; an environment, a session and a working directory of its own; no
            descriptor but the standard three (stdin is empty) and the report. At the end, however
            it came: the process group killed, the child reaped, the directory deleted.
Does not:   hide files, stop the network, or catch a process that leaves its group (`setsid`).
            A limit that the system refuses (address space on macOS) is not set, and root can lift
            them all. Files outside the working directory stay. If this process is killed, the
            child ends by an alarm half a minute late, and its directory stays.
"""

import asyncio
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Literal, Self, TypeVar

from msgspec import Struct

T = TypeVar("T")
Why = Literal["exited", "timeout", "output", "report", "stopped"]

START_S = 30.0
"""Seconds until an interpreter must have reported. A healthy one takes 0.02."""

ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # the order of a set must not change a verdict
    "PYTHONIOENCODING": "utf-8:backslashreplace",  # printing a lone surrogate is no mistake
    "MALLOC_ARENA_MAX": "1",  # glibc reserves 64 MiB of address space a thread otherwise
}
"""The whole environment of the child, with TMPDIR: its working directory, which is deleted."""

# A look this often at what no descriptor can tell: a child that died while a copy of it holds its
# pipes, and a request to stop.
_LOOK_S = 0.05
# A child that closed its report is about to end.
_LOOK_CLOSED_S = 0.002
_PF_EXITING = 0x4
"""The flag of an exiting process on Linux."""
_CHUNK_BYTES = 64 * 1024

# `signal` instead of `_signal` would cost half the time of the start again, `json` all of it. The
# script's bytecode comes from its cache. The alarm is for an orphan that sleeps: whoever keeps the
# deadline may be killed, and CPU time ends only the busy.
_BOOTSTRAP = """\
import _signal, os, resource, sys
from importlib.machinery import SourceFileLoader

stdin = open(0, "rb", closefd=False)
report, *limits = stdin.readline().split()
arguments = [stdin.read(int(size)) for size in stdin.readline().split()]
report, null = int(report), os.open(os.devnull, os.O_RDONLY)
os.dup2(null, 0)
os.close(null)
os.set_inheritable(report, False)

script = {"__name__": "script"}
exec(SourceFileLoader("script", sys.argv.pop()).get_code("script"), script)

for limit in limits:
    name, value = limit.decode().split("=")
    kind, value = getattr(resource, name), int(value)
    hard = resource.getrlimit(kind)[1]
    ceiling = value + (name == "RLIMIT_CPU")  # a second between the warning and the kill
    if hard != resource.RLIM_INFINITY:
        ceiling = min(ceiling, hard)
    if name == "RLIMIT_CPU":
        _signal.alarm(value + 30)
    try:
        resource.setrlimit(kind, (min(value, ceiling), ceiling))
    except (OSError, ValueError):
        pass
script["main"](report, arguments)
"""


class Launch(Struct, frozen=True, kw_only=True):
    """What to run, and its limits."""

    script: Path
    arguments: tuple[bytes, ...] = ()
    """For `main`. Sent over stdin, so that neither a command line nor a file shows them."""
    limits: dict[str, int]
    """Limits by their names in the `resource` module, such as `RLIMIT_CPU`. No core dumps."""
    timeout_s: float
    max_output_bytes: int
    """Maximum bytes of stdout and stderr together; one more ends the child."""
    max_report_bytes: int


class Ended(Struct, frozen=True, kw_only=True):
    """How a child ended."""

    why: Why
    """`output` and `report`: it wrote more than its launch allows. `stopped`: `Child.stop`."""
    started: bool
    """Whether the script wrote to its report. If not, `output` may show why."""
    status: int
    """As in `subprocess`: below 0, the signal that killed it, including our own."""
    report: bytes
    output: bytes
    duration_s: float
    """From the first byte of the report to the end."""
    cpu_s: float | None = None
    """If the time ran out: CPU time until then; None if the system does not tell."""


async def run(launch: Launch, executor: Executor) -> Ended:
    """Run a child in a thread of `executor`. When cancelled, wait until it has ended."""
    child = Child(launch)
    return await run_in_thread(executor, child.run, child.stop)


async def run_in_thread(
    executor: Executor, function: Callable[[], T], stop: Callable[[], None]
) -> T:
    """Run a blocking function in a thread. When cancelled, call `stop` and wait for its end."""
    thread = executor.submit(function)
    result = asyncio.wrap_future(thread)
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        stop()
        if not thread.cancel():  # its turn had come
            await asyncio.wait([result])
        raise


class Child:
    """One child process. `run` blocks until it has ended; `stop` ends it, from any thread."""

    def __init__(self, launch: Launch, stopped: threading.Event | None = None) -> None:
        self._launch = launch
        self._stopped = stopped or threading.Event()
        self._ready_at: float | None = None

    def stop(self) -> None:
        """Make `run` kill the child and return, now or as soon as it starts."""
        self._stopped.set()

    def run(self) -> Ended:
        """Start, watch, kill, reap, clean up. Call once per child."""
        launch = self._launch
        with (
            _working_directory() as directory,
            Pipe(launch.max_report_bytes) as report,
            Pipe(launch.max_output_bytes) as output,
        ):
            process = self._start(directory, report=report, output=output)
            cpu_s = None
            try:
                why = self._watch(process, report=report, output=output)
                ended_at = time.monotonic()
                if why == "timeout":
                    cpu_s = read_cpu_seconds(process.pid)
            finally:
                kill_group(process)
            report.drain()
            output.drain()
            if why == "exited" and output.over:
                why = "output"
            return Ended(
                why=why,
                started=bool(report.kept),
                status=process.returncode,
                report=bytes(report.kept),
                output=bytes(output.kept),
                duration_s=0.0 if self._ready_at is None else ended_at - self._ready_at,
                cpu_s=cpu_s,
            )

    def _start(self, directory: str, *, report: "Pipe", output: "Pipe") -> subprocess.Popen[bytes]:
        launch = self._launch
        limits = {**launch.limits, "RLIMIT_CORE": 0}
        head = " ".join([str(report.writer), *(f"{name}={n}" for name, n in limits.items())]) + "\n"
        sizes = " ".join(str(len(argument)) for argument in launch.arguments) + "\n"
        # A file, not a pipe: nobody has to feed a child that does not read.
        with tempfile.TemporaryFile() as stdin:
            stdin.write(b"".join([head.encode(), sizes.encode(), *launch.arguments]))
            stdin.seek(0)
            process = subprocess.Popen(
                # -S: the standard library only. -s -P: nothing from home or the directory.
                [sys.executable, "-s", "-S", "-P", "-c", _BOOTSTRAP, launch.script],
                stdin=stdin,
                stdout=output.writer,
                stderr=output.writer,
                cwd=directory,
                env={**ENVIRONMENT, "TMPDIR": directory},
                pass_fds=(report.writer,),
                start_new_session=True,
            )
        report.close_writer()
        output.close_writer()
        return process

    def _watch(self, process: subprocess.Popen[bytes], *, report: "Pipe", output: "Pipe") -> Why:
        deadline = time.monotonic() + START_S
        with selectors.DefaultSelector() as selector:
            selector.register(report.reader, selectors.EVENT_READ, report)
            selector.register(output.reader, selectors.EVENT_READ, output)
            look = _LOOK_S
            while True:
                for key, _ in selector.select(max(0.0, min(look, deadline - time.monotonic()))):
                    if key.data.read() == b"":
                        selector.unregister(key.fileobj)
                        look = _LOOK_CLOSED_S if key.data is report else look
                now = time.monotonic()
                if self._ready_at is None and report.kept:
                    self._ready_at, deadline = now, now + self._launch.timeout_s
                # What it did before we looked counts before the clock: this thread may have slept.
                if is_dead(process):
                    return "exited"
                if self._stopped.is_set():
                    return "stopped"
                if now >= deadline:
                    return "timeout"
                if output.over:
                    return "output"
                if report.over:
                    return "report"


class Pipe:
    """A pipe whose reader never blocks and keeps at most `cap` bytes plus one."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._writer_open = True
        self.kept = bytearray()
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    @property
    def over(self) -> bool:
        """Whether more came than the cap allows."""
        return len(self.kept) > self._cap

    def read(self) -> bytes | None:
        """Read what is available: None if nothing is, empty at the end of the stream."""
        try:
            chunk = os.read(self.reader, _CHUNK_BYTES)
        except BlockingIOError:
            return None
        self.kept += chunk[: self._cap + 1 - len(self.kept)]
        return chunk

    def drain(self) -> None:
        """Read what was written so far, without waiting for remaining writers."""
        while not self.over and self.read():
            pass

    def close_writer(self) -> None:
        """Close our writing end, so that the end of the child is the end of the stream."""
        if self._writer_open:
            self._writer_open = False
            os.close(self.writer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_writer()
        os.close(self.reader)


def read_cpu_seconds(pid: int) -> float | None:
    """Return the CPU time of a process and its living descendants; None if it cannot be read."""
    try:
        fields = _read_stat(pid)
        children = [
            int(child)
            for tasks in Path(f"/proc/{pid}/task").iterdir()
            for child in (tasks / "children").read_text().split()
        ]
    except (OSError, ValueError):
        return None
    user, system = int(fields[11]), int(fields[12])
    total = (user + system) / os.sysconf("SC_CLK_TCK")
    return total + sum(filter(None, map(read_cpu_seconds, children)))


def is_exiting(pid: int) -> bool:
    """Whether a process has begun to exit. On a busy machine, it may need seconds to finish.

    Its descriptors may be closed before it counts as dead. False if the system does not tell.
    """
    try:
        return bool(int(_read_stat(pid)[6]) & _PF_EXITING)
    except (OSError, ValueError, IndexError):
        return False


def _read_stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` after the name of the program."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def is_dead(process: subprocess.Popen[bytes]) -> bool:
    """Whether a child has ended. It is not reaped, so its process id is not reused."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the child and everything left in its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def _working_directory() -> Iterator[str]:
    directory = tempfile.mkdtemp(prefix="evalwright-")
    try:
        yield directory
    finally:
        # What the system will not let go of is no reason to lose a verdict.
        with suppress(OSError):
            _remove(directory)


def _remove(tree: str) -> None:
    """Delete a directory with hostile content. Links are never followed.

    A directory is moved next to the top before it is entered: no depth exhausts stack or path.
    """
    numbers = count()
    pending = [tree]
    Path(tree).chmod(0o700)
    while pending:
        directory = pending.pop()
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    moved = f"{tree}.{next(numbers)}"
                    Path(entry.path).chmod(0o700)
                    Path(entry.path).rename(moved)
                    pending.append(moved)
                else:
                    Path(entry.path).unlink()
        Path(directory).rmdir()
