from typing import Any

import pytest

from evalwright.report.layout import lay_out_blocks
from evalwright.report.machine import (
    Key,
    LocalModels,
    LocalPart,
    Machine,
    StoreState,
    Threads,
    Tier,
    machine_blocks,
)

HOLDS = Tier(
    tier="namespaces+seccomp",
    available=True,
    why="",
    canaries={"read": "FileNotFoundError", "connect": "PermissionError"},
)
FORBIDDEN = Tier(
    tier="namespaces+seccomp", available=False, why="user namespaces: ask", canaries={}
)
SECOND = Tier(tier="landlock+seccomp", available=True, why="", canaries={})
KEYS = [
    Key(variable="A_API_KEY", providers=["a"], is_set=True, needed=True),
    Key(variable="LOCAL_API_KEY", providers=["b", "c"], is_set=False, needed=False),
    Key(variable="Z_API_KEY", providers=["z"], is_set=False, needed=True),
]
QUIET = Threads(now=2, cores=2, load=0.04, ci="")
READY = [
    LocalPart(name="xllamacpp", there=True, what="2026.1"),
    LocalPart(name="local/smollm2", there=True, what="/srv/smollm2.gguf", size=98_362_432),
    LocalPart(name="wordllama", there=True, what="0.4.0"),
]


def shown(**changes: Any) -> str:
    machine = Machine(
        **{
            "evalwright": "1.0",
            "python": "3.11.7",
            "executable": "/usr/bin/python3",
            "platform": "Linux x86_64",
            "kernel": "6.1.0",
            "cores": 2,
            "tier": "namespaces+seccomp",
            "tiers": [HOLDS, SECOND],
            "keys": KEYS,
            "store": StoreState(path="/srv/runs.db", exists=True, writable=True),
            "local": LocalModels(parts=READY, threads=QUIET),
            **changes,
        }
    )
    return "\n".join(lay_out_blocks(machine_blocks(machine), None))


def test_a_page_has_the_machine_the_sandbox_the_models_and_the_keys() -> None:
    assert shown() == (
        "evalwright  1.0\n"
        "python      3.11.7, /usr/bin/python3\n"
        "platform    Linux x86_64, 2 cores\n"
        "kernel      6.1.0\n"
        "store       /srv/runs.db, exists\n"
        "sandbox     namespaces+seccomp\n"
        "\n"
        "namespaces+seccomp: available\n"
        "  read     stopped by FileNotFoundError\n"
        "  connect  stopped by PermissionError\n"
        "\n"
        "landlock+seccomp: available\n"
        "\n"
        "local models\n"
        "  xllamacpp      2026.1\n"
        "  local/smollm2  98 MB, /srv/smollm2.gguf\n"
        "  wordllama      0.4.0\n"
        "  threads        2 now: 2 cores, load 0.0 in the last minute\n"
        "\n"
        "keys\n"
        "  A_API_KEY      set                  a\n"
        "  LOCAL_API_KEY  not set, not needed  b, c\n"
        "  Z_API_KEY      not set              z"
    )


def test_where_the_best_is_not_to_be_had_it_is_said_why() -> None:
    said = shown(tier="landlock+seccomp", tiers=[FORBIDDEN, SECOND])

    assert "sandbox     landlock+seccomp (a stronger one is not available)\n" in said
    assert "namespaces+seccomp: not available\n  user namespaces: ask\n" in said


def test_where_there_is_none_it_is_said_what_that_means() -> None:
    said = shown(tier=None, tiers=[FORBIDDEN])

    assert "sandbox     no isolation: code_exec records run only with `--unsafe" in said


@pytest.mark.parametrize(
    ("store", "said"),
    [
        pytest.param(StoreState(path="x", exists=True, writable=True), "x, exists", id="there"),
        pytest.param(
            StoreState(path="x", exists=False, writable=True),
            "x, created by the first run",
            id="not yet",
        ),
        pytest.param(
            StoreState(path="x", exists=True, writable=False),
            "x, not writable",
            id="read-only",
        ),
    ],
)
def test_the_store_is(store: StoreState, said: str) -> None:
    assert f"store       {said}\n" in shown(store=store)


def test_below_what_is_missing_stands_the_line_to_type() -> None:
    part = LocalPart(name="wordllama", there=False, what="not installed", install="pip install x")

    said = shown(local=LocalModels(parts=[part], threads=QUIET))

    assert "local models\n  wordllama  not installed\n             pip install x\n" in said


@pytest.mark.parametrize(
    ("threads", "said"),
    [
        pytest.param(
            Threads(now=1, cores=2, load=6.93, ci=""),
            "1 now: 2 cores, load 6.9 in the last minute",
            id="the machine is busy",
        ),
        pytest.param(
            Threads(now=1, cores=8, load=0.5, ci="true"),
            "1 now: 8 cores, load 0.5 in the last minute, CI=true",
            id="others work there",
        ),
        pytest.param(Threads(now=1, cores=1, load=None, ci=""), "1 now: 1 core", id="not told"),
        pytest.param(Threads(now=1, cores=1.5, load=None, ci=""), "1 now: 1.5 cores", id="a quota"),
    ],
)
def test_the_number_of_threads_has_its_reasons(threads: Threads, said: str) -> None:
    assert f"  threads  {said}\n" in shown(local=LocalModels(parts=[], threads=threads))
