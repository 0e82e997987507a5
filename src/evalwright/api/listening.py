"""The work on an evaluation, for somebody who wants to hear what its snippets print."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evalwright.api.evaluate import DocumentWork
from evalwright.api.options import RunOptions, Unwatched

if TYPE_CHECKING:
    from evalwright.api.prepare import Prepared
    from evalwright.engine.stop import Stop
    from evalwright.ports import Store
    from evalwright.types import Run


class Patience(Unwatched):
    """Passes on what is said, and keeps whether somebody has lost it."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.lost = False

    def tell(self, text: str) -> None:
        """Pass it on."""
        self._tell(text)

    def end(self, *, interrupted: bool) -> None:
        """Keep it."""
        self.lost = interrupted


class ListeningWork(DocumentWork):
    """Keeps what is printed, without secrets, and why it has ended before its end."""

    def __init__(
        self,
        prepared: "Prepared",
        store: "Store",
        options: RunOptions,
        *,
        tell: Callable[[str], None],
    ) -> None:
        self.patience = Patience(tell)
        super().__init__(prepared, store, options, watch=self.patience)
        self.printed: list[str] = []
        self.stop: Stop | None = None

    def _printed(self, line: str) -> None:
        self.printed.append(self.redactor.clean(line))

    def _ended(self, run: "Run", stop: "Stop") -> dict[str, Any]:
        self.stop = stop
        return super()._ended(run, stop)
