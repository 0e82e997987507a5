"""What this machine can do: how it holds programs, whose keys it has, where runs are kept."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from evalwright.api.assembly import MEMORY, store_name

if TYPE_CHECKING:
    from evalwright.report.machine import Key, Machine, Store, Tier


def doctor(store: str | None = None) -> "Machine":
    """Look at everything. Programs are run, to see how they are held; no server is asked."""
    import platform
    import sys

    from evalwright._version import __version__
    from evalwright.report.machine import Machine

    tiers = _tiers()
    return Machine(
        evalwright=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        platform=f"{platform.system()} {platform.machine()}",
        kernel=platform.release(),
        cores=os.cpu_count() or 1,
        tier=next((one.tier for one in tiers if one.available), None),
        tiers=tiers,
        keys=_keys(),
        store=_store(store_name(store)),
    )


def _tiers() -> "list[Tier]":
    from evalwright.report.machine import Tier
    from evalwright.sandbox.selftest import survey

    return [
        Tier(tier=one.tier, available=one.available, why=one.why, canaries=one.canaries)
        for one in survey()
    ]


def _keys() -> "list[Key]":
    from evalwright.clients.providers import PROVIDERS
    from evalwright.report.machine import Key

    providers: dict[str, list[str]] = {}
    for name, provider in PROVIDERS.items():
        providers.setdefault(provider.key_variable, []).append(name)
    return [
        Key(
            variable=variable,
            providers=names,
            given=bool(os.environ.get(variable, "").strip()),
            needed=any(PROVIDERS[name].needs_key for name in names),
        )
        for variable, names in providers.items()
    ]


def _store(name: str) -> "Store":
    from evalwright.report.machine import Store

    if name == MEMORY:
        return Store(path=name, exists=True, writable=True)
    path = Path(name).absolute()
    # What is not there yet is made in the first folder above it that is.
    there = next((one for one in (path, *path.parents) if one.exists()), path)
    usable = there == path or there.is_dir()
    return Store(
        path=str(path), exists=path.is_file(), writable=usable and os.access(there, os.W_OK)
    )
