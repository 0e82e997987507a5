"""What a machine can do, as `evalwright doctor` shows it."""

from collections.abc import Iterator

from msgspec import Struct, field

from evalwright.report.tables import Block, Facts
from evalwright.text.visible import visible


class Tier(Struct, frozen=True, kw_only=True):
    """One way to isolate a program, and whether this machine has it."""

    tier: str
    available: bool
    why: str
    """Why it is not available, and what would change that."""
    canaries: dict[str, str]
    """Each attempt to break out, and what stopped it."""


class Key(Struct, frozen=True, kw_only=True):
    """One variable that holds a key. Its value is never shown."""

    variable: str
    providers: list[str]
    is_set: bool = field(name="given")
    needed: bool
    """Whether the provider's own address asks for it."""


class StoreState(Struct, frozen=True, kw_only=True):
    """Where runs are kept."""

    path: str
    exists: bool
    writable: bool
    problem: str = ""
    """What is wrong with the file, and what to do about it."""


class LocalPart(Struct, frozen=True, kw_only=True):
    """One thing that a model on this machine needs."""

    name: str
    """`xllamacpp`; or the model whose weights it is."""
    there: bool
    what: str
    """Which version, or which file; what is wrong, where it is not there."""
    size: int | None = None
    """Bytes, of a file."""
    install: str = ""
    """The line to type, where it is not there."""


class Threads(Struct, frozen=True, kw_only=True):
    """How many threads a model that is loaded now would use, and what that depends on."""

    now: int
    cores: float
    """Cores that this process may use."""
    load: float | None
    """Of the last minute; None where the system does not tell."""
    ci: str
    """The variable `CI`, as it is set."""


class LocalModels(Struct, frozen=True, kw_only=True):
    """What there is to run models with, here."""

    parts: list[LocalPart]
    threads: Threads


class Machine(Struct, frozen=True, kw_only=True):
    """Everything that `doctor` looks at."""

    evalwright: str
    python: str
    executable: str
    platform: str
    kernel: str
    cores: int
    tier: str | None
    """What holds programs here: the best tier that is available; None if there is none."""
    tiers: list[Tier]
    """Best first."""
    keys: list[Key]
    store: StoreState
    local: LocalModels


def machine_blocks(machine: Machine) -> Iterator[Block]:
    """Yield the page that people read."""
    yield Facts(
        [
            ("evalwright", machine.evalwright),
            ("python", f"{machine.python}, {machine.executable}"),
            ("platform", f"{machine.platform}, {machine.cores} cores"),
            ("kernel", machine.kernel),
            ("store", f"{machine.store.path}, {_describe_store(machine.store)}"),
            ("sandbox", _describe_sandbox(machine)),
        ]
    )
    for tier in machine.tiers:
        yield visible(f"\n{tier.tier}: {'available' if tier.available else 'not available'}")
        if tier.why:
            yield visible(f"  {tier.why}")
        if tier.canaries:
            stopped = [(attempt, f"stopped by {how}") for attempt, how in tier.canaries.items()]
            yield Facts(stopped, indent="  ")
    yield "\nlocal models"
    yield Facts([*_local_facts(machine.local)], indent="  ")
    yield "\nkeys"
    yield Facts([_describe_key(key) for key in machine.keys], indent="  ")


def _describe_store(store: StoreState) -> str:
    if store.problem:
        return f"cannot be used: {store.problem}"
    if not store.writable:
        return "not writable"
    return "exists" if store.exists else "created by the first run"


def _describe_sandbox(machine: Machine) -> str:
    if machine.tier is None:
        return "no isolation: code_exec records run only with `--unsafe-code-exec`"
    is_best = machine.tier == machine.tiers[0].tier
    return machine.tier if is_best else f"{machine.tier} (a stronger one is not available)"


def _describe_key(key: Key) -> tuple[str, ...]:
    state = "set" if key.is_set else ("not set" if key.needed else "not set, not needed")
    return key.variable, state, ", ".join(key.providers)


def _local_facts(local: LocalModels) -> Iterator[tuple[str, str]]:
    for part in local.parts:
        size = "" if part.size is None else f"{part.size / 1e6:.0f} MB, "
        yield part.name, f"{size}{part.what}"
        if part.install:
            yield "", part.install
    threads = local.threads
    facts = [f"{threads.cores:g} core{'s' * (threads.cores != 1)}"]
    if threads.load is not None:
        facts.append(f"load {threads.load:.1f} in the last minute")
    if threads.ci:
        facts.append(f"CI={threads.ci}")
    yield "threads", f"{threads.now} now: {', '.join(facts)}"
