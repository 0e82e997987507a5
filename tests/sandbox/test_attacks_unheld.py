"""Every attack is one: where nothing holds it, it works."""

import asyncio
import os
from collections.abc import Iterator

import pytest
from tests.sandbox.attacks import ATTACKS, GROUPS, LEAKS, Attack, plain
from tests.sandbox.attacks.leaks import Leak
from tests.sandbox.attacks.scene import Scene

from evalwright.sandbox.unsafe import Unsafe
from evalwright.types import Execution, Program

OUTCOMES = {"pass", "assertion_fail", "error", "timeout", "syntax_error"}


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


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.unheld])
def test_it_works_where_nothing_holds_it(scene: Scene, name: str) -> None:
    attack = ATTACKS[name]
    if attack.root and os.getuid() != 0:
        pytest.skip("only root can do it")
    if attack.machine not in {"", os.uname().machine}:
        pytest.skip(f"it is written for {attack.machine}")
    source = f"{scene.names}\n{attack.source}"
    scene.restore()
    match attack.unheld:
        case "looted":
            assert scene.secret in plain.output_of(source, attack.targets)
        case "believed by status":
            assert plain.believed_by_status(source, attack.targets)
        case "believed by output":
            assert plain.believed_by_output(source, attack.targets)
        case "littered":
            judge(attack, scene)
            assert scene.litter(remove=True)
        case outcome:
            execution = judge(attack, scene)
            if name.startswith("kernel:") and execution.outcome == "pass":
                pytest.skip("this kernel refuses it by itself")
            assert execution.outcome == outcome, execution


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.name)
def test_a_trace_is_found_where_nothing_keeps_two_candidates_apart(
    scene: Scene, leak: Leak
) -> None:
    names = f"{scene.names}\n"

    found = plain.kept(names + leak.first, leak.second)
    scene.litter(remove=True)

    assert found
