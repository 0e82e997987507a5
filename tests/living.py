"""Which processes live, and whether they end in time."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 600.0
"""Longer than anything takes on a busy machine: only what hangs reaches it."""


def is_running(pid: int) -> bool:
    """Whether a process lives: a zombie that nobody has reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def ends(pid: int) -> bool:
    """Whether it is gone, or goes in time."""
    until = time.monotonic() + PATIENCE_S
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def descendants(pid: int) -> set[int]:
    """Every process below `pid`, and itself."""
    found = {pid}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        found |= descendants(int(child))
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    """Fail when it does not come true in time."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)
