"""Run asynchronous engine work for a command: signals, progress, and closing what was opened."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from evalwright.engine.journal import Journal
from evalwright.engine.run import Resources
from evalwright.engine.run import run as run_engine
from evalwright.engine.stop import Stop
from evalwright.event_loop import run_async
from evalwright.plan.plan import Job
from evalwright.session.progress import Progress
from evalwright.types import Outcome


def drive(
    work: Callable[[], Coroutine[Any, Any, None]],
    resources: Resources,
    *,
    stop: Stop,
    progress: Progress,
) -> None:
    """Run `work` to its end, or until the user stops it; then close models and snippets."""

    async def run_and_close() -> None:
        with stop.on_signals():
            try:
                await work()
            finally:
                try:
                    if resources.snippets is not None:
                        await resources.snippets.close()
                finally:
                    for model in resources.models.values():
                        await model.close()

    try:
        run_async(run_and_close())
    finally:
        progress.end(interrupted=stop.interrupted)


def drive_jobs(
    jobs: Iterable[Job],
    resources: Resources,
    commit: Callable[[Sequence[Outcome]], None],
    *,
    workers: int,
    stop: Stop,
    progress: Progress,
) -> None:
    """Run jobs without storing a run: `commit` receives their outcomes, in batches."""

    async def work() -> None:
        journal = Journal(commit, on_commit=progress.on_commit)
        await run_engine(jobs, resources, journal, workers=workers, stop=stop)

    drive(work, resources, stop=stop, progress=progress)
