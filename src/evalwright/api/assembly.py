"""Who does the work: names become models, sandboxes and stores. Nothing else resolves a name."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct

from evalwright.api.options import RunOptions
from evalwright.errors import EvalwrightError, UsageError
from evalwright.types import NOTHING, ModelOptions, Usage

if TYPE_CHECKING:
    from contextlib import ExitStack

    from evalwright.engine.models.count import Counters
    from evalwright.engine.models.stack import Shared
    from evalwright.engine.run import Crew
    from evalwright.plan.documents import DocumentPlan
    from evalwright.plan.plan import Plan
    from evalwright.ports import Model, Sandbox, Shelf, Store
    from evalwright.report.report import CodeExecution
    from evalwright.secrets import Redactor

STATE = Path(".evalwright")
MEMORY = "memory:"
"""The name of a store that lives as long as it is open."""
LOCAL = frozenset({"replay", "scripted"})
"""Providers that answer by looking at the sample, which is no part of what is asked."""
HERE = frozenset({"local", *LOCAL})
"""Providers that send nothing anywhere: a call that fails would fail again."""


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


def connect(
    name: str,
    options: RunOptions,
    *,
    environment: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> "Model":
    """The bare client of one model; without an environment, this process's."""
    from evalwright.registry import load

    provider, _, rest = name.partition("/")
    if not provider or not rest:
        raise UsageError(f"`{name}` is not a model", hint="a model is written provider/model")
    told = ModelOptions(
        provider=provider,
        parameters=options.parameters,
        environment=dict(os.environ if environment is None else environment),
        tell=tell,
    )
    model: Model = load("models", provider)(rest, told)
    return model


