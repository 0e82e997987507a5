"""The loop. Each worker takes the next job nobody has taken, until there are none.

What breaks becomes a `Failure` of its sample and never stops the run. What holds the run
together (the stream of jobs, the journal) is not guarded: if it breaks, the run stops.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from evalwright.errors import StageError, boundary
from evalwright.plan.plan import Job
from evalwright.ports import Case, Model, Sandbox, Scorer, Solver
from evalwright.types import Failure, Outcome, Score, Trace


class Crew(Struct, frozen=True, kw_only=True):
    """Who does the work; `api` introduces them."""

    models: Mapping[str, Model]
    solver: Solver
    scorers: Mapping[str, Scorer]
    sandbox: Sandbox | None = None


async def run(
    jobs: Iterable[Job], crew: Crew, journal: Callable[[Outcome], None], *, workers: int
) -> None:
    """Attempt every job; hand each outcome to `journal` as it lands."""
    todo = iter(jobs)

    async def work() -> None:
        for job in todo:  # shared: each worker takes the next job nobody has taken
            journal(await attempt(job, crew))
            await asyncio.sleep(0)  # a model that never waits must not keep Ctrl-C waiting

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
    except ExceptionGroup as broken:  # one cause; the other workers were only told to stop
        raise broken.exceptions[0] from None


async def attempt(job: Job, crew: Crew) -> Outcome:
    """Solve, then score. The one place where an exception becomes data."""
    case = Case(
        sample=job.sample, model=crew.models[job.model], sandbox=crew.sandbox, trial=job.trial
    )
    trace: Trace | None = None
    scores: dict[str, Score] = {}
    failure: Failure | None = None
    try:
        with boundary("solver"):
            trace = await crew.solver.solve(case)
        with boundary("score"):
            solved = case.solved(trace)
            scores = {name: await scorer.score(solved) for name, scorer in crew.scorers.items()}
    except StageError as error:
        failure = Failure(
            stage=error.stage,
            type=error.type,
            message=str(error),
            hint=error.hint,
            attempts=error.attempts,
        )
    return Outcome(
        task=job.task,
        model=job.model,
        sample_id=job.sample.id,
        trial=job.trial,
        group=job.group,
        trace=trace,
        scores=scores,
        failure=failure,
    )
