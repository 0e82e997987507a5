"""The main loop. Each worker takes the next free job, until there are none.

An exception becomes a `Failure` of its sample and never stops the run. What holds the run
together (the stream of jobs, the journal, the memory) is not guarded: if it fails, the run stops.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from json import dumps
from typing import Any, NamedTuple

from msgspec import Struct, field, structs
from msgspec.json import encode

from evalwright.engine.journal import Journal
from evalwright.engine.models.base import ModelWrapper
from evalwright.engine.stop import Stop
from evalwright.engine.usage import UsageCounter, add_usage
from evalwright.errors import StageError, Stopped, boundary
from evalwright.plan.keys import key_of
from evalwright.plan.plan import Job, TaskRuntime
from evalwright.ports import Case, Memory, Model, Sandbox, Scorer, Snippets
from evalwright.types import (
    Completion,
    Failure,
    JudgedAnswer,
    Outcome,
    Part,
    Request,
    Sample,
    Score,
    Trace,
    Usage,
)


class Resources(Struct, frozen=True, kw_only=True):
    """The models, components and services that jobs are run with."""

    models: Mapping[str, Model]
    tasks: Mapping[str, TaskRuntime]
    """By the name of the task."""
    sandbox: Sandbox | None = None
    packages: tuple[str, ...] = ()
    """What programs in the sandbox may import besides the standard library."""
    snippets: Snippets | None = None
    memory: Memory | None = None
    """Stored results of earlier runs; None if there are none."""
    by_sample: frozenset[str] = frozenset()
    """The models that read the sample's row, not only the request."""
    stand_ins: Mapping[str, Model] = {}
    """Replacements for models that answer; the models themselves may still be called as judges."""

    def answers(self, name: str) -> Model:
        """Return the model that answers under this name, or its replacement."""
        return self.stand_ins.get(name) or self.models[name]

    def case(
        self, job: Job, model: Model | None = None, *, counter: UsageCounter | None = None
    ) -> Case:
        """Return the case of a job; `counter` counts the usage of the task's other models."""
        task = self.tasks[job.task]
        others: Mapping[str, Model] = {}
        if task.other_models:
            others = {name: self.models[of] for name, of in task.other_models.items()}
        if counter:
            others = {
                name: counter.wrap(other, task.other_models[name]) for name, other in others.items()
            }
        return Case(
            sample=job.sample,
            model=model or self.answers(job.model),
            sandbox=self.sandbox,
            trial=job.trial,
            models=others,
            snippets=self.snippets,
            task=task.ml_task,
            judged=JudgedAnswer(task=job.task, model=job.model)
            if not self.by_sample.isdisjoint(task.other_models.values())
            else None,
        )


async def run(
    jobs: Iterable[Job],
    resources: Resources,
    journal: Journal,
    *,
    workers: int,
    stop: Stop | None = None,
) -> None:
    """Attempt every job; hand each outcome to the journal."""
    stop = stop or Stop()
    todo = iter(jobs)

    async def work() -> None:
        for job in todo:  # shared: each worker takes the next job nobody has taken
            stop.in_flight += 1
            try:
                outcome = await attempt(job, resources)
            except Stopped as reason:
                stop.request(reason.message, hint=reason.hint)
                return
            finally:
                stop.in_flight -= 1
            stop.after(outcome)
            await journal.add(outcome)
            if stop.is_stopping:
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
    model, answering = resources.answers(job.model), UsageCounter()
    counter = UsageCounter() if task.counts_other_usage else None
    others: dict[str, Usage] = counter.usage if counter else {}
    trace: Trace | None = None
    scoring = Scoring()
    parts: tuple[Part, ...] = ()
    solve_key, failure = "", None
    split: Sequence[tuple[dict[str, Any], dict[str, Any]]] | None = None
    case = resources.case(job, answering.wrap(model, job.model), counter=counter)
    try:
        if task.solver:
            with _SOLVING:
                solve_key = solve_key_of(job, resources)
            known = memory.trace(solve_key, job.task) if memory and solve_key else None
            with _SOLVING:
                if known:
                    trace = task.solver.reuse(job.sample, known)
                else:
                    trace = await task.solver.solve(case)
                if task.postprocessor is not None:
                    split = await task.postprocessor.apply(
                        job.sample.data, trace.conversation, case.snippets
                    )
    except StageError as error:
        failure = _failure(error)
        if trace is None:  # no trace will say what its calls have cost
            add_usage(others, answering.usage)
    else:
        asked = counter.wrap(model, job.model) if counter else model
        case = structs.replace(case, model=asked, answer=trace)
        if split is None:
            known_scores = KnownScores(solve_key, memory, sandbox_facts(resources), job.task)
            scoring = await _score(case, task, known_scores)
            failure = scoring.failure
        else:
            each = [await _score_part(case, task, *pair) for pair in split]
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
        scores=scoring.scores,
        failure=failure,
        solve_key=solve_key,
        score_keys=scoring.keys,
        sample=job.sample.data if isinstance(job.sample.data, dict) else {},
        others=others,
        parts=parts,
    )


