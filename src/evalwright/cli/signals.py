"""SIGTERM and SIGHUP act as Ctrl-C, wherever a command is at that moment.

An engine that runs samples handles these signals itself: `evalwright.engine.stop`.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = ("SIGTERM", "SIGHUP")  # by name: Windows has no SIGHUP


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """While active, treat SIGTERM and SIGHUP as SIGINT. One that is ignored stays ignored."""
    before = {}
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # Ctrl-C is ignored, as in a script's background job
        raise KeyboardInterrupt
    handler(number, frame)
