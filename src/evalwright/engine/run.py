"""The loop. Each worker takes the next job nobody has taken, until there are none.

What breaks becomes a `Failure` of its sample and never stops the run. What holds the run
together (the stream of jobs, the journal, the memory) is not guarded: if it breaks, the run stops.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import dumps
from typing import Any, NamedTuple

from msgspec import Struct, field, structs
from msgspec.json import encode

from evalwright.engine.journal import Journal
from evalwright.engine.stop import Stop
from evalwright.engine.usage import UsageCounter, add_usage
from evalwright.errors import StageError, Stopped, boundary
from evalwright.plan.keys import key_of
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.ports import Case, Memory, Model, Sandbox, Scorer, Snippets, Solver
from evalwright.types import Failure, Outcome, Part, Sample, Score, Trace, Usage


class Resources(Struct, frozen=True, kw_only=True):
    """The models, components and services that jobs are run with."""

    models: Mapping[str, Model]
    tasks: Mapping[str, TaskRuntime]
    """By the name of the task."""
    sandbox: Sandbox | None = None
    packages: tuple[str, ...] = ()
    """What programs in the sandbox may import beside the standard library."""
    snippets: Snippets | None = None
    memory: Memory | None = None
    """What earlier runs have paid for; None where there was none."""
    by_sample: frozenset[str] = frozenset()
    """The models that look at the sample's row, and not only at what they are asked."""
    stand_ins: Mapping[str, Model] = {}
    """Who stands in for models where answers are made: they may be asked as judges all the same."""

    def answers(self, name: str) -> Model:
        """The model of that name where an answer is made, or who stands in for it."""
        return self.stand_ins.get(name) or self.models[name]

    def case(self, job: Job, tally: UsageCounter | None = None) -> Case:
        """A job, with all that may be used for it."""
        task = self.tasks[job.task]
        others = (
            {name: self.models[of] for name, of in task.other_models.items()}
            if task.other_models
            else {}
        )
        if tally:
            others = {
                name: tally.wrap(one, task.other_models[name]) for name, one in others.items()
            }
        return Case(
            sample=job.sample,
            model=self.answers(job.model),
            sandbox=self.sandbox,
            trial=job.trial,
            models=others,
            snippets=self.snippets,
            task=task.ml_task,
        )


async def run(
    jobs: Iterable[Job],
    resources: Resources,
    journal: Journal,
    *,
    workers: int,
    stop: Stop | None = None,
) -> None:
    """Attempt every job; hand each outcome to the journal as it lands."""
    stop = stop or Stop()
    todo = iter(jobs)

    async def work() -> None:
        for job in todo:  # shared: each worker takes the next job nobody has taken
            stop.in_flight += 1
            try:
                outcome = await attempt(job, resources)
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


_SOLVING, _SCORING = boundary("solver"), boundary("score")


async def attempt(job: Job, resources: Resources) -> Outcome:
    """Solve, then score. The one place where an exception becomes data."""
    task = resources.tasks[job.task]
    memory = None if task.ignores_memory else resources.memory
    tally, paid = UsageCounter() if task.counts_other_usage else None, UsageCounter()
    others: dict[str, Usage] = tally.usage if tally else {}
    case = resources.case(job, tally)
    trace: Trace | None = None
    judged = Judged()
    parts: tuple[Part, ...] = ()
    solve_key, failure = "", None
    fanned: Sequence[tuple[dict[str, Any], dict[str, Any]]] | None = None
    try:
        if task.solver:
            with _SOLVING:
                solve_key = solve_key_of(job, resources)
            known = memory.trace(solve_key, job.task) if memory and solve_key else None
            with _SOLVING:
                asking = structs.replace(case, model=paid.wrap(case.model, job.model))
                trace = await _solved(asking, task.solver, known)
                case = case.with_trace(trace)
                fanned = await _fanned(case, task)
    except StageError as error:
        failure = _failure(error)
        if trace is None:  # no trace will say what its calls have cost
            add_usage(others, paid.usage)
    else:
        if tally:
            case = structs.replace(case, model=tally.wrap(case.model, job.model))
        if fanned is None:
            judged = await _judged(
                case,
                task,
                Known(task.scorers, solve_key, memory, sandbox_facts(resources), job.task),
            )
            failure = judged.failure
        else:
            each = [await _part(case, task, *one) for one in fanned]
            parts = tuple(part for part, _ in each)
            failure = next((broken for _, broken in each if broken), None)
    return Outcome(
        task=job.task,
        model=job.model,
        sample_id=job.sample.id,
        ordinal=job.ordinal,
        trial=job.trial,
        group=job.group,
        trace=trace,
        scores=judged.scores,
        failure=failure,
        solve_key=solve_key,
        score_keys=judged.keys,
        sample=job.sample.data if isinstance(job.sample.data, dict) else {},
        others=others,
        parts=parts,
    )


