"""The interface through which a run reports its progress."""

from collections.abc import Sequence
from typing import Any, Protocol

from evalwright.types import Outcome


class Progress(Protocol):
    """Receives the progress of a run."""

    def begin(self, total: int, done: int, counters: Any, *, noun: str = "samples") -> None:
        """Called before the first job; `counters` is live, `noun` names what a job is."""

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        """Called after these outcomes were stored."""

    def tell(self, text: str) -> None:
        """Show a message to the user."""

    def end(self, *, interrupted: bool) -> None:
        """Called after the last job; `interrupted` if the user stopped the run."""


class SilentProgress:
    """Shows nothing."""

    def begin(self, total: int, done: int, counters: Any, *, noun: str = "samples") -> None:
        """Nothing to do."""

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to do."""

    def tell(self, text: str) -> None:
        """Nothing to do."""

    def end(self, *, interrupted: bool) -> None:
        """Nothing to do."""
