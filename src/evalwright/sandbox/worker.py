"""One worker: a zygote process, and the engine's end of its control socket.

`SandboxWorker.judge` blocks; one thread calls it at a time. Whatever a candidate does, the worker
is ready for the next one when `judge` returns. If the worker itself breaks, `judge` raises
`WorkerDied`, and the worker cannot be used again.
"""

import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from evalwright.processes import ENVIRONMENT, START_S, Ended, Pipe, Why
from evalwright.sandbox import verdict
from evalwright.types import Execution, Program
from evalwright.vocabulary import MAX_OUTPUT_BYTES

Tier = Literal["namespaces+seccomp", "landlock+seccomp"]
TIERS: tuple[Tier, ...] = ("namespaces+seccomp", "landlock+seccomp")
"""Best first."""

_INSIDE = Path(__file__).parent
_BOOTSTRAP = """\
import sys
sys.path.insert(0, sys.argv[1])
from inside import zygote
del sys.path[0]
sys.argv[1:], control = [], int(sys.argv[2])
zygote.main(control)
"""
# -S: the standard library only. -s -P: nothing from home or the directory.
_ARGUMENTS = ("-s", "-S", "-P", "-c", _BOOTSTRAP, str(_INSIDE))
# A library that starts threads at import would start them in every candidate.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_PACKET_BYTES = 1 << 16
# How long the kernel may take to remove what was killed.
_END_S = 10.0
# How often to look for a request to stop.
_LOOK_S = 0.05
_JOB_HEAD_BYTES = 8
_KILLED = 128
_CORES = os.cpu_count() or 1


class WorkerDied(Exception):
    """The zygote has gone, or does not answer."""


class NoWorker(Exception):
    """No zygote can be had in this tier; the message says why."""


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """What the workers of a sandbox share."""

    tier: Tier
    in_process: bool = False
    packages: dict[str, str] = {}
    """Paths by top-level name."""
    python: str = sys.executable


