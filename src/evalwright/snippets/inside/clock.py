"""The time of a call, which stands still while it waits for the model."""

import asyncio
from collections.abc import Callable


class Clock:
    """Calls `expired` when the time has run out."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, seconds: float, expired: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._left_s = seconds
        self._expired = expired
        self._stops = 1
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def go(self) -> None:
        """Go on, once for every stop; it begins with one."""
        self._stops -= 1
        if not self._stops:
            self._since = self._loop.time()
            self._timer = self._loop.call_later(self._left_s, self._expired)

    def stop(self) -> None:
        """Stand still, until as many have gone on."""
        self._stops += 1
        if self._timer is not None:
            self._left_s -= self._loop.time() - self._since
            self._timer.cancel()
            self._timer = None
