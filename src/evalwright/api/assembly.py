"""Who does the work: names become models, sandboxes and stores. Nothing else resolves a name."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalwright.api.options import RunOptions
from evalwright.errors import UsageError
from evalwright.types import ModelOptions

if TYPE_CHECKING:
    from evalwright.engine.models.stack import Shared
    from evalwright.engine.run import Crew
    from evalwright.plan.plan import Plan
    from evalwright.ports import Model, Sandbox, Store
    from evalwright.report.report import CodeExecution

STATE = Path(".evalwright")
MEMORY = "memory:"
"""The name of a store that lives as long as it is open."""
LOCAL = frozenset({"replay", "scripted"})
"""Providers that send nothing anywhere."""


def store_name(name: str | Path | None = None) -> str:
    """That name; else `EVALWRIGHT_STORE`; else `.evalwright/runs.db` here."""
    return str(name or os.environ.get("EVALWRIGHT_STORE") or STATE / "runs.db")


def open_store(
    name: str | Path | None = None, *, durable: bool = False, create: bool = True
) -> "Store":
    """The store of that name; see `store_name`."""
    name = store_name(name)
    if name == MEMORY:
        from evalwright.store.memory import MemoryStore

        return MemoryStore()
    if "://" in name:
        raise UsageError(f"{name}: only files are stores here", hint="give the path of a file")
    from evalwright.store.sqlite import SqliteStore

    return SqliteStore(name, durable=durable, create=create)


def canonical(models: str | Sequence[str]) -> list[str]:
    """`provider:model` and `provider/model` are the same; printed in the second form, once."""
    if not models:
        raise UsageError(
            "no model was named", hint="-m scripted/oracle, or -m replay/outputs.jsonl"
        )
    names = []
    for model in [models] if isinstance(models, str) else models:
        provider, colon, rest = model.partition(":")
        names.append(f"{provider}/{rest}" if colon and "/" not in provider else model)
    return list(dict.fromkeys(names))


def connect(name: str, options: RunOptions) -> "Model":
    """The bare client of one model."""
    from evalwright.registry import load

    provider, _, rest = name.partition("/")
    if not provider or not rest:
        raise UsageError(f"`{name}` is not a model", hint="a model is written provider/model")
    told = ModelOptions(
        provider=provider, parameters=options.parameters, environment=dict(os.environ)
    )
    model: Model = load("models", provider)(rest, told)
    return model


def crew_of(plan: "Plan", clients: Mapping[str, "Model"], options: RunOptions) -> "Crew":
    """Bare clients, the record solver and scorer, and a sandbox if needed."""
    from evalwright.engine.run import Crew
    from evalwright.registry import load

    return Crew(
        models=clients,
        solver=load("solvers", "record")(),
        scorers={"record": load("scorers", "record")()},
        sandbox=sandbox_for(plan, unsafe=options.unsafe_code_exec),
    )


def equipped(crew: "Crew", options: RunOptions, shared: "Shared") -> "Crew":
    """The same crew, its models made patient, polite, thrifty and discreet."""
    from msgspec import structs

    from evalwright.engine.models.rate import Rate
    from evalwright.engine.models.retry import Backoff
    from evalwright.engine.models.stack import Adaptive, Settings, stack

    rate = Rate(
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )
    models = {}
    for name, client in crew.models.items():
        remote = name.partition("/")[0] not in LOCAL
        settings = Settings(
            name=name,
            backoff=Backoff(attempts=1 + (options.retries if remote else 0)),
            at_once=Adaptive() if remote and options.concurrency is None else None,
            rate=rate if remote else Rate(),
        )
        models[name] = stack(client, settings, shared)
    return structs.replace(crew, models=models)


def workers_for(plan: "Plan", options: RunOptions) -> int:
    """As many as asked for; else enough to find out what a server takes, or a machine."""
    from evalwright.engine.models.stack import Adaptive

    if options.concurrency is not None:
        return options.concurrency
    remote = any(name.partition("/")[0] not in LOCAL for name in plan.models)
    programs = plan.needs_sandbox and not remote  # each is a process here
    return 4 * (os.cpu_count() or 1) if programs else Adaptive().most


def sandbox_for(plan: "Plan", *, unsafe: bool) -> "Sandbox | None":
    """None where no record runs code; refused where one does and nobody has allowed it."""
    if not plan.needs_sandbox:
        return None
    if not unsafe:
        count = sum(task.code_exec for task in plan.tasks)
        raise UsageError(
            f"{count} code_exec record{'s' if count > 1 else ''} would run a model's code, "
            "and no isolating sandbox is available",
            hint="`--unsafe-code-exec` runs it in a plain child process, "
            "with your rights: only for code you trust",
        )
    from evalwright.registry import load

    sandbox: Sandbox = load("sandboxes", "unsafe")()
    return sandbox


def held_by(sandbox: "Sandbox | None") -> "CodeExecution | None":
    """How code was held, for the report."""
    from evalwright.report.report import CodeExecution

    return CodeExecution(tier=sandbox.tier, verified=sandbox.verified) if sandbox else None


def notes_on(clients: Mapping[str, "Model"]) -> tuple[str, ...]:
    """One note a caveat, with the models it is about."""
    names: dict[str, list[str]] = {}
    for name, model in clients.items():
        if model.caveat:
            names.setdefault(model.caveat, []).append(name)
    return tuple(f"{', '.join(about)}: {caveat}" for caveat, about in names.items())
