"""The loop. Each worker takes the next job nobody has taken, until there are none.

What breaks becomes a `Failure` of its sample and never stops the run. What holds the run
together (the stream of jobs, the journal, the memory) is not guarded: if it breaks, the run stops.
"""

import asyncio
from collections.abc import Iterable, Mapping

from msgspec import Struct

from evalwright.engine.journal import Journal
from evalwright.engine.keys import key_of
from evalwright.engine.stop import Stop
from evalwright.errors import StageError, Stopped, boundary
from evalwright.plan.plan import Job
from evalwright.ports import Case, Memory, Model, Sandbox, Scorer, Solver
from evalwright.types import Failure, Outcome, Score, Trace


class Crew(Struct, frozen=True, kw_only=True):
    """Who does the work; `api` introduces them."""

    models: Mapping[str, Model]
    solver: Solver
    scorers: Mapping[str, Scorer]
    sandbox: Sandbox | None = None
    packages: tuple[str, ...] = ()
    """What programs in the sandbox may import beside the standard library."""
    memory: Memory | None = None
    """What earlier runs have paid for; None where there was none."""


async def run(
    jobs: Iterable[Job], crew: Crew, journal: Journal, *, workers: int, stop: Stop | None = None
) -> None:
    """Attempt every job; hand each outcome to the journal as it lands."""
    stop = stop or Stop()
    todo = iter(jobs)

    async def work() -> None:
        for job in todo:  # shared: each worker takes the next job nobody has taken
            stop.in_flight += 1
            try:
                outcome = await attempt(job, crew)
            except Stopped as reason:
                stop.request(str(reason), hint=reason.hint)
                return
            finally:
                stop.in_flight -= 1
            stop.after(outcome)
            await journal.put(outcome)
            if stop.requested:
                return

    writing: asyncio.Task[None] | None = None
    try:
        async with asyncio.TaskGroup() as group:
            writing = group.create_task(journal.write_all())
            working = [group.create_task(work()) for _ in range(workers)]
            stop.tasks = working
            await asyncio.wait(working)
            journal.close()
            await writing
    except ExceptionGroup as broken:  # one cause; the other workers were only told to stop
        raise broken.exceptions[0] from None
    finally:
        if writing is not None and writing.cancelled():  # what has landed was paid for
            journal.flush()


async def attempt(job: Job, crew: Crew) -> Outcome:
    """Solve, then score. The one place where an exception becomes data."""
    model = crew.models[job.model]
    case = Case(sample=job.sample, model=model, sandbox=crew.sandbox, trial=job.trial)
    trace: Trace | None = None
    scores: dict[str, Score] = {}
    failure: Failure | None = None
    solve_key, score_keys = solve_key_of(job, crew), {}
    known = crew.memory.trace(solve_key) if crew.memory else None
    try:
        with boundary("solver"):
            solver = crew.solver
            trace = solver.revised(job.sample, known) if known else await solver.solve(case)
        score_keys = score_keys_of(job, crew, solve_key, trace)
        scores = _remembered(crew, score_keys)
        with boundary("score"):
            solved = case.solved(trace)
            for name, scorer in crew.scorers.items():
                if name not in scores:
                    scores[name] = await scorer.score(solved)
    except StageError as error:
        scores = {}
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
        ordinal=job.ordinal,
        trial=job.trial,
        group=job.group,
        trace=trace,
        scores=scores,
        failure=failure,
        solve_key=solve_key,
        score_keys=score_keys,
    )


def solve_key_of(job: Job, crew: Crew) -> str:
    """Of the trace; the id, because a recorded answer is found by it."""
    return key_of(
        crew.solver.name,
        str(crew.solver.version),
        job.sample.id,
        crew.solver.reads(job.sample),
        job.model,
        crew.models[job.model].fingerprint,
        str(job.trial),
    )


def score_keys_of(job: Job, crew: Crew, solve_key: str, trace: Trace) -> dict[str, str]:
    """Of each scorer's score. The output, because a model asked again may have said another."""
    parts = (solve_key, trace.output)
    held = _held(crew)
    return {
        name: key_of(*parts, name, str(scorer.version), scorer.reads(job.sample), *held)
        for name, scorer in crew.scorers.items()
    }


def _held(crew: Crew) -> tuple[str, ...]:
    """A verdict that could be forged is no other's; and a package may be all a program lacked."""
    box = crew.sandbox
    return (box.tier, f"verified={box.verified}", *crew.packages) if box else ()


def _remembered(crew: Crew, score_keys: Mapping[str, str]) -> dict[str, Score]:
    if crew.memory is None:
        return {}
    found = {name: crew.memory.score(key) for name, key in score_keys.items()}
    return {name: score for name, score in found.items() if score is not None}
