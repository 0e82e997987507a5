"""Show the progress of a run: a display that is redrawn on a terminal, new lines elsewhere.

In a notebook, one line of plain text is replaced. On a terminal there is one line, and below it one
line per model if several are compared. A line never breaks: parts drop out until it fits. What is
drawn is erased before anything else is printed and when the run ends or is interrupted.
"""

import os
import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evalwright.report.messages import print_message, write_message
from evalwright.report.tables import dollars, shorten
from evalwright.text.visible import visible
from evalwright.types import Outcome

if TYPE_CHECKING:  # needs statistics, which a start does not load
    from evalwright.session.progress import RunningScores

_SECONDS_BETWEEN = 0.1
_SECONDS_BETWEEN_LINES = 30.0
_WIDEST_BAR, _NARROWEST_BAR, _BAR_DROPS = 30, 6, 6
_DUMB = "dumb"
_NOTEBOOK = "ipykernel"
"""The module of the process that runs the cells of a notebook."""


class LinePart(NamedTuple):
    """A part of the line; the one with the highest `drops` is left out first."""

    text: str
    drops: int
    style: str = ""


class TerminalProgress:
    """Counts only what is stored."""

    def __init__(self) -> None:
        self.interrupted = False
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != _DUMB
        self._replaces_line = not self._live and _NOTEBOOK in sys.modules
        self._width = 0
        """Characters of the line in a notebook."""
        self._has_colour = "NO_COLOR" not in os.environ
        self._total = self._done = self._before = self._failed = self._tokens = 0
        self._cost: float | None = 0.0
        self._counters: Any = None
        self._scores: RunningScores | None = None
        self._drawn = 0
        """Lines on the terminal."""
        self._started = self._shown = monotonic()

    def begin(
        self,
        total: int,
        done: int,
        counters: Any,
        *,
        noun: str = "samples",
        scores: "RunningScores | None" = None,
    ) -> None:
        """Start; an earlier invocation completed `done` samples or trials."""
        self._total, self._done, self._before, self._counters = total, done, done, counters
        self._scores = scores
        self._started = self._shown = monotonic()
        if done:
            self.tell(f"resuming: {done:,} of {total:,} {noun} are done")
        if self._live:
            self._draw(self._started)

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
            if self._live and self._scores is not None:
                self._scores.add(outcome)
        now = monotonic()
        if now - self._shown > self._seconds_between or self._is_last_line:
            self._shown = now
            if self._live:
                self._draw(now)
            elif self._replaces_line:
                self._replace_line(now)
            else:
                write_message(f"{self._plain_line(now)}\n")

    def on_done_elsewhere(self) -> None:
        """Count a sample that another process has stored; the rate does not include it."""
        self._done += 1
        self._before += 1

    def tell(self, text: str) -> None:
        """Print a message on its own line."""
        self._clear()
        print_message(text)

    def end(self, *, interrupted: bool) -> None:
        """Remove the progress line."""
        self.interrupted = interrupted
        self._clear()

    def _plain_line(self, now: float) -> str:
        rate, left = self._rate(now)
        parts = [
            f"{self._done:,}/{self._total:,}",
            f"{self._failed:,} failed",
            f"{rate:,.1f}/s",
            f"{_format_duration(left)} left",
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

    def _rate(self, now: float) -> tuple[float, float]:
        """Return jobs per second, and the seconds that are left at this rate."""
        rate = (self._done - self._before) / max(now - self._started, 1e-9)
        return rate, (self._total - self._done) / rate if rate else 0.0

    def _draw(self, now: float) -> None:
        width = _terminal_width() - 1  # the last column would wrap
        means = list(self._scores.describe()) if self._scores is not None else []
        lines = [self._live_line(now, width, means[0][1] if len(means) == 1 else "")]
        if len(means) > 1:
            lines += _model_lines(means, width)
        self._clear()
        write_message("\n".join(lines), color=self._has_colour)
        self._drawn = len(lines)

    def _live_line(self, now: float, width: int, mean: str) -> str:
        rate, left = self._rate(now)
        has_started = self._done > self._before
        parts = [
            LinePart(f"{self._done:,}/{self._total:,}", 0, "bold"),
            LinePart(f"{rate:,.1f}/s" if has_started else "", 5),
            LinePart(f"{_format_duration(left)} left" if has_started else "", 2),
            LinePart(f"{self._failed:,} failed" if self._failed else "", 1, "red"),
            LinePart(dollars(self._cost) if self._cost else "", 4),
            LinePart(mean, 3),
            *self._traffic_parts(),
        ]
        share = self._done / self._total if self._total else 1.0
        return fit_line(parts, width, share=share, has_colour=self._has_colour)

    def _traffic_parts(self) -> list[LinePart]:
        parts = []
        if self._counters is not None and self._counters.retries:
            parts.append(LinePart(f"{self._counters.retries:,} retries", 7))
        if self._tokens:
            parts.append(LinePart(f"{self._tokens:,} tokens", 9))
        if self._counters is not None:
            parts.append(LinePart(f"{self._counters.in_flight} in flight", 8))
        return parts

    @property
    def _seconds_between(self) -> float:
        is_redrawn = self._live or self._replaces_line
        return _SECONDS_BETWEEN if is_redrawn else _SECONDS_BETWEEN_LINES

    @property
    def _is_last_line(self) -> bool:
        """Whether a notebook, which keeps the line, would otherwise not show the last outcome."""
        return self._replaces_line and self._done >= self._total

    def _replace_line(self, now: float) -> None:
        """Write over the line: notebooks know carriage returns, and no other control characters."""
        line = self._plain_line(now)
        write_message(f"\r{line:<{self._width}}")
        self._width = len(line)

    def _clear(self) -> None:
        if self._width:
            write_message("\n")
            self._width = 0
        if self._live and self._drawn:
            up = f"\033[{self._drawn - 1}A" if self._drawn > 1 else ""
            write_message(f"\r{up}\033[J", color=True)
            self._drawn = 0


def _terminal_width() -> int:
    """Return the width of the terminal that stderr is; stdout may be a file."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or get_terminal_size().columns
    except (OSError, ValueError):
        return get_terminal_size().columns


def fit_line(parts: Sequence[LinePart], width: int, *, share: float, has_colour: bool) -> str:
    """Join the parts that fit, with a bar for `share` in what is left of the width."""
    bar = LinePart(" " * _NARROWEST_BAR, _BAR_DROPS)
    shown = [bar, *(part for part in parts if part.text)]
    while len(shown) > 1 and _joined_width(shown) > width:
        shown.remove(max(shown, key=lambda part: part.drops))
    texts = [_style(part, has_colour=has_colour) for part in shown if part is not bar]
    if shown[0] is bar:
        room = min(_NARROWEST_BAR + width - _joined_width(shown), _WIDEST_BAR)
        full = int(share * room)
        done = _style(LinePart("█" * full, 0, "green"), has_colour=has_colour)
        texts.insert(0, done + "░" * (room - full))
    return "  ".join(texts) if _joined_width(shown) <= width else ""


def _joined_width(parts: Sequence[LinePart]) -> int:
    return sum(len(part.text) + 2 for part in parts) - 2


def _style(part: LinePart, *, has_colour: bool) -> str:
    if not (has_colour and part.style and part.text):
        return part.text
    if part.style == "bold":
        return click.style(part.text, bold=True)
    return click.style(part.text, fg=part.style)


def _model_lines(means: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return one line per model; names that are too long lose their middle."""
    texts = [mean or "no score yet" for _, mean in means]
    room = max(width - max(map(len, texts)) - 4, 1)
    names = [shorten(visible(model), room) for model, _ in means]
    longest = max(map(len, names))
    rows = zip(names, texts, strict=True)
    return [f"  {name:<{longest}}  {text}"[:width] for name, text in rows]


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