def crew_of(
    plan: "Plan",
    clients: Mapping[str, "Model"],
    options: RunOptions,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> "Crew":
    """Bare clients, the record solver and scorer, and a sandbox if a record needs one."""
    from evalwright.engine.run import Crew, Team
    from evalwright.registry import load

    scorers = {"record": load("scorers", "record")()}
    if asks := options.confidence == "self":
        scorers["confidence"] = load("scorers", "self_report")()
    solver = load("solvers", "record")(weighs=options.mcq == "loglikelihood")
    team = Team(solver=solver, scorers=scorers, tallies=asks)
    return Crew(
        models=clients,
        teams={task.name: team for task in plan.tasks},
        sandbox=sandbox_for(options, tell=tell) if plan.needs_sandbox else None,
        packages=packages_of(options) if plan.needs_sandbox else (),
    )


class Limits(Struct, frozen=True, kw_only=True):
    """How one model is to be asked."""

    name: str = ""
    """What price tables call it; empty for its own name."""
    requests_per_minute: float | None = None
    at_once: int | None = None
    remote: bool = True
    """Whether a call may fail now and succeed later."""
    by_sample: bool = False
    """Whether it looks at the sample, which is no part of a cache's key."""


def equipped(
    crew: "Crew",
    options: RunOptions,
    shared: "Shared",
    *,
    limits: Mapping[str, Limits] = MappingProxyType({}),
) -> "Crew":
    """The same crew, its models made patient, polite, thrifty and discreet."""
    from msgspec import structs

    from evalwright.engine.models.rate import Rate
    from evalwright.engine.models.retry import Backoff
    from evalwright.engine.models.stack import Adaptive, Settings, stack

    models = {}
    for name, client in crew.models.items():
        provider = name.partition("/")[0]
        limit = limits.get(name) or Limits(remote=provider not in HERE, by_sample=provider in LOCAL)
        remote = limit.remote
        adaptive = Adaptive() if remote and options.concurrency is None else None
        settings = Settings(
            name=limit.name or name,
            backoff=Backoff(attempts=1 + (options.retries if remote else 0)),
            at_once=limit.at_once or slots_of(client) or adaptive,
            by_sample=limit.by_sample,
            rate=Rate(
                requests_per_minute=options.requests_per_minute or limit.requests_per_minute,
                tokens_per_minute=options.tokens_per_minute,
            )
            if remote
            else Rate(),
        )
        models[name] = stack(client, settings, shared)
    return structs.replace(crew, models=models)


def shared_by(
    options: RunOptions,
    ending: "ExitStack",
    *,
    redactor: "Redactor | None",
    counters: "Counters | None" = None,
    spent: "Callable[[], Usage]" = lambda: NOTHING,
    command: str = "run",
) -> "Shared":
    """What all models of a command share; `ending` closes it, `spent` is asked for under a cap."""
    from evalwright.engine.models.cap import Budget
    from evalwright.engine.models.count import Counters
    from evalwright.engine.models.prices import Prices, read_prices
    from evalwright.engine.models.stack import Shared

    capped = options.max_cost is not None or options.max_tokens_total is not None
    return Shared(
        counters=counters or Counters(),
        redactor=redactor or None,
        prices=Prices(read_prices(options.prices) if options.prices else None),
        budget=Budget(
            max_cost=options.max_cost,
            max_tokens=options.max_tokens_total,
            spent=spent(),
            command=command,
        )
        if capped
        else None,
        shelf=shelf_of(ending) if options.cache else None,
    )


def shelf_of(ending: "ExitStack") -> "Shelf":
    """Where answers are kept for another day, until `ending`."""
    from evalwright.store.shelf import SqliteShelf

    shelf = SqliteShelf(STATE / "cache.db")
    ending.callback(shelf.close)
    return shelf


def workers_for(plan: "Plan | DocumentPlan", options: RunOptions) -> int:
    """As many as asked for; else enough to find out what a server takes, or a machine."""
    from evalwright.engine.models.stack import Adaptive

    if options.concurrency is not None:
        return options.concurrency
    providers = {name.partition("/")[0] for name in plan.models if name}
    if providers - HERE:
        return Adaptive().most
    if "local" in providers:  # while one is computed, the next is ready
        from evalwright.clients.llama.settings import Running

        return 2 * int(options.parameters.get("slots", Running().slots))
    # A program is a process here.
    return 4 * (os.cpu_count() or 1) if plan.needs_sandbox else Adaptive().most


def slots_of(client: "Model") -> int | None:
    """How many calls a model that is computed here takes at once; None where that is not known."""
    slots: int | None = getattr(client, "slots", None)
    return slots


def sandbox_for(options: RunOptions, *, tell: Callable[[str], None]) -> "Sandbox":
    """One that isolates; a plain child process where none can, and only if the user says so."""
    from evalwright.registry import load
    from evalwright.sandbox.selftest import NoTier

    packages = packages_of(options)
    sandbox: Sandbox
    try:
        sandbox = load("sandboxes", "jailed")(
            in_process_targets=options.in_process_targets, packages=packages
        )
    except NoTier as none:
        if packages:
            raise EvalwrightError(
                f"`--sandbox-package` needs a sandbox that isolates: {none}"
            ) from none
        if not options.unsafe_code_exec:
            raise EvalwrightError(
                f"no sandbox that isolates a program is available here: {none}",
                hint="`evalwright doctor` says what would help; `--unsafe-code-exec` runs programs "
                "in a plain child process, with your rights: only for code you trust",
            ) from none
        tell(f"warning: programs run in a plain child process, with your rights: {none}")
        sandbox = load("sandboxes", "unsafe")()
    else:
        if options.unsafe_code_exec:
            tell(f"`--unsafe-code-exec` is not needed here: programs are isolated ({sandbox.tier})")
    return sandbox


def packages_of(options: RunOptions) -> tuple[str, ...]:
    """What programs may import beside the standard library: each once, in one order."""
    return tuple(sorted(set(options.sandbox_packages)))


def held_by(crew: "Crew") -> "CodeExecution | None":
    """How code is held, for the report."""
    from evalwright.report.report import CodeExecution

    box = crew.sandbox
    if box is None:
        return None
    return CodeExecution(tier=box.tier, verified=box.verified, packages=list(crew.packages))


def notes_on(clients: Mapping[str, "Model"]) -> tuple[str, ...]:
    """One note a caveat, with the models it is about."""
    names: dict[str, list[str]] = {}
    for name, model in clients.items():
        if model.caveat:
            names.setdefault(model.caveat, []).append(name)
    return tuple(f"{', '.join(about)}: {caveat}" for caveat, about in names.items())