async def _score_part(
    case: Case, task: TaskRuntime, sample: dict[str, Any], conversation: dict[str, Any]
) -> tuple[Part, Failure | None]:
    trace = structs.replace(case.trace, conversation=conversation)
    part = structs.replace(case, sample=Sample(case.sample.id, sample), answer=trace)
    scoring = await _score(part, task, None)
    return Part(sample=sample, trace=trace, scores=scoring.scores), scoring.failure


class Scoring(Struct):
    """The scores of one sample, their keys, and the first failure."""

    scores: dict[str, Score] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    failure: Failure | None = None


class KnownScores(NamedTuple):
    """Where to look up a score before it is computed, and what its key depends on."""

    solve_key: str
    memory: Memory | None = None
    sandbox: tuple[str, ...] = ()
    """The properties of the sandbox that a verdict depends on."""
    task: str = ""


async def _score(case: Case, task: TaskRuntime, known: KnownScores | None) -> Scoring:
    """Run every scorer. A failure of one does not stop the others."""
    scoring = Scoring()
    for name, scorer in task.scorers.items():
        try:
            key, stored = "", None
            if known:
                with _SCORING:
                    key = score_key_of(case, name, scorer, known)
                if known.memory:
                    stored = known.memory.score(key, known.task)
            with _SCORING:
                score = scorer.reuse(stored) if stored else None
                if score is None:
                    asking = structs.replace(case, known=stored) if stored else case
                    score = await scorer.score(tell_judged_answer(asking, name))
                scoring.scores[name] = score
            if key:
                scoring.keys[name] = key
        except StageError as error:
            scoring.failure = scoring.failure or _failure(error, name, of=len(task.scorers))
    return scoring


def _failure(error: StageError, scorer: str = "", *, of: int = 1) -> Failure:
    return Failure(
        stage=error.stage,
        type=error.type,
        message=f"`{scorer}`: {error.message}" if of > 1 else error.message,
        hint=error.hint,
        attempts=error.attempts,
        rule=error.rule,
    )


def solve_key_of(job: Job, resources: Resources) -> str:
    """Return the key of a trace. It includes the sample's id: recorded answers are found by it."""
    task = resources.tasks[job.task]
    solver = task.solver
    if solver is None:
        return ""
    parts = [
        solver.name,
        str(solver.version),
        job.sample.id,
        solver.describe_inputs(job.sample),
        job.model,
        resources.answers(job.model).fingerprint,
        str(job.trial),
    ]
    if task.ml_task != "chat_completion":
        parts.append(task.ml_task)
    others = [task.other_models[name] for name in getattr(solver, "model_keys", ())]
    parts += [resources.answers(name).fingerprint for name in others]
    # A record's script answers by its id, which is a part already.
    reads_row = resources.by_sample and not resources.by_sample.isdisjoint([job.model, *others])
    if reads_row and isinstance(job.sample.data, dict):
        parts.append(dumps(job.sample.data, sort_keys=True, default=str))
    return key_of(*parts)


def score_key_of(case: Case, name: str, scorer: Scorer, known: KnownScores) -> str:
    """Return the key of a score. It includes the output: a model may answer differently."""
    trace = case.answer
    parts = [known.solve_key, trace.output if trace else ""]
    if trace and trace.conversation:  # scorers of documents look at every message
        parts.append(encode(trace.conversation, enc_hook=repr).decode())
    parts += [name, str(scorer.version), scorer.describe_inputs(case.sample)]
    parts += [case.models[key].fingerprint for key in getattr(scorer, "model_keys", ())]
    if known.sandbox and getattr(scorer, "needs_sandbox", True):
        parts += known.sandbox
    return key_of(*parts)


def sandbox_facts(resources: Resources) -> tuple[str, ...]:
    """Return what a verdict depends on: tier, whether verdicts are verified, packages."""
    box = resources.sandbox
    if box is None:
        return ()
    rules = ("only verified",) if box.only_verified else ()
    return (box.tier, f"verified={box.verified}", *rules, *resources.packages)


def tell_judged_answer(case: Case, scorer: str) -> Case:
    """Return the case with models that are told the answer and the scorer with each request."""
    if case.judged is None:
        return case
    answer = case.answer.output if case.answer else ""
    judged = structs.replace(case.judged, scorer=scorer, answer=answer)
    models = {name: _ToldModel(model, judged) for name, model in case.models.items()}
    return structs.replace(case, models=models)


class _ToldModel(ModelWrapper):
    def __init__(self, model: Model, judged: JudgedAnswer) -> None:
        super().__init__(model)
        self._judged = judged

    async def complete(self, request: Request) -> Completion:
        """Answer a request that says what it is about."""
        first = request.judged.shown_first if request.judged else None
        prompt = request.messages[-1].content if request.messages else None
        text = prompt if isinstance(prompt, str) else None
        judged = structs.replace(self._judged, shown_first=first, prompt=text)
        return await self._ask(structs.replace(request, judged=judged))
