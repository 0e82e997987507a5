"""The ports: what the core needs from adapters. `session` connects the two.

A port has one method where it can. New abilities become attributes of `Case`, so that no
signature ever grows. Every port has a fake or a plain adapter in `src/`, never in `tests/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, structs

from evalwright.types import (
    NOTHING,
    Completion,
    Execution,
    JudgedAnswer,
    MLTask,
    Outcome,
    Program,
    Request,
    Row,
    Run,
    RunStatus,
    Sample,
    Score,
    Trace,
    Usage,
)


class Model(Protocol):
    """An object that answers conversations."""

    caveat: str
    """A caveat about its results for the report; empty for a real model."""

    fingerprint: str
    """Everything besides its name that changes its answers: endpoint, parameters, file content."""

    async def complete(self, request: Request) -> Completion:
        """Answer or raise; an exception is a failure of this sample, never a wrong answer."""

    async def close(self) -> None:
        """Close connections."""


def weighs(model: Model) -> bool:
    """Whether a model can compute the likelihood of a given answer (its attribute `weighs`)."""
    return bool(getattr(model, "weighs", False))


class ReplyCache(Protocol):
    """Anything that stores replies by key."""

    def get(self, key: bytes) -> bytes | None:
        """Return the stored reply; None if there is none, or if it cannot be read now."""

    def save(self, key: bytes, value: bytes) -> None:
        """Store a reply, replacing an earlier one; drop it if it cannot be stored."""


class Unverified(Exception):
    """Targets passed, and no process that the program cannot reach confirms it."""


class Sandbox(Protocol):
    """Anything that runs an untrusted program and judges it."""

    tier: str
    """How the program is isolated; part of the report."""

    verified: bool
    """Whether it can verify a verdict: check it in a process that the program cannot reach."""

    only_verified: bool
    """Whether a verdict that is not verified raises `Unverified`."""

    packages: Collection[str]
    """Packages that programs can import in addition to the standard library."""

    async def judge(self, program: Program) -> Execution:
        """Run the candidate and its targets; raise ValueError if a target does not compile."""

    async def close(self) -> None:
        """End all processes, including idle ones; a second call does nothing."""


Predict = Callable[[Any, dict[str, Any]], Awaitable[dict[str, Any]]]
"""How an author's function queries a model: input and keyword arguments in, raw output back."""


class Snippets(Protocol):
    """Anything that calls an author's functions, outside the process of the engine."""

    async def call(
        self,
        function: str,
        arguments: Sequence[Any],
        *,
        objects: Sequence[str] = (),
        timeout_s: float | None = None,
        predict: Predict | None = None,
        waits: bool = False,
    ) -> Any:
        """Return the result of `source:function` as JSON; `SnippetFailed` if it is not usable.

        Arguments are JSON. `objects` names what the function gets for each of them: `""` the JSON
        itself, `SolverTrace`, `SolverTraces` and `SampleScores` (lists), `Model` (which queries by
        `predict`). A function that takes fewer arguments gets the first of them. Concurrent calls
        may be sent together; a function that `waits` for something outside runs many at once.
        Without `timeout_s`, the adapter's own limit holds.
        """

    async def close(self) -> None:
        """End all processes; a second call does nothing."""


class Solver(Protocol):
    """Sample in, trace out."""

    @property
    def name(self) -> str:
        """Its name in reports and keys."""

    @property
    def version(self) -> int:
        """Increases with every change that could move an answer: part of the solve key."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return everything in the sample that the answer depends on: part of the solve key."""

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Return a stored trace as this solver would produce it now, without a model call."""
        del sample
        return trace

    async def solve(self, case: Case) -> Trace:
        """Query the model with this sample."""


class Scorer(Protocol):
    """Trace in, score out."""

    @property
    def name(self) -> str:
        """Its name in reports and keys."""

    @property
    def version(self) -> int:
        """Increases with every change that could move a score: part of the score key."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return everything in the sample that the score depends on: part of the score key."""

    def reuse(self, score: Score) -> Score | None:
        """Return a stored score as it would be now, without a model call; None if unusable."""
        return score

    async def score(self, case: Case) -> Score:
        """Judge `case.trace`; raise if no judgement is possible."""


class Case(Struct, frozen=True, kw_only=True):
    """One sample, with everything that a solver or a scorer may use."""

    sample: Sample
    model: Model
    sandbox: Sandbox | None = None
    trial: int = 0
    answer: Trace | None = None
    models: Mapping[str, Model] = {}
    """The other models of the task, by the names that the task uses."""
    snippets: Snippets | None = None
    task: MLTask = "chat_completion"
    """The kind of answer that the model is asked for."""
    judged: JudgedAnswer | None = None
    """The answer that scorers ask other models about; None unless a recording needs it."""
    known: Score | None = None
    """An earlier score of the same answer, of which only parts can be reused."""

    @property
    def trace(self) -> Trace:
        """The trace from the solver; ValueError before it exists."""
        if self.answer is None:
            raise ValueError("this case has not been solved yet")
        return self.answer

    def with_trace(self, trace: Trace) -> Case:
        """Return a copy of this case with a trace."""
        return structs.replace(self, answer=trace)


