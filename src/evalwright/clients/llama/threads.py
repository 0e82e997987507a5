"""How many threads to compute with: as many as there are idle cores, one where that is not known.

The threads of llama.cpp wait for each other by spinning. On idle cores that is fastest; where a
thread has to share its core, all the others spin until it gets its turn, and 60 tokens a second
become one. One thread too few costs little, one too many costs nearly everything. So the smaller of
two counts is taken: cores that were idle for a tenth of a second just now, and cores less the load
of the last minute. In CI (the variable `CI` is set) it is one: others work there, or will soon.
"""

import asyncio
import math
import os
from collections.abc import Mapping
from pathlib import Path

_LOOK_S = 0.1
_STAT = Path("/proc/stat")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_NEARLY = 0.35
"""A core that is idle but for this much counts as idle."""
_IDLE, _WAITING = 3, 4
"""The columns of a `cpu` line."""
_NO = frozenset({"", "0", "false"})


async def idle_threads(environment: Mapping[str, str]) -> int:
    """Look at the machine for a moment, and say how many threads would not be in anybody's way."""
    if environment.get("CI", "").strip().lower() not in _NO:
        return 1
    before = _ticks()
    await asyncio.sleep(_LOOK_S)
    return advised(cores(), idle=idle_between(before, _ticks()), load=_load())


def advised(cores: float, *, idle: float | None, load: float | None) -> int:
    """At least one; where nothing is known of the machine, no more than that."""
    free = [one for one in (idle, None if load is None else cores - load) if one is not None]
    return max(1, math.floor(min([cores, *free]) + _NEARLY)) if free else 1


def cores() -> float:
    """How many cores this process may use: its affinity, and the quota of its container."""
    try:
        mine = len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        mine = os.cpu_count() or 1
    try:
        allowed, period = _QUOTA.read_text().split()
        return min(mine, int(allowed) / int(period))
    except (OSError, ValueError):  # no such file, or no quota
        return mine


def idle_between(before: list[int] | None, after: list[int] | None) -> float | None:
    """How many cores were idle between two looks."""
    if before is None or after is None:
        return None
    spent = [later - earlier for earlier, later in zip(before, after, strict=True)]
    total = sum(spent)
    if total <= 0:
        return None
    return (spent[_IDLE] + spent[_WAITING]) / total * (os.cpu_count() or 1)


def _ticks() -> list[int] | None:
    try:
        first = _STAT.read_text().split("\n", 1)[0].split()
        return [int(one) for one in first[1:9]]
    except (OSError, ValueError):
        return None


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None
