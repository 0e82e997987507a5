"""What a process is at, in memory that it shares with the engine.

A mark costs no system call, and stays when the process is gone: whoever ended it is known. Engine
and child read the same clock.
"""

import mmap
import struct
import time

SLOTS = 65
"""One for the main thread, and one for each thread that an author's function runs in."""
SIZE = 4096

_SLOT = struct.Struct("=qd")


class Marks:
    """One number a slot: of a call, below 0 of a source that is loaded, 0 for nothing."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, SIZE)

    def begin(self, number: int, slot: int = 0) -> None:
        """From now on this."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, number, time.monotonic())

    def end(self, slot: int = 0) -> None:
        """From now on nothing."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, 0, 0.0)

    def read(self) -> list[tuple[int, int, float]]:
        """Slot by slot what is under way, and since when."""
        slots = enumerate(_SLOT.iter_unpack(self._memory[: SLOTS * _SLOT.size]))
        return [(slot, number, since) for slot, (number, since) in slots if number]

    def beat(self, *, alive: bool) -> None:
        """Say that the loop goes round; or that it need not."""
        _SLOT.pack_into(self._memory, SLOTS * _SLOT.size, 0, time.monotonic() if alive else 0.0)

    def beaten(self) -> float:
        """When the loop last went round; 0 if it need not."""
        _, since = _SLOT.unpack_from(self._memory, SLOTS * _SLOT.size)
        return float(since)

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
