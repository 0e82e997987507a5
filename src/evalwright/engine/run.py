"""The loop. Each worker takes the next job nobody has taken, until there are none.

What breaks becomes a `Failure` of its sample and never stops the run. What holds the run
together (the stream of jobs, the journal, the memory) is not guarded: if it breaks, the run stops.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import dumps
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field, structs
from msgspec.json import encode

from evalwright.engine.journal import Journal
from evalwright.engine.keys import key_of
from evalwright.engine.stop import Stop
from evalwright.engine.tally import Tally, merge
from evalwright.errors import StageError, Stopped, boundary
from evalwright.plan.plan import Job
from evalwright.ports import Case, Memory, Model, Sandbox, Scorer, Snippets, Solver
from evalwright.types import Failure, MLTask, Outcome, Part, Sample, Score, Trace, Usage


class Fanning(Protocol):
    """What makes several samples of one, after it was solved."""

    async def apply(
        self, sample: dict[str, Any], conversation: dict[str, Any], snippets: Snippets | None
    ) -> Sequence[tuple[dict[str, Any], dict[str, Any]]]:
        """Samples, each with its conversation."""
        ...


class Team(Struct, frozen=True, kw_only=True):
    """Who works on one task."""

    solver: Solver | None = None
    """None where there is nothing to ask: the samples themselves are scored."""
    scorers: Mapping[str, Scorer] = {}
    postprocessor: Fanning | None = None
    others: Mapping[str, str] = {}
    """The crew's names of the models that the task calls by its own."""
    task: MLTask = "chat_completion"
    tallies: bool = False
    """Whether anything asks a model beside the solver that asks the evaluated one."""
    forgetful: bool = False
    """Whether nothing that earlier runs have paid for is used: how far runs agree is the point."""


class Crew(Struct, frozen=True, kw_only=True):
    """Who does the work; `api` introduces them."""

    models: Mapping[str, Model]
    teams: Mapping[str, Team]
    """By the name of the task."""
    sandbox: Sandbox | None = None
    packages: tuple[str, ...] = ()
    """What programs in the sandbox may import beside the standard library."""
    snippets: Snippets | None = None
    memory: Memory | None = None
    """What earlier runs have paid for; None where there was none."""
    by_sample: frozenset[str] = frozenset()
    """The models that look at the sample's row, and not only at what they are asked."""
    answering: Mapping[str, Model] = {}
    """Who stands in for models where answers are made: they may be asked as judges all the same."""

    def answers(self, name: str) -> Model:
        """The model of that name where an answer is made, or who stands in for it."""
        return self.answering.get(name) or self.models[name]

    def case(self, job: Job, tally: Tally | None = None) -> Case:
        """A job, with all that may be used for it."""
        team = self.teams[job.task]
        others = {name: self.models[of] for name, of in team.others.items()} if team.others else {}
        if tally:
            others = {name: tally.around(one, team.others[name]) for name, one in others.items()}
        return Case(
            sample=job.sample,
            model=self.answers(job.model),
            sandbox=self.sandbox,
            trial=job.trial,
            models=others,
            snippets=self.snippets,
            task=team.task,
        )


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


_SOLVING, _SCORING = boundary("solver"), boundary("score")


async def attempt(job: Job, crew: Crew) -> Outcome:
    """Solve, then score. The one place where an exception becomes data."""
    team = crew.teams[job.task]
    memory = None if team.forgetful else crew.memory
    tally, paid = Tally() if team.tallies else None, Tally()
    others: dict[str, Usage] = tally.usage if tally else {}
    case = crew.case(job, tally)
    trace: Trace | None = None
    judged = Judged()
    parts: tuple[Part, ...] = ()
    solve_key, failure = "", None
    fanned: Sequence[tuple[dict[str, Any], dict[str, Any]]] | None = None
    try:
        if team.solver:
            with _SOLVING:
                solve_key = solve_key_of(job, crew)
            known = memory.trace(solve_key, job.task) if memory and solve_key else None
            with _SOLVING:
                asking = structs.replace(case, model=paid.around(case.model, job.model))
                trace = await _solved(asking, team.solver, known)
                case = case.solved(trace)
                fanned = await _fanned(case, team)
    except StageError as error:
        failure = _failure(error)
        if trace is None:  # no trace will say what its calls have cost
            merge(others, paid.usage)
    else:
        if tally:
            case = structs.replace(case, model=tally.around(case.model, job.model))
        if fanned is None:
            judged = await _judged(
                case, team, Known(team.scorers, solve_key, memory, held_by(crew), job.task)
            )
            failure = judged.failure
        else:
            each = [await _part(case, team, *one) for one in fanned]
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
    return solver.revised(case.sample, known) if known else await solver.solve(case)


