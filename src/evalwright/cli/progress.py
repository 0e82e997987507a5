"""Show the progress of a run: one line that is updated on a terminal, new lines elsewhere."""

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from time import monotonic
from typing import Any

import click

from evalwright.report.tables import dollars
from evalwright.types import Outcome

_SECONDS_BETWEEN = 0.1
_SECONDS_BETWEEN_LINES = 30.0


class TerminalProgress:
    """Counts only what is stored."""

    def __init__(self) -> None:
        self.interrupted = False
        self._live = sys.stderr.isatty()
        self._total = self._done = self._before = self._failed = self._tokens = 0
        self._cost: float | None = 0.0
        self._counters: Any = None
        self._started = self._shown = monotonic()

    def begin(self, total: int, done: int, counters: Any, *, noun: str = "samples") -> None:
        """Start; an earlier invocation completed `done` samples or trials."""
        self._total, self._done, self._before, self._counters = total, done, done, counters
        self._started = self._shown = monotonic()
        if done:
            self.tell(f"resuming: {done:,} of {total:,} {noun} are done")

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        """Count samples that are stored now."""
        for outcome in outcomes:
            self._done += 1
            self._failed += outcome.failure is not None
            answer = [outcome.trace.usage] if outcome.trace else []
            for usage in (*answer, *outcome.others.values()):
                self._tokens += usage.total_tokens
                cost = usage.cost
                self._cost = None if cost is None or self._cost is None else self._cost + cost
        now = monotonic()
        if now - self._shown > (_SECONDS_BETWEEN if self._live else _SECONDS_BETWEEN_LINES):
            self._shown = now
            self._show(self._line(now))

    def tell(self, text: str) -> None:
        """Print a message on its own line."""
        self._clear()
        click.echo(text, err=True)

    def end(self, *, interrupted: bool) -> None:
        """Remove the progress line."""
        self.interrupted = interrupted
        self._clear()

    def _line(self, now: float) -> str:
        rate = (self._done - self._before) / max(now - self._started, 1e-9)
        left = (self._total - self._done) / rate if rate else 0.0
        parts = [
            f"{self._done:,}/{self._total:,}",
            f"{self._failed:,} failed",
            f"{rate:,.1f}/s",
            f"{_duration(left)} left",
        ]
        if self._tokens:
            parts.append(f"{self._tokens:,} tokens")
        if self._cost:
            parts.append(dollars(self._cost))
        if self._counters is not None:
            parts.append(f"{self._counters.in_flight} in flight")
            if self._counters.retries:
                parts.append(f"{self._counters.retries:,} retries")
        return "  ".join(parts)

    def _show(self, line: str) -> None:
        if not self._live:
            click.echo(line, err=True)
            return
        width = get_terminal_size().columns
        click.echo(f"\r\033[K{line[: width - 1]}", nl=False, err=True)

    def _clear(self) -> None:
        if self._live:
            click.echo("\r\033[K", nl=False, err=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
