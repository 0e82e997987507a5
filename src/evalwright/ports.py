"""What the core asks for. Adapters answer; `api` introduces them to each other.

A port has one method where it can. New abilities become attributes of `Case`, so that no
signature ever grows. Every port has a fake or a plain adapter in `src/`, never in `tests/`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, structs

from evalwright.types import (
    Completion,
    Execution,
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
)


class Model(Protocol):
    """Anything that answers a conversation."""

    caveat: str
    """What a reader must know about its figures; empty for a real model."""

    fingerprint: str
    """All that changes its answers beside its name: endpoint, parameters, content of a file."""

    async def complete(self, request: Request) -> Completion:
        """Answer, or raise: an exception is a failure of this sample, never a wrong answer."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


def weighs(model: Model) -> bool:
    """Whether it can say how likely a given answer is: an attribute of the same name says so."""
    return bool(getattr(model, "weighs", False))


class ReplyCache(Protocol):
    """Anything that keeps answers for another day."""

    def get(self, key: bytes) -> bytes | None:
        """What was put there; None if nothing was, or if it can not be had just now."""
        ...

    def save(self, key: bytes, value: bytes) -> None:
        """Keep it, in place of what was there. What cannot be kept is let go."""
        ...


class Sandbox(Protocol):
    """Anything that runs a program it does not trust and judges it."""

    tier: str
    """How the program is held: written into the report."""

    verified: bool
    """Whether the program was unable to forge its own verdict."""

    async def judge(self, program: Program) -> Execution:
        """Run the candidate and its targets; raise ValueError if a target does not compile."""
        ...

    async def close(self) -> None:
        """End what runs, and every process that was kept warm; a second time does nothing."""
        ...


Predict = Callable[[Any, dict[str, Any]], Awaitable[dict[str, Any]]]
"""How an author's function asks the model: input and keyword arguments in, raw output back."""


class Snippets(Protocol):
    """Anything that calls an author's own functions, apart from the engine."""

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
        """What `source:function` returns, as JSON; `SnippetFailed` when it gives no usable value.

        Arguments are JSON. `objects` says what the function gets in their place, one a place:
        `""` the JSON itself, `SolverTrace`, `SolverTraces` and `SampleScores` (lists), `Model`
        (which asks by `predict`). A function that takes fewer arguments gets the first of them.
        Calls that are made at once may travel together; of a function that `waits` for something
        outside, many run at once. Without a time, the adapter's is the limit.
        """
        ...

    async def close(self) -> None:
        """End what runs; a second time does nothing."""
        ...


class Dataset(Protocol):
    """Anything that gives rows, one after another, as often as it is asked."""

    digest: str
    """Of all that decides which rows come."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """In their order, one at a time."""
        ...


class Solver(Protocol):
    """Sample in, trace out."""

    @property
    def name(self) -> str:
        """What reports and keys call it."""
        ...

    @property
    def version(self) -> int:
        """Grows with every change that could move an answer: it is part of the solve key."""
        ...

    def describe_inputs(self, sample: Sample) -> str:
        """Return all of the sample that the answer depends on: part of the solve key."""
        ...

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Return a stored trace as this solver would make it now, without a model call."""
        ...

    async def solve(self, case: Case) -> Trace:
        """Ask the model what this sample asks."""
        ...


class Scorer(Protocol):
    """Trace in, score out."""

    @property
    def name(self) -> str:
        """What reports and keys call it."""
        ...

    @property
    def version(self) -> int:
        """Grows with every change that could move a score: it is part of the score key."""
        ...

    def describe_inputs(self, sample: Sample) -> str:
        """Return all of the sample that the score depends on: part of the score key."""
        ...

    def reuse(self, score: Score) -> Score | None:
        """Return a stored score as it would be now, without a model call; None if unusable."""
        ...

    async def score(self, case: Case) -> Score:
        """Judge `case.trace`; raise when no judgement is possible."""
        ...


class Case(Struct, frozen=True, kw_only=True):
    """One sample on its way, with everything a solver or a scorer may use."""

    sample: Sample
    model: Model
    sandbox: Sandbox | None = None
    trial: int = 0
    answer: Trace | None = None
    models: Mapping[str, Model] = {}
    """The other models that a task names, by its names for them."""
    snippets: Snippets | None = None
    task: MLTask = "chat_completion"
    """What kind of thing the model is asked for."""
    known: Score | None = None
    """What the scorer made of the same answer before, where it cannot be reused: it may be a
    part of what is wanted now."""

    @property
    def trace(self) -> Trace:
        """What the solver made of the sample."""
        if self.answer is None:
            raise ValueError("this case has not been solved yet")
        return self.answer

    def solved(self, trace: Trace) -> Case:
        """The same case, with its trace."""
        return structs.replace(self, answer=trace)


class Memory(Protocol):
    """What the engine may ask of a store before it pays for something again."""

    def trace(self, solve_key: str, task: str = "") -> Trace | None:
        """The newest trace under a key, of any run, whatever failed after it.

        Two tasks may ask the same question: of `task`, if it has asked it.
        """
        ...

    def score(self, score_key: str, task: str = "") -> Score | None:
        """The newest score under a key, of any run; of `task`, if it has one."""
        ...


Manifest = dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]]
"""What a run was, or what becomes of it."""


class Store(Memory, Protocol):
    """Anything that remembers runs and their outcomes.

    Its methods may be called from several threads. What `append` has returned from, every reader
    sees, and no death of the process takes away; only by its key, another process may find it
    later, when it opens the store again. A run that is not there is an `UnknownName`.
    """

    def begin(self, run: Run) -> None:
        """Add a run; its id must be new."""
        ...

    def update(
        self, run_id: str, *, status: RunStatus | None = None, manifest: Manifest | None = None
    ) -> None:
        """Change the status of a run and its manifest; what is not given stays.

        With a status, `updated` becomes now. A function is given the manifest as it is, and makes
        another: no one else changes it meanwhile.
        """
        ...

    def runs(self) -> list[Run]:
        """Every run, newest first."""
        ...

    def find(self, name: str) -> Run:
        """The run that `name` means: an id, the start of only one, or `latest`."""
        ...

    def append(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        """Keep all of them or none; each replaces the earlier outcome of its job.

        A job is a (task, model, ordinal, trial) of a run.
        """
        ...

    def list_jobs(self, run_id: str) -> Iterator[tuple[str, str, int, int, bool]]:
        """Task, model, ordinal, trial and whether it failed, for each outcome of a run."""
        ...

    def rows(self, run_id: str) -> Iterator[Row]:
        """The scalars of each outcome, by task, ordinal, trial and model."""
        ...

    def outcomes(
        self,
        run_id: str,
        *,
        failed: bool | None = None,
        model: str | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[Outcome]:
        """The outcomes themselves, in the order of `rows`: all, or a page of some."""
        ...

    def of_task(self, run_id: str, task: str, model: str) -> Iterator[Outcome]:
        """The outcomes of one task and one model, by ordinal and trial."""
        ...

    def count(self, run_id: str) -> tuple[int, int]:
        """How many outcomes a run has, and how many of them failed."""
        ...

    def delete(self, run_id: str) -> int:
        """Forget a run; returns how many outcomes went with it."""
        ...

    def gc(self) -> int:
        """Tidy up; returns how many bytes were given back."""
        ...

    def close(self) -> None:
        """Let go of files; a second time does nothing."""
        ...