async def _fanned(case: Case, team: Team) -> Sequence[tuple[dict[str, Any], dict[str, Any]]] | None:
    if team.postprocessor is None:
        return None
    return await team.postprocessor.apply(case.sample.data, case.trace.conversation, case.snippets)


async def _part(
    case: Case, team: Team, sample: dict[str, Any], conversation: dict[str, Any]
) -> tuple[Part, Failure | None]:
    trace = structs.replace(case.trace, conversation=conversation)
    one = structs.replace(case, sample=Sample(case.sample.id, sample), answer=trace)
    judged = await _judged(one, team, None)
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


async def _judged(case: Case, team: Team, known: Known | None) -> Judged:
    """Every scorer that can judge does; one that breaks takes no other with it."""
    judged = Judged()
    for name, scorer in team.scorers.items():
        try:
            with _SCORING:
                key = score_key_of(case, name, known) if known else ""
            found = known.memory.score(key, known.task) if known and known.memory else None
            with _SCORING:
                score = scorer.revised(found) if found else None
                asking = structs.replace(case, known=found) if found else case
                judged.scores[name] = score or await scorer.score(asking)
            if key:
                judged.keys[name] = key
        except StageError as error:
            judged.failure = judged.failure or _failure(error, name, of=len(team.scorers))
    return judged


def _failure(error: StageError, scorer: str = "", *, of: int = 1) -> Failure:
    return Failure(
        stage=error.stage,
        type=error.type,
        message=f"`{scorer}`: {error}" if of > 1 else str(error),
        hint=error.hint,
        attempts=error.attempts,
    )


def solve_key_of(job: Job, crew: Crew) -> str:
    """Of the trace; the id, because a recorded answer is found by it."""
    team = crew.teams[job.task]
    solver = team.solver
    if solver is None:
        return ""
    parts = (
        solver.name,
        str(solver.version),
        job.sample.id,
        solver.reads(job.sample),
        job.model,
        crew.answers(job.model).fingerprint,
        str(job.trial),
    )
    chat = team.task == "chat_completion"
    return key_of(
        *parts,
        *(() if chat else (team.task,)),
        *_others(solver, team, crew),
        *_seen(job, solver, crew),
    )


def _others(solver: Solver, team: Team, crew: Crew) -> Iterator[str]:
    """The models that a solver asks beside the evaluated one change its answers, too."""
    for name in getattr(solver, "model_keys", ()):
        yield crew.answers(team.others[name]).fingerprint


def _seen(job: Job, solver: Solver, crew: Crew) -> Iterator[str]:
    """The row, where a model looks at it. A record's script answers by its id, which is a part."""
    if not crew.by_sample or not isinstance(job.sample.data, dict):
        return
    others = crew.teams[job.task].others
    asked = {job.model, *(others[name] for name in getattr(solver, "model_keys", ()))}
    if asked & crew.by_sample:
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
        scorer.reads(case.sample),
    )
    asked = (case.models[one].fingerprint for one in getattr(scorer, "model_keys", ()))
    return key_of(*parts, *asked, *known.held)


def _said(trace: Trace) -> tuple[str, ...]:
    """Of a conversation all of it: scorers of documents look at every message."""
    if not trace.conversation:
        return (trace.output,)
    return trace.output, encode(trace.conversation, enc_hook=repr).decode()


def held_by(crew: Crew) -> tuple[str, ...]:
    """A verdict that could be forged is no other's; and a package may be all a program lacked."""
    box = crew.sandbox
    return (box.tier, f"verified={box.verified}", *crew.packages) if box else ()