class Memory(Protocol):
    """Stored results that the engine looks up before it pays for new ones."""

    def trace(self, solve_key: str, task: str = "") -> Trace | None:
        """Return the newest trace with a key, from any run, even if scoring failed.

        Several tasks may share a key; a trace of `task` is preferred.
        """

    def score(self, score_key: str, task: str = "") -> Score | None:
        """Return the newest score with a key, from any run; one of `task` is preferred."""


Manifest = dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]]
"""The manifest of a run, or a function that returns a changed one."""


JobId = tuple[str, str, int, int]
"""Task, model, ordinal and trial: identifies a job, and its outcome, in a run."""


class JobClaim(Struct, frozen=True):
    """What became of a request for a job."""

    state: Literal["mine", "theirs", "done"]
    """Claimed by this process or another one; or another one has stored its outcome."""
    usage: Usage = NOTHING
    """What the outcome has used, if it is stored."""


class Membership(Protocol):
    """The part of this process in a run. Others may work on the same run.

    A process that is alone takes any job. Others must not take any until it claims its jobs.
    """

    is_shared: bool
    """Whether this process must claim a job before it takes it."""

    def has_others(self) -> bool:
        """Whether another process works on the run."""

    def count_earlier(self) -> int:
        """Return how many outcomes the run had before any of its current processes joined."""

    def share(self, jobs: Sequence[JobId]) -> None:
        """Claim these jobs, which are in flight, and from now on each job before it is taken."""

    def is_ready(self) -> bool:
        """Whether every other process claims its jobs."""

    def claim(self, jobs: Sequence[JobId]) -> list[JobClaim]:
        """Claim jobs."""

    def others_claim(self) -> bool:
        """Whether another process has claimed jobs and still works on the run."""

    def renew(self, jobs: Sequence[JobId]) -> None:
        """Show that this process lives and has these jobs; drop claims of those that have ended."""

    def release(self) -> None:
        """Give up all claims."""

    def leave(self) -> None:
        """Give up all claims, and stop working on the run."""


class Store(Memory, Protocol):
    """Anything that stores runs and their outcomes.

    Its methods may be called from several threads. Outcomes are visible to every reader and survive
    the process as soon as `append` returns; another process may find them by key only after it
    opens the store again. An unknown run is an `UnknownName`.
    """

    def begin(self, run: Run, *, seen: Collection[str] | None = None) -> Run:
        """Add a run, whose id must be new, and return it.

        With `seen`, the ids of all runs that the caller knows: if another process has meanwhile
        begun a run of the same plan, that run is returned, and none is added.
        """

    def join(self, run_id: str) -> Membership:
        """Begin to work on a run, in which other processes may work too."""

    def update(
        self, run_id: str, *, status: RunStatus | None = None, manifest: Manifest | None = None
    ) -> None:
        """Change the status of a run, its manifest, or both.

        With a status, `updated` becomes now. A function as `manifest` gets the current one and
        returns the new one; no other process changes it in between.
        """

    def runs(self) -> list[Run]:
        """Return every run, newest first."""

    def find(self, name: str) -> Run:
        """Return the run that `name` means: an id, the unique start of one, a name, or `latest`.

        `KEY=VALUE` means the newest run with that tag.
        """

    def append(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        """Store all of them or none; each replaces the earlier outcome of its job.

        A job is a (task, model, ordinal, trial) of a run.
        """

    def list_jobs(self, run_id: str) -> Iterator[tuple[str, str, int, int, bool]]:
        """Yield task, model, ordinal, trial and whether it failed, per outcome of a run."""

    def rows(self, run_id: str) -> Iterator[Row]:
        """Yield the scalars of each outcome, by task, ordinal, trial and model."""

    def outcomes(  # noqa: PLR0913 - one keyword per filter
        self,
        run_id: str,
        *,
        task: str | None = None,
        model: str | None = None,
        sample_id: str | None = None,
        failed: bool | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[Outcome]:
        """Yield outcomes in the order of `rows`: all of them, or a page."""

    def count(self, run_id: str) -> tuple[int, int]:
        """Return how many outcomes a run has, and how many of them failed."""

    def delete(self, run_id: str) -> int:
        """Delete a run; return how many outcomes it had."""

    def gc(self) -> int:
        """Free unused space; return how many bytes."""

    def close(self) -> None:
        """Close files; a second call does nothing."""
