"""Every attack is one: where nothing holds it, it works."""

import asyncio
import os
from collections.abc import Iterator

import pytest
from tests.sandbox.attacks import ATTACKS, GROUPS, LEAKS, Attack, plain
from tests.sandbox.attacks.scene import Scene

from evalwright.sandbox.unsafe import Unsafe
from evalwright.types import Execution, Program


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


def judge(attack: Attack, scene: Scene) -> Execution:
    source = attack.source if attack.bare else f"{scene.names}\n{attack.source}"
    program = Program(source=source, targets=attack.targets, timeout_s=attack.timeout_s)
    return asyncio.run(Unsafe(1).judge(program))


def test_there_are_many() -> None:
    assert len(ATTACKS) == sum(map(len, GROUPS.values())), "two have one name"
    assert len(ATTACKS) + len(LEAKS) >= 110
    unproven = [name for name, attack in ATTACKS.items() if not attack.unheld]
    assert all(ATTACKS[name].because for name in unproven)


@pytest.mark.parametrize("group", GROUPS)
def test_they_work_where_nothing_holds_them(scene: Scene, group: str) -> None:
    attacks = {
        attack.name: attack
        for attack in GROUPS[group]
        if attack.unheld
        and (os.getuid() == 0 or not attack.root)
        and attack.machine in {"", os.uname().machine}
    }
    failures = {name: _try_unheld(scene, attack) for name, attack in attacks.items()}
    if group == "kernel":  # a kernel may refuse it by itself
        failures = {name: what for name, what in failures.items() if what != "pass"}

    assert {name: what for name, what in failures.items() if what} == {}


def _try_unheld(scene: Scene, attack: Attack) -> str:
    """What it came to instead; nothing, where it has worked."""
    source = f"{scene.names}\n{attack.source}"
    scene.restore()
    match attack.unheld:
        case "looted":
            worked = scene.secret in plain.output_of(source, attack.targets)
        case "believed by status":
            worked = plain.believed_by_status(source, attack.targets)
        case "believed by output":
            worked = plain.believed_by_output(source, attack.targets)
        case "littered":
            judge(attack, scene)
            worked = bool(scene.litter(remove=True))
        case outcome:
            execution = judge(attack, scene)
            return "" if execution.outcome == outcome else execution.outcome
    return "" if worked else f"not {attack.unheld}"


def test_a_trace_is_found_where_nothing_keeps_two_candidates_apart(scene: Scene) -> None:
    without_trace = []
    for leak in LEAKS:
        if not plain.kept(f"{scene.names}\n{leak.first}", leak.second):
            without_trace.append(leak.name)
        scene.litter(remove=True)

    assert without_trace == []