class SandboxWorker:
    """A zygote; `NoWorker` if it cannot be started."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A file without a name: nobody has to empty it.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `close`
        try:
            self.process = subprocess.Popen(
                [settings.python, *_ARGUMENTS, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._log,
                cwd="/",
                env={**ENVIRONMENT, **(_ONE_THREAD if settings.packages else {})},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            self.control.close()
            self._log.close()
            raise NoWorker(f"{settings.python}: {error.strerror}") from None
        finally:
            theirs.close()
        with ExitStack() as undo:
            undo.callback(self.close)
            self._greet()
            undo.pop_all()

    def _greet(self) -> None:
        self.control.settimeout(START_S)
        settings = self._settings
        try:
            self._send({"tier": settings.tier, "packages": settings.packages}, ())
            answer, _ = self.receive()
        except (OSError, WorkerDied):
            raise NoWorker(self._read_last_line() or "the zygote did not start") from None
        if "broken" in answer:
            raise NoWorker(answer["broken"])
        self.control.settimeout(_END_S)

    def judge(self, program: Program, stop: threading.Event) -> Execution:
        """Run one candidate until nothing of it is left, and judge it. `stop` ends it early."""
        ours, theirs = socket.socketpair()
        with ours, theirs, Pipe(MAX_OUTPUT_BYTES) as output:
            # CPU time ends after the deadline, whatever the number of threads.
            cpu_s = (math.ceil(program.timeout_s) + 1) * _CORES
            order = {"cpu_s": cpu_s, "in_process": self._settings.in_process}
            try:
                self._send(order, (theirs.fileno(), output.writer))
                theirs.close()
                output.close_writer()
                return _CandidateWatch(self, program, ours, output).judge(stop)
            except ChildProcessError:
                raise
            except OSError as error:
                raise WorkerDied(str(error)) from error

    def close(self) -> None:
        """End the zygote and all that is behind it."""
        self.control.close()
        # Behind the first process stands a namespace, or a signal at its death: both end the rest.
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        self._log.close()

    def _send(self, packet: Mapping[str, Any], descriptors: tuple[int, ...]) -> None:
        socket.send_fds(self.control, [json.dumps(packet).encode()], descriptors)

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """Receive the next packet and its descriptors."""
        packet, descriptors, _, _ = socket.recv_fds(self.control, _PACKET_BYTES, 1)
        if not packet:
            raise WorkerDied(self._read_last_line() or "the zygote has gone")
        answer: dict[str, Any] = json.loads(packet)
        return answer, descriptors

    def _read_last_line(self) -> str:
        self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, self._log.tell() - 2000))
        return self._log.read().decode("utf-8", "replace").strip().rpartition("\n")[2]


class _CandidateWatch:
    """One candidate, from the order to its end."""

    def __init__(
        self, worker: SandboxWorker, program: Program, job: socket.socket, output: Pipe
    ) -> None:
        self._worker, self._program, self._job, self._output = worker, program, job, output
        self._max_report_bytes = verdict.max_report_bytes(program)
        self._nonce = os.urandom(16).hex()
        job.settimeout(0)
        order = {"nonce": self._nonce, "source": program.source, "targets": program.targets}
        body = json.dumps(order).encode()
        self._unsent = memoryview(len(body).to_bytes(_JOB_HEAD_BYTES) + body)
        self._report = bytearray()
        self._first: int | None = None
        self._ready_at = 0.0
        self._deadline = time.monotonic() + START_S
        self._status: int | None = None
        self._why: Why = "exited"
        self._ended_at = 0.0

    def judge(self, stop: threading.Event) -> Execution:
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(self._worker.control, selectors.EVENT_READ, self._read_answer)
                selector.register(self._output.reader, selectors.EVENT_READ, self._read_output)
                selector.register(self._job, self._send_job(), self._exchange)
                while self._status is None:
                    left = max(0.0, self._deadline - time.monotonic())
                    for key, events in selector.select(min(_LOOK_S, left)):
                        key.data(selector, events)
                    if self._status is None:
                        self._end_if_due(stop)
        finally:
            if self._first is not None:
                os.close(self._first)
        while self._read_report():
            pass
        self._output.drain()
        if self._why == "exited" and self._output.over:
            self._why = "output"
        ended = Ended(
            why=self._why,
            started=bool(self._report),
            status=self._status,
            report=bytes(self._report),
            output=bytes(self._output.kept),
            duration_s=self._ended_at - self._ready_at if self._ready_at else 0.0,
        )
        return verdict.judge_report(self._program, ended, self._nonce)

    def _read_answer(self, _selector: selectors.BaseSelector, _events: int) -> None:
        answer, descriptors = self._worker.receive()
        if descriptors:
            self._first = descriptors[0]
        elif "broken" in answer:
            raise ChildProcessError(f"no process for a candidate: {answer['broken']}")
        else:
            self._ended_at = self._ended_at or time.monotonic()
            status = answer["ended"]
            self._status = status if status < _KILLED else _KILLED - status

    def _send_job(self) -> int:
        try:
            self._unsent = self._unsent[self._job.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:  # it died before it had read all
            self._unsent = self._unsent[:0]
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def _exchange(self, selector: selectors.BaseSelector, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            selector.modify(self._job, self._send_job(), self._exchange)
        if events & selectors.EVENT_READ and self._read_report() == b"":
            selector.unregister(self._job)

    def _read_report(self) -> bytes | None:
        """None when nothing is there, empty at the end."""
        try:
            chunk = self._job.recv(_PACKET_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        if chunk and not self._report:
            self._ready_at = time.monotonic()
            self._deadline = self._ready_at + self._program.timeout_s
        self._report += chunk[: self._max_report_bytes + 1 - len(self._report)]
        return chunk

    def _read_output(self, selector: selectors.BaseSelector, _events: int) -> None:
        if self._output.read() == b"":
            selector.unregister(self._output.reader)

    def _end_if_due(self, stop: threading.Event) -> None:
        now = time.monotonic()
        due: Why | None = None
        if stop.is_set():
            due = "stopped"
        elif now >= self._deadline:
            due = "timeout"
        elif self._output.over:
            due = "output"
        elif len(self._report) > self._max_report_bytes:
            due = "report"
        if due is None or (self._why != "exited" and now < self._deadline):
            return
        if self._first is None or self._why != "exited":
            raise WorkerDied("the zygote does not answer")
        self._why, self._ended_at, self._deadline = due, now, now + _END_S
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._first, signal.SIGKILL)
