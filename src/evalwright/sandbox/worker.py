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
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal, Self

from msgspec import Struct

from evalwright.processes import ENVIRONMENT, START_S, Ended, Pipe, Why, read_cpu_seconds
from evalwright.sandbox import verdict
from evalwright.sandbox.inside.wire import SILENCES, pack_job
from evalwright.sandbox.turns import RunTurns
from evalwright.types import Execution, Program
from evalwright.vocabulary import MAX_OUTPUT_BYTES

Tier = Literal["namespaces+seccomp", "landlock+seccomp"]
TIERS: tuple[Tier, ...] = ("namespaces+seccomp", "landlock+seccomp")
"""Best first."""

Verdicts = Literal["both", "split", "plain"]
"""Who judges: one process as plain Python would, an evaluator that the candidate cannot reach, or
both, which is the default."""

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
_KILLED = 128
_CORES = os.cpu_count() or 1


class WorkerDied(Exception):
    """The zygote has gone, or does not answer."""


class NoWorker(Exception):
    """No zygote can be had in this tier; the message says why."""


class SandboxSettings(Struct, frozen=True, kw_only=True):
    """What the workers of a sandbox share."""

    tier: Tier
    verdicts: Verdicts = "both"
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

    def judge(
        self,
        program: Program,
        stop: threading.Event,
        turns: RunTurns | None = None,
        *,
        is_repeated_if_starved: bool = False,
    ) -> tuple[Execution, bool]:
        """Run one candidate until nothing of it is left, and judge it. `stop` ends it early.

        It runs when `turns` lets it. Return also whether it may have been starved: it ran out of
        time, and not of CPU time.
        """
        verdicts = self._settings.verdicts
        turns = turns or RunTurns(1)
        first, *rest = self._run(program, verdicts, stop, turns)
        starved = verdict.ran_out_of_wall_time(program, first[0])
        if verdicts != "both":
            execution = verdict.judge_report(program, *first, verified=verdicts == "split")
            return execution, starved
        check = verdict.check_report(program, *first)
        is_decided = check.final is not None or stop.is_set()
        if is_decided or (starved and is_repeated_if_starved):
            return check.final or verdict.judge_report(program, *first), starved
        (plain,) = rest or self._run(program, "plain", stop, turns)
        starved = starved or verdict.ran_out_of_wall_time(program, plain[0])
        return verdict.combine(verdict.judge_report(program, *plain), check), starved

    def _run(
        self, program: Program, verdicts: Verdicts, stop: threading.Event, turns: RunTurns
    ) -> list[tuple[Ended, str]]:
        """How each evaluation ended, with its nonce; one that did not begin is missing."""
        with ExitStack() as stack:
            count = 2 if verdicts == "both" else 1
            evaluations = [stack.enter_context(_Evaluation(program)) for _ in range(count)]
            # CPU time ends after the deadline, whatever the number of threads.
            cpu_s = (math.ceil(program.timeout_s) + 1) * _CORES
            descriptors = [number for each in evaluations for number in each.theirs]
            try:
                silence_us = max(1, int(verdict.silence_s(program) * 1e6 / SILENCES))
                order = {"cpu_s": cpu_s, "silence_us": silence_us, "verdicts": verdicts}
                self._send(order, tuple(descriptors))
                for evaluation in evaluations:
                    evaluation.close_theirs()
                # The jail is being prepared, and waits for its job.
                with turns.take(stop) as end_turn:
                    watch = _CandidateWatch(self, program.timeout_s, evaluations, end_turn)
                    return watch.run(stop)
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


