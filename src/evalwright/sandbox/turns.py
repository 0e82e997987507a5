"""Limit how many programs run at once, and let one run alone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# How often to look for a request to stop.
_LOOK_S = 0.05


class RunTurns:
    """Let at most a given number of programs run at once.

    To prepare a jail and to remove it needs no turn: both are done while other programs run.
    """

    def __init__(self, count: int) -> None:
        self._free = threading.Semaphore(count)

    @contextmanager
    def take(self, stop: threading.Event) -> Iterator[Callable[[], None]]:
        """Wait for a turn, and yield a function that ends it early; after `stop`, do not wait."""
        is_taken = False
        while not is_taken and not stop.is_set():
            is_taken = self._free.acquire(timeout=_LOOK_S)
        held = [self._free] if is_taken else []

        def end() -> None:
            if held:
                held.pop().release()

        try:
            yield end
        finally:
            end()


class Turns:
    """Let programs run side by side, except one that must be alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running = 0
        self._waiting = 0
        """How many want to be alone: nobody else begins meanwhile."""

    @contextmanager
    def take_shared_turn(self) -> Iterator[None]:
        """Run beside others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
            self._running += 1
        try:
            yield
        finally:
            self._leave()

    @contextmanager
    def take_alone(self, stop: threading.Event) -> Iterator[bool]:
        """Run when no other does; yield False if `stop` comes first."""
        with self._changed:
            self._waiting += 1
            while self._running and not stop.is_set():
                self._changed.wait(_LOOK_S)
            is_alone = not self._running
            self._running += is_alone
        try:
            yield is_alone
        finally:
            with self._changed:
                self._waiting -= 1
            if is_alone:
                self._leave()

    def _leave(self) -> None:
        with self._changed:
            self._running -= 1
            self._changed.notify_all()
