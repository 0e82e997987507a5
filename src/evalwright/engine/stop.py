"""Stop a run early so that it can be resumed.

    first request    no new jobs are started, those in flight are awaited
    second request   those in flight are cancelled, and will be repeated

Requests come from Ctrl-C, from SIGTERM and SIGHUP, from a spent budget, and from too many failures.
After SIGTERM or SIGHUP those in flight have `GRACE_S` seconds: whoever sends one seldom sends
another, and kills a process that does not end.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from evalwright.types import Outcome

GRACE_S = 8.0
"""Shorter than the ten seconds that Docker waits before it kills."""
_NOT_OURS = (signal.SIG_IGN, None)
"""Handlers that stay: ignored signals, and handlers that were not installed by Python."""


class Stop:
    """Decides whether to continue. Workers check after every outcome."""

    def __init__(
        self,
        *,
        most_failures: float | None = None,
        total: int = 0,
        tell: Callable[[str], None] = lambda _: None,
        grace_s: float = GRACE_S,
    ) -> None:
        """`most_failures` below 1 is a fraction of `total`; `grace_s` is for `terminate`."""
        self.reason = ""
        self.hint = ""
        """How to resume, if the same command does not."""
        self.interrupted = False
        self.in_flight = 0
        self.tasks: Sequence[asyncio.Task[None]] = ()
        self._at_once = False
        self._grace_s = grace_s
        self._failed = 0
        self._tell = tell
        self._most = most_failures
        if most_failures is not None and most_failures < 1:
            self._most = round(most_failures * total, 6)  # 29 % of 100 is 29, and no less

    @property
    def is_stopping(self) -> bool:
        """Whether the run is ending early."""
        return bool(self.reason)

    def request(self, reason: str, *, hint: str = "") -> None:
        """Start no more jobs."""
        if not self.reason:
            self.reason, self.hint = reason or "stopped", hint

    def after(self, outcome: Outcome) -> None:
        """Count a failure, and stop if there are too many."""
        if outcome.failure is not None:
            self._failed += 1
            if self._most is not None and self._failed > self._most:
                self.request(
                    f"{_samples(self._failed)} failed, more than the {self._most:g} allowed"
                )

    def interrupt(self) -> None:
        """Handle Ctrl-C: once to stop gracefully, twice to stop now."""
        self._handle_signal("waiting for {}; Ctrl-C again stops at once")

    def terminate(self) -> None:
        """Handle SIGTERM or SIGHUP: as Ctrl-C, and stop now when the grace period is over."""
        if not self.interrupted:
            asyncio.get_running_loop().call_later(self._grace_s, self._cancel_all)
        self._handle_signal(
            f"waiting at most {self._grace_s:g} s for {{}}; a second signal stops at once"
        )

    def _handle_signal(self, advice: str) -> None:
        if not self.interrupted:
            self.interrupted = True
            self.request("interrupted")
            if self.in_flight:
                self._tell("stopping: " + advice.format(f"{_samples(self.in_flight)} in flight"))
            if not self._at_once:
                return
        self._cancel_all()

    def _cancel_all(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def run_until_interrupt(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work that is cheap to repeat: the first request cancels it."""
        if self.interrupted:
            work.close()
            return
        task = asyncio.ensure_future(work)
        self.tasks, self._at_once = [task], True
        try:
            await asyncio.wait([task])
            if not (task.cancelled() and self.interrupted):
                task.result()
        finally:
            task.cancel()
            self._at_once = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """While active, treat SIGINT, SIGTERM and SIGHUP as requests to stop.

        Only the main thread receives signals. One that is ignored (`nohup`) stays ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        requests = {
            signal.SIGINT: self.interrupt,
            signal.SIGTERM: self.terminate,
            signal.SIGHUP: self.terminate,
        }
        before = {number: signal.getsignal(number) for number in requests}
        handled = [number for number in requests if before[number] not in _NOT_OURS]
        for number in handled:
            loop.add_signal_handler(number, requests[number])
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)
                signal.signal(number, before[number])


def _samples(count: int) -> str:
    return "1 sample" if count == 1 else f"{count:,} samples"