async def _solved(case: Case, solver: Solver, known: Trace | None) -> Trace:
    return solver.reuse(case.sample, known) if known else await solver.solve(case)


async def _fanned(
    case: Case, task: TaskRuntime
) -> Sequence[tuple[dict[str, Any], dict[str, Any]]] | None:
    if task.postprocessor is None:
        return None
    return await task.postprocessor.apply(case.sample.data, case.trace.conversation, case.snippets)


async def _part(
    case: Case, task: TaskRuntime, sample: dict[str, Any], conversation: dict[str, Any]
) -> tuple[Part, Failure | None]:
    trace = structs.replace(case.trace, conversation=conversation)
    one = structs.replace(case, sample=Sample(case.sample.id, sample), answer=trace)
    judged = await _judged(one, task, None)
    return Part(sample=sample, trace=trace, scores=judged.scores), judged.failure


class Judged(Struct):
    """What the scorers said of one sample, and the first thing that broke."""

    scores: dict[str, Score] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None


class Known(NamedTuple):
    """Where to look a score up before it is made, and under which key."""

    scorers: Mapping[str, Scorer]
    solve_key: str
    memory: Memory | None = None
    held: tuple[str, ...] = ()
    """How programs are held."""
    task: str = ""


async def _judged(case: Case, task: TaskRuntime, known: Known | None) -> Judged:
    """Every scorer that can judge does; one that breaks takes no other with it."""
    judged = Judged()
    for name, scorer in task.scorers.items():
        try:
            with _SCORING:
                key = score_key_of(case, name, known) if known else ""
            found = known.memory.score(key, known.task) if known and known.memory else None
            with _SCORING:
                score = scorer.reuse(found) if found else None
                asking = structs.replace(case, known=found) if found else case
                judged.scores[name] = score or await scorer.score(asking)
            if key:
                judged.keys[name] = key
        except StageError as error:
            judged.failure = judged.failure or _failure(error, name, of=len(task.scorers))
    return judged


def _failure(error: StageError, scorer: str = "", *, of: int = 1) -> Failure:
    return Failure(
        stage=error.stage,
        type=error.type,
        message=f"`{scorer}`: {error}" if of > 1 else str(error),
        hint=error.hint,
        attempts=error.attempts,
    )


def solve_key_of(job: Job, resources: Resources) -> str:
    """Of the trace; the id, because a recorded answer is found by it."""
    task = resources.tasks[job.task]
    solver = task.solver
    if solver is None:
        return ""
    parts = (
        solver.name,
        str(solver.version),
        job.sample.id,
        solver.describe_inputs(job.sample),
        job.model,
        resources.answers(job.model).fingerprint,
        str(job.trial),
    )
    chat = task.ml_task == "chat_completion"
    return key_of(
        *parts,
        *(() if chat else (task.ml_task,)),
        *_others(solver, task, resources),
        *_seen(job, solver, resources),
    )


def _others(solver: Solver, task: TaskRuntime, resources: Resources) -> Iterator[str]:
    """The models that a solver asks beside the evaluated one change its answers, too."""
    for name in getattr(solver, "model_keys", ()):
        yield resources.answers(task.other_models[name]).fingerprint


def _seen(job: Job, solver: Solver, resources: Resources) -> Iterator[str]:
    """The row, where a model looks at it. A record's script answers by its id, which is a part."""
    if not resources.by_sample or not isinstance(job.sample.data, dict):
        return
    others = resources.tasks[job.task].other_models
    asked = {job.model, *(others[name] for name in getattr(solver, "model_keys", ()))}
    if asked & resources.by_sample:
        yield dumps(job.sample.data, sort_keys=True, default=str)


def score_key_of(case: Case, name: str, known: Known) -> str:
    """Of one scorer's score. The output, because a model asked again may have said another."""
    scorer = known.scorers[name]
    said = _said(case.answer) if case.answer else ()
    parts = (
        known.solve_key,
        *(said or ("",)),
        name,
        str(scorer.version),
        scorer.describe_inputs(case.sample),
    )
    asked = (case.models[one].fingerprint for one in getattr(scorer, "model_keys", ()))
    held = known.held if getattr(scorer, "needs_sandbox", True) else ()
    return key_of(*parts, *asked, *held)


def _said(trace: Trace) -> tuple[str, ...]:
    """Of a conversation all of it: scorers of documents look at every message."""
    if not trace.conversation:
        return (trace.output,)
    return trace.output, encode(trace.conversation, enc_hook=repr).decode()


def sandbox_facts(resources: Resources) -> tuple[str, ...]:
    """A verdict that could be forged is no other's; and a package may be all a program lacked."""
    box = resources.sandbox
    return (box.tier, f"verified={box.verified}", *resources.packages) if box else ()
