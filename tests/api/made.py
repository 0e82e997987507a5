"""Task files, models and runs made by hand, for the tests of this folder."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from evalwright import registry
from evalwright.api.options import Unwatched, options_of
from evalwright.api.run import RecordWork
from evalwright.clients.scripted import Answer, Scripted
from evalwright.errors import EvalwrightError
from evalwright.plan.plan import make_plan
from evalwright.ports import Model, Store
from evalwright.report.report import Report
from evalwright.sandbox.selftest import NoTier
from evalwright.sandbox.unsafe import Unsafe
from evalwright.store.memory import MemoryStore
from evalwright.types import Outcome, Request, Run


def record(task_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "category": "arithmetic",
        "prompt": f"what is {task_id}?",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
        **changes,
    }


def code(task_id: str, *targets: str, **metadata: Any) -> dict[str, Any]:
    return record(
        task_id,
        category="code_exec",
        metric_name="code_exec",
        post_process="none",
        targets=list(targets),
        metadata=metadata,
    )


def written(path: Path, *records: dict[str, Any] | str) -> str:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def model(script: Callable[[Request], str] = lambda _: " 4\n") -> Scripted:
    """Answers by a script, half sure of it, and remembers what it was asked."""

    def answer(request: Request, randomness: Random) -> Answer:
        del randomness
        return Answer(script(request), 0.5)

    return Scripted("test", answer, remember=True)


def asked(client: Scripted) -> list[str]:
    """About which samples, in order; forgotten at once."""
    names = [call.sample.id for call in client.calls]
    client.calls.clear()
    return names


class Listening(Unwatched):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.begun: list[tuple[int, int]] = []
        self.stored: list[Outcome] = []
        self.ends: list[bool] = []

    def begin(self, total: int, done: int, counters: Any, *, noun: str = "samples") -> None:
        del counters, noun
        self.begun.append((total, done))

    def committed(self, outcomes: Sequence[Outcome]) -> None:
        self.stored.extend(outcomes)

    def tell(self, text: str) -> None:
        self.told.append(text)

    def end(self, *, interrupted: bool) -> None:
        self.ends.append(interrupted)


class Jail(Unsafe):
    """A sandbox that says it isolates; it remembers what it was asked for, and its end."""

    tier = "namespaces+seccomp"
    made: ClassVar[list["Jail"]] = []

    def __init__(self, *, in_process_targets: bool = False, packages: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.verified = not in_process_targets
        self.packages = packages
        self.closed = 0
        self.made.append(self)

    async def close(self) -> None:
        self.closed += 1
        await super().close()


def no_jail(**_: Any) -> Jail:
    raise NoTier("namespaces+seccomp: forbidden; landlock+seccomp: too old a kernel")


def jailed_by(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """From now on a sandbox is made by that name of this module."""
    Jail.made.clear()
    monkeypatch.setitem(registry.BUILT_IN["sandboxes"], "jailed", f"{__name__}:{name}")


def carried_out(
    path: str | Sequence[str],
    clients: Mapping[str, Model],
    store: Store,
    *,
    watch: Listening | None = None,
    parent: Run | None = None,
    **options: Any,
) -> Report:
    """What `run` does, with models and a store of our own."""
    told = options_of(options)
    paths = [path] if isinstance(path, str) else path
    plan = make_plan(
        paths,
        list(clients),
        limit=told.limit,
        samples=told.samples,
        allow_bad_tasks=told.allow_bad_tasks,
    )
    watch = watch or Listening()
    return RecordWork(plan, dict(clients), store, told, watch=watch, parent=parent).report()


class Died(EvalwrightError):
    """What ends a run that has no room for another outcome."""


class Mortal(MemoryStore):
    """A store that keeps no more than so many outcomes, until it is mended."""

    def __init__(self, room: int | None) -> None:
        super().__init__()
        self.room = room

    def append(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        if self.room is not None and len(outcomes) > self.room:
            raise Died("no room for another outcome")
        if self.room is not None:
            self.room -= len(outcomes)
        super().append(run_id, outcomes)


def comparable(report: Report) -> dict[str, Any]:
    """A report without what an interruption may change."""
    found = report.to_dict()
    del found["run_id"], found["summary"]["wall_seconds"], found["summary"]["reused"]
    return found
