"""What this machine can do: how it holds programs, which models it has, whose keys, which store."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evalwright._version import __version__
from evalwright.clients.llama.server import count_cores, idle_threads
from evalwright.clients.local import BUNDLED, find_weights
from evalwright.clients.providers import PROVIDERS
from evalwright.clients.word_vectors import INSTALL, PACKAGE
from evalwright.errors import UsageError
from evalwright.event_loop import run_async
from evalwright.report.machine import (
    Key,
    LocalModels,
    LocalPart,
    Machine,
    StoreState,
    Threads,
    Tier,
)
from evalwright.sandbox.tiers import survey
from evalwright.session.stores import MEMORY, find_store_problem, store_name


def doctor(store: str | None = None) -> Machine:
    """Look at everything. Programs are run, to see how they are held; no model is loaded."""
    local = _local()  # first: what is tried below would be in its way
    tiers = _tiers()
    return Machine(
        evalwright=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        platform=f"{platform.system()} {platform.machine()}",
        kernel=platform.release(),
        cores=os.cpu_count() or 1,
        tier=next((tier.tier for tier in tiers if tier.available), None),
        tiers=tiers,
        keys=_keys(),
        store=_store(store_name(store)),
        local=local,
    )


def _local() -> LocalModels:
    threads = Threads(
        now=run_async(idle_threads(os.environ)),
        cores=count_cores(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        ci=os.environ.get("CI", "").strip(),
    )
    models = [_weights(name) for name in BUNDLED]
    parts = [_package("xllamacpp"), *models, _package(PACKAGE)]
    return LocalModels(parts=parts, threads=threads)


def _package(name: str) -> LocalPart:
    try:
        return LocalPart(name=name, there=True, what=version(name))
    except PackageNotFoundError:
        return LocalPart(name=name, there=False, what="not installed", install=INSTALL)


def _weights(name: str) -> LocalPart:
    try:
        weights = find_weights(name)
    except UsageError as error:
        return LocalPart(name=f"local/{name}", there=False, what=error.message, install=error.hint)
    return LocalPart(name=f"local/{name}", there=True, what=str(weights.path), size=weights.size)


def _tiers() -> list[Tier]:
    return [
        Tier(tier=tier.tier, available=tier.available, why=tier.why, canaries=tier.canaries)
        for tier in survey()
    ]


def _keys() -> list[Key]:
    providers: dict[str, list[str]] = {}
    for name, provider in PROVIDERS.items():
        providers.setdefault(provider.key_variable, []).append(name)
    return [
        Key(
            variable=variable,
            providers=names,
            is_set=bool(os.environ.get(variable, "").strip()),
            needed=any(PROVIDERS[name].needs_key for name in names),
        )
        for variable, names in providers.items()
    ]


def _store(name: str) -> StoreState:
    if name == MEMORY:
        return StoreState(path=name, exists=True, writable=True)
    path = Path(name).absolute()
    # What is not there yet is made in the first folder above it that is.
    there = next((folder for folder in (path, *path.parents) if folder.exists()), path)
    usable = there == path or there.is_dir()
    return StoreState(
        path=str(path),
        exists=path.is_file(),
        writable=usable and os.access(there, os.W_OK),
        problem=find_store_problem(path) if path.exists() else "",
    )