class _Evaluation:
    """The engine's side of one evaluator: a socket for job and report, a pipe for output."""

    def __init__(self, program: Program) -> None:
        self.nonce = os.urandom(16).hex()
        self.report = bytearray()
        self.ready_at = 0.0
        self.output = Pipe(MAX_OUTPUT_BYTES)
        self.job, self._far_end = socket.socketpair()
        self.job.settimeout(0)
        self._max_report_bytes = verdict.max_report_bytes(program)
        self._unsent = memoryview(pack_job(self.nonce, program.source, program.targets))

    @property
    def theirs(self) -> tuple[int, int]:
        """The descriptors of the evaluator."""
        return self._far_end.fileno(), self.output.writer

    def close_theirs(self) -> None:
        """Leave the far ends to the evaluator."""
        self._far_end.close()
        self.output.close_writer()

    @property
    def over(self) -> bool:
        """Whether the report is longer than an honest one."""
        return len(self.report) > self._max_report_bytes

    def send_job(self) -> int:
        """Send what can be sent now; return the events to wait for."""
        try:
            self._unsent = self._unsent[self.job.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:  # it died before it had read all
            self._unsent = self._unsent[:0]
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def read_report(self) -> bytes | None:
        """None when nothing is there, empty at the end."""
        try:
            chunk = self.job.recv(_PACKET_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""
        if chunk and not self.report:
            self.ready_at = time.monotonic()
        self.report += chunk[: self._max_report_bytes + 1 - len(self.report)]
        return chunk

    def end(
        self, why: Why, status: int, ended_at: float, cpu_s: float | None = None
    ) -> tuple[Ended, str]:
        """How it ended, with its nonce."""
        while self.read_report():
            pass
        self.output.drain()
        if why == "exited" and self.output.over:
            why = "output"
        ended = Ended(
            why=why,
            started=bool(self.report),
            status=status,
            report=bytes(self.report),
            output=bytes(self.output.kept),
            duration_s=max(0.0, ended_at - self.ready_at) if self.ready_at else 0.0,
            cpu_s=cpu_s,
        )
        return ended, self.nonce

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._far_end.close()
        self.job.close()
        self.output.__exit__()


class _CandidateWatch:
    """One candidate, from the order to its end, through one evaluation after the other."""

    def __init__(
        self,
        worker: SandboxWorker,
        timeout_s: float,
        evaluations: list[_Evaluation],
        end_turn: Callable[[], None],
    ) -> None:
        self._worker, self._timeout_s = worker, timeout_s
        self._end_turn = end_turn
        self._now, *self._later = evaluations
        self._results: list[tuple[Ended, str]] = []
        self._selector = selectors.PollSelector()  # few descriptors, for a few milliseconds
        self._first: int | None = None
        self._deadline = time.monotonic() + START_S
        self._status: int | None = None
        self._why: Why = "exited"
        self._ended_at = 0.0
        self._cpu_s: float | None = None
        self._is_over = False

    def run(self, stop: threading.Event) -> list[tuple[Ended, str]]:
        try:
            with self._selector as selector:
                selector.register(self._worker.control, selectors.EVENT_READ, self._read_answer)
                for each in self._later:
                    self._send_ahead(each)
                self._begin()
                while self._status is None:
                    left = max(0.0, self._deadline - time.monotonic())
                    for key, events in selector.select(min(_LOOK_S, left)):
                        # What an earlier one has unregistered or changed is looked at anew.
                        if selector.get_map().get(key.fileobj) == key:
                            key.data(events)
                    if self._status is None:
                        self._end_if_due(stop)
        finally:
            if self._first is not None:
                os.close(self._first)
        if not self._is_over:
            self._results.append(
                self._now.end(self._why, self._status, self._ended_at, self._cpu_s)
            )
        return self._results

    def _send_ahead(self, evaluation: _Evaluation) -> None:
        """Send the job of an evaluation that does not read it yet: what the socket holds."""
        if evaluation.send_job() & selectors.EVENT_WRITE:
            self._selector.register(
                evaluation.job, selectors.EVENT_WRITE, lambda _: self._send_more(evaluation)
            )

    def _send_more(self, evaluation: _Evaluation) -> None:
        if not evaluation.send_job() & selectors.EVENT_WRITE:
            self._selector.unregister(evaluation.job)

    def _begin(self) -> None:
        """Send the job of the present evaluation; its clock starts when it is ready."""
        self._deadline = time.monotonic() + START_S
        now = self._now
        self._selector.register(now.output.reader, selectors.EVENT_READ, self._read_output)
        self._selector.register(now.job, now.send_job(), self._exchange)

    def _begin_next(self) -> None:
        """The first evaluation has finished and left the jail: let the next one begin."""
        following = self._later.pop(0)
        for source in (self._now.output.reader, self._now.job, following.job):
            if source in self._selector.get_map():
                self._selector.unregister(source)
        self._results.append(self._now.end("exited", 0, time.monotonic()))
        if verdict.is_final(self._now.report):
            self._is_over = True
            following.job.close()  # it ends when it gets no job
        else:
            self._now = following
            self._begin()

    def _read_answer(self, _events: int) -> None:
        answer, descriptors = self._worker.receive()
        if descriptors:
            self._first = descriptors[0]
        elif "broken" in answer:
            raise ChildProcessError(f"no process for a candidate: {answer['broken']}")
        else:
            while self._now.read_report():
                pass
            self._begin_next_if_due()
            self._ended_at = self._ended_at or time.monotonic()
            status = answer["ended"]
            self._status = status if status < _KILLED else _KILLED - status

    def _exchange(self, events: int) -> None:
        now = self._now
        if events & selectors.EVENT_WRITE:
            self._selector.modify(now.job, now.send_job(), self._exchange)
        if not events & selectors.EVENT_READ:
            return
        was_ready = bool(now.report)
        chunk = now.read_report()
        if chunk == b"":
            self._selector.unregister(now.job)
        if now.report and not was_ready:
            self._deadline = now.ready_at + self._timeout_s
        if not self._later and verdict.is_complete_verdict(now.report):
            self._end_turn()  # what is left is to remove its jail
        self._begin_next_if_due()

    def _begin_next_if_due(self) -> None:
        if self._later and self._why == "exited" and verdict.has_left(self._now.report):
            self._begin_next()

    def _read_output(self, _events: int) -> None:
        if self._now.output.read() == b"":
            self._selector.unregister(self._now.output.reader)

    def _end_if_due(self, stop: threading.Event) -> None:
        now = time.monotonic()
        due: Why | None = None
        if stop.is_set():
            due = "stopped"
        elif now >= self._deadline:
            due = "timeout"
        elif self._now.output.over:
            due = "output"
        elif self._now.over:
            due = "report"
        if due is None or (self._why != "exited" and now < self._deadline):
            return
        if self._first is None or self._why != "exited":
            raise WorkerDied("the zygote does not answer")
        if due == "timeout":
            self._cpu_s = _read_cpu_seconds(self._first)
        self._why, self._ended_at, self._deadline = due, now, now + _END_S
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._first, signal.SIGKILL)


def _read_cpu_seconds(pidfd: int) -> float | None:
    """Return the CPU time of what lives in a jail; an evaluator that has finished counts too."""
    try:
        lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
    except OSError:
        return None
    pids = [int(line.split()[1]) for line in lines if line.startswith("Pid:")]
    return read_cpu_seconds(pids[0]) if pids and pids[0] > 0 else None
