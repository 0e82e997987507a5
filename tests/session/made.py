"""Task files, models and runs made by hand, for the tests of this folder."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import structs

from evalwright.clients.scripted import Answer, Scripted
from evalwright.engine.run import Resources
from evalwright.errors import EvalwrightError
from evalwright.plan.manifest import Manifest
from evalwright.plan.options import parse_options
from evalwright.plan.records import compile_records
from evalwright.ports import Model, Snippets, Store
from evalwright.report.report import Report
from evalwright.sandbox import jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.unsafe import Unsafe
from evalwright.session.manifests import describe_run
from evalwright.session.models import LOCAL_PROVIDERS, SAMPLE_READERS, Connection, Connector
from evalwright.session.progress import SilentProgress
from evalwright.session.rescore import prepare_rescoring, restore_modes
from evalwright.session.sandboxes import open_sandbox, sandbox_packages
from evalwright.session.session import Session
from evalwright.store.memory import MemoryStore
from evalwright.types import Execution, Outcome, Program, Request, Run


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


def write_records(path: Path, *records: dict[str, Any] | str) -> str:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def model(script: Callable[[Request], str] = lambda _: " 4\n") -> Scripted:
    """Answers by a script, half sure of it, and remembers what it was asked."""

    def answer(request: Request) -> Answer:
        return Answer(script(request), 0.5)

    return Scripted("test", answer, remember=True)


def asked(client: Scripted) -> list[str]:
    """About which samples, in order; forgotten at once."""
    names = [call.sample.id for call in client.calls]
    client.calls.clear()
    return names


class Listening(SilentProgress):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.begun: list[tuple[int, int]] = []
        self.stored: list[Outcome] = []
        self.ends: list[bool] = []

    def begin(self, total: int, done: int, counters: Any, **_: Any) -> None:
        del counters
        self.begun.append((total, done))

    def on_commit(self, outcomes: Sequence[Outcome]) -> None:
        self.stored.extend(outcomes)

    def tell(self, text: str) -> None:
        self.told.append(text)

    def end(self, *, interrupted: bool) -> None:
        self.ends.append(interrupted)


class Jail(Unsafe):
    """A sandbox that says it isolates; it remembers what it was asked for, and its end."""

    tier = "namespaces+seccomp"
    made: ClassVar[list["Jail"]] = []

    def __init__(
        self,
        *,
        verdicts: str = "both",
        packages: tuple[str, ...] = (),
        only_verified: bool = False,
    ) -> None:
        super().__init__()
        self.verified = verdicts != "plain"
        self.only_verified = only_verified
        self.packages = packages
        self.closed = 0
        self.made.append(self)

    async def judge(self, program: Program) -> Execution:
        return structs.replace(await super().judge(program), verified=self.verified)

    async def close(self) -> None:
        self.closed += 1
        await super().close()


def no_jail(**_: Any) -> Jail:
    raise NoTier("namespaces+seccomp: forbidden; landlock+seccomp: too old a kernel")


def jailed_by(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """From now on a sandbox is made by that name of this module."""
    Jail.made.clear()
    monkeypatch.setattr(jailed, "Jailed", globals()[name])


def run_records(
    path: str | Sequence[str],
    clients: Mapping[str, Model],
    store: Store,
    *,
    progress: Listening | None = None,
    parent: Run | None = None,
    **options: Any,
) -> Report:
    """What `run` does, with models and a store of our own."""
    parsed = parse_options(options)
    paths = [path] if isinstance(path, str) else path
    rescoring = None
    if parent is not None:
        parsed = restore_modes(parsed, parent)
    plan = compile_records(paths, list(clients), parsed)
    if parent is not None:
        plan, rescoring = prepare_rescoring(plan, parent)
    session = Session(
        plan,
        store,
        parsed,
        connect=connect_to(clients),
        progress=progress or Listening(),
        rescoring=rescoring,
    )
    return session.run()


def connect_to(clients: Mapping[str, Model]) -> Connector:
    """Connects these clients; a name says how they are called, as it does for a provider."""

    def connect(name: str, snippets: Snippets | None) -> Connection:
        del snippets
        provider = name.partition("/")[0]
        return Connection(
            name=name,
            client=clients[name],
            remote=provider not in LOCAL_PROVIDERS,
            by_sample=provider in SAMPLE_READERS,
        )

    return connect


def describe_records(
    *paths: str, models: tuple[str, ...] = ("m",), fingerprint: str = "1", **options: Any
) -> Manifest:
    """The manifest of a run of these files that begins."""
    parsed = parse_options(options)
    plan = compile_records(paths, models, parsed)
    clients = {name: model() for name in models}
    for client in clients.values():
        client.fingerprint = fingerprint
    sandbox = open_sandbox(parsed, tell=lambda _: None) if plan.needs_sandbox else None
    resources = Resources(
        models=clients,
        tasks={task.name: task.runtime for task in plan.tasks},
        sandbox=sandbox,
        packages=sandbox_packages(parsed) if sandbox else (),
    )
    return describe_run(plan, plan.outline, clients, resources, parsed)


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
    found: dict[str, Any] = report.to_dict()
    del found["run_id"], found["summary"]["wall_seconds"], found["summary"]["reused"]
    return found
