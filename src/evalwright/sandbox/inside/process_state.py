"""What a target changes around the program, and not in it: environment, stdin, seed.

In one process the program would see these changes. Here they are sent to the candidate before each
request: the target makes them in order that the program sees them, as it passes arguments.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from typing import Any


class ProcessState:
    """What the candidate has been sent."""

    def __init__(self, text: str) -> None:
        """`text` is that of all targets. What it does not name is not watched."""
        is_seeding = "random" in text and ("seed" in text or "setstate" in text)
        self._watched = [
            watch
            for is_named, watch in (
                ("environ" in text, self._watch_environment),
                ("stdin" in text, self._watch_stdin),
                (is_seeding, self._watch_randomness),
            )
            if is_named
        ]
        self._environment = dict(os.environ)
        self._stdin: Any = sys.stdin
        self._texts: list[io.StringIO] = []
        """What was sent as stdin."""
        self._is_seeded = False
        if is_seeding:
            self._observe_randomness()

    def send_changes(self, ask: Callable[..., Any]) -> None:
        """Send what has changed since the last time."""
        for watch in self._watched:
            watch(ask)

    def _watch_environment(self, ask: Callable[..., Any]) -> None:
        before, now = self._environment, dict(os.environ)
        if now != before:
            self._environment = now
            changed = {name: text for name, text in now.items() if before.get(name) != text}
            ask("environ", changed, [name for name in before if name not in now])

    def _watch_stdin(self, ask: Callable[..., Any]) -> None:
        """Only text in memory is sent. Anything else leaves the program its own stdin."""
        stdin: Any = sys.stdin
        if stdin is self._stdin:
            return
        self._stdin = stdin
        if type(stdin) is not io.StringIO or stdin.closed:
            ask("stdin", 0, None)
            return
        for number, text in enumerate(self._texts, start=1):
            if text is stdin:  # of which the program may have read a part
                ask("stdin", number, None)
                return
        self._texts.append(stdin)
        at = stdin.tell()
        ask("stdin", len(self._texts), stdin.read())
        stdin.seek(at)

    def _watch_randomness(self, ask: Callable[..., Any]) -> None:
        """Send the state at the time of the request: a target may draw numbers before."""
        if self._is_seeded:
            self._is_seeded = False
            ask("seed", sys.modules["random"].getstate())

    def _observe_randomness(self) -> None:
        import random  # runs something at every fork

        def observe(function: Callable[..., None]) -> Callable[..., None]:
            def seed(*args: Any, **kwargs: Any) -> None:
                function(*args, **kwargs)
                self._is_seeded = True

            return seed

        random.seed = observe(random.seed)
        random.setstate = observe(random.setstate)
