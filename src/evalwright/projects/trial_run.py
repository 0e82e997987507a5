"""Run the plan of a task once for a trial, and keep what its snippets print."""

from collections.abc import Callable

from msgspec import Struct

from evalwright.engine.stop import Stop
from evalwright.plan.options import RunOptions
from evalwright.plan.outline import PlanOutline
from evalwright.plan.plan import Plan
from evalwright.ports import Store
from evalwright.report.report import Report
from evalwright.secrets import Redactor
from evalwright.session.models import Connector
from evalwright.session.progress import SilentProgress
from evalwright.session.session import Session


class TrialRun(Struct, frozen=True, kw_only=True):
    """The result of a run whose store is discarded."""

    report: Report
    outline: PlanOutline
    redactor: Redactor
    printed: list[str]
    """The lines that snippets printed, without secrets."""
    interrupted: bool
    """Whether the user pressed Ctrl-C."""
    stop: Stop
    """Says why the run ended early, if it did."""


def run_plan(
    plan: Plan,
    store: Store,
    options: RunOptions,
    *,
    connect: Connector,
    tell: Callable[[str], None],
) -> TrialRun:
    """Run all jobs; `tell` receives messages for the user."""
    progress = _TrialProgress(tell)
    printed: list[str] = []
    session = Session(
        plan, store, options, connect=connect, progress=progress, on_print=printed.append
    )
    report = session.run()
    return TrialRun(
        report=report,
        outline=session.outline,
        redactor=session.redactor,
        printed=printed,
        interrupted=progress.interrupted,
        stop=session.stop,
    )


class _TrialProgress(SilentProgress):
    """Forwards messages, and remembers whether the run was interrupted."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.interrupted = False

    def tell(self, text: str) -> None:
        """Forward the message."""
        self._tell(text)

    def end(self, *, interrupted: bool) -> None:
        """Remember whether the run was interrupted."""
        self.interrupted = interrupted
