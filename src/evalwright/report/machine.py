"""What a machine can do, as `evalwright doctor` shows it."""

from collections.abc import Iterator

from msgspec import Struct

from evalwright.report.tables import align_rows, visible


class Tier(Struct, frozen=True, kw_only=True):
    """One way to hold a program, and whether it is to be had here."""

    tier: str
    available: bool
    why: str
    """Why it is not to be had, and what would change that."""
    canaries: dict[str, str]
    """Each attempt to break out, and what stopped it."""


class Key(Struct, frozen=True, kw_only=True):
    """One variable that holds a key. Its value is nobody's business."""

    variable: str
    providers: list[str]
    given: bool
    needed: bool
    """Whether the provider's own address asks for it."""


class Store(Struct, frozen=True, kw_only=True):
    """Where runs are kept."""

    path: str
    exists: bool
    writable: bool


class Part(Struct, frozen=True, kw_only=True):
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
    """How many a model that is loaded now would compute with, and what that depends on."""

    now: int
    cores: float
    """Those that this process may use."""
    load: float | None
    """Of the last minute; None where the system does not tell."""
    ci: str
    """The variable `CI`, as it is set."""


class Local(Struct, frozen=True, kw_only=True):
    """What there is to run models with, here."""

    parts: list[Part]
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
    store: Store
    local: Local


def machine_lines(found: Machine) -> Iterator[str]:
    """For people."""
    yield from align_rows(
        [
            ("evalwright", found.evalwright),
            ("python", f"{found.python}, {found.executable}"),
            ("platform", f"{found.platform}, {found.cores} cores"),
            ("kernel", found.kernel),
            ("store", f"{found.store.path}, {_state(found.store)}"),
            ("sandbox", _sandbox(found)),
        ]
    )
    yield from _tiers(found)
    yield from _local(found.local)
    yield from _keys(found.keys)


def _state(store: Store) -> str:
    if not store.writable:
        return "cannot be written"
    return "there" if store.exists else "made by the first run"


def _sandbox(found: Machine) -> str:
    if found.tier is None:
        return "none that isolates: code_exec records run only with `--unsafe-code-exec`"
    best = found.tier == found.tiers[0].tier
    return found.tier if best else f"{found.tier}, which is not the best there is"


def _tiers(found: Machine) -> Iterator[str]:
    for one in found.tiers:
        yield visible(f"\n{one.tier}: {'holds' if one.available else 'not available'}")
        if one.why:
            yield visible(f"  {one.why}")
        width = max(map(len, one.canaries), default=0)
        for attempt, how in one.canaries.items():
            yield visible(f"  {attempt:<{width}}  stopped by {how}")


def _local(local: Local) -> Iterator[str]:
    yield "\nlocal models"
    width = max(map(len, ["threads", *(part.name for part in local.parts)]))
    for part in local.parts:
        size = "" if part.size is None else f", {part.size / 1e6:.0f} MB"
        yield visible(f"  {part.name:<{width}}  {part.what}{size}")
        if part.install:
            yield visible(f"  {'':<{width}}  {part.install}")
    yield visible(f"  {'threads':<{width}}  {_threads(local.threads)}")


def _threads(threads: Threads) -> str:
    """The number, and the facts that it comes from."""
    facts = [f"{threads.cores:g} core{'s' * (threads.cores != 1)}"]
    if threads.load is not None:
        facts.append(f"a load of {threads.load:.1f} in the last minute")
    if threads.ci:
        facts.append(f"CI={threads.ci}")
    return f"{threads.now} now: {', '.join(facts)}"


def _keys(keys: list[Key]) -> Iterator[str]:
    yield "\nkeys"
    width = max(len(key.variable) for key in keys)
    for key in keys:
        state = "set" if key.given else ("not set" if key.needed else "not set, not needed")
        yield f"  {key.variable:<{width}}  {state:<19}  {', '.join(key.providers)}"
