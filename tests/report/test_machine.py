from typing import Any

import pytest

from evalwright.report.machine import Key, Machine, Store, Tier, machine_lines

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
    Key(variable="A_API_KEY", providers=["a"], given=True, needed=True),
    Key(variable="LOCAL_API_KEY", providers=["b", "c"], given=False, needed=False),
    Key(variable="Z_API_KEY", providers=["z"], given=False, needed=True),
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
            "store": Store(path="/srv/runs.db", exists=True, writable=True),
            **changes,
        }
    )
    return "\n".join(machine_lines(machine))


def test_a_page_has_the_machine_the_sandbox_and_the_keys() -> None:
    assert shown() == (
        "evalwright  1.0\n"
        "python      3.11.7, /usr/bin/python3\n"
        "platform    Linux x86_64, 2 cores\n"
        "kernel      6.1.0\n"
        "store       /srv/runs.db, there\n"
        "sandbox     namespaces+seccomp\n"
        "\n"
        "namespaces+seccomp: holds\n"
        "  read     stopped by FileNotFoundError\n"
        "  connect  stopped by PermissionError\n"
        "\n"
        "landlock+seccomp: holds\n"
        "\n"
        "keys\n"
        "  A_API_KEY      set                  a\n"
        "  LOCAL_API_KEY  not set, not needed  b, c\n"
        "  Z_API_KEY      not set              z"
    )


def test_where_the_best_is_not_to_be_had_it_is_said_why() -> None:
    said = shown(tier="landlock+seccomp", tiers=[FORBIDDEN, SECOND])

    assert "sandbox     landlock+seccomp, which is not the best there is\n" in said
    assert "namespaces+seccomp: not available\n  user namespaces: ask\n" in said


def test_where_there_is_none_it_is_said_what_that_means() -> None:
    said = shown(tier=None, tiers=[FORBIDDEN])

    assert "sandbox     none that isolates: code_exec records run only with `--unsafe" in said


@pytest.mark.parametrize(
    ("store", "said"),
    [
        pytest.param(Store(path="x", exists=True, writable=True), "x, there", id="there"),
        pytest.param(
            Store(path="x", exists=False, writable=True), "x, made by the first run", id="not yet"
        ),
        pytest.param(
            Store(path="x", exists=True, writable=False), "x, cannot be written", id="read-only"
        ),
    ],
)
def test_the_store_is(store: Store, said: str) -> None:
    assert f"store       {said}\n" in shown(store=store)
