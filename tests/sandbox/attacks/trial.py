"""Attacks, tried on a sandbox one by one, and everything that is then wrong."""

import asyncio

from tests.sandbox.attacks.scene import Scene
from tests.sandbox.attacks.table import Attack, held

from evalwright.sandbox.jailed import Jailed
from evalwright.types import Execution, Program

HONEST = held(
    "honest",
    "def add(a, b):\n    return a + b\n",
    ("add(2, 3) == 5", "assert add(-1, 1) == 0"),
    "pass",
)
_LATE_S = 30.0
"""Later than a busy machine kills what has had its time; sooner than an attack ends by itself."""
WRONG = held("wrong", "def add(a, b):\n    return a - b\n", HONEST.targets, "assertion_fail")
# Both in one program: an attack that has changed any verdict to come shows in one of its targets.
_HALF_RIGHT = held("half right", HONEST.source, ("add(2, 3) == 5", "add(2, 3) == 6"), ())


def judge(sandbox: Jailed, attack: Attack, scene: Scene | None = None) -> Execution:
    """Run it as any other program."""
    names = f"{scene.names}\n" if scene and not attack.bare else ""
    program = Program(
        source=names + attack.source, targets=attack.targets, timeout_s=attack.timeout_s
    )
    return asyncio.run(sandbox.judge(program))


def try_attacks(scene: Scene, sandbox: Jailed, attacks: dict[str, Attack]) -> dict[str, list[str]]:
    """By name, what went wrong with an attack, in words; nothing, where the sandbox holds."""
    before = len(scene.processes())
    wrong = {name: _try_attack(scene, sandbox, attack, before) for name, attack in attacks.items()}
    for honest in (HONEST, WRONG):
        after = judge(sandbox, honest)
        if after.outcome not in honest.outcomes:
            wrong[f"{honest.name}, after all of them"] = [f"it came to {after}"]
    return {name: what for name, what in wrong.items() if what}


def _try_attack(scene: Scene, sandbox: Jailed, attack: Attack, before: int) -> list[str]:
    execution = judge(sandbox, attack, scene)
    wrong = []
    if execution.outcome not in attack.outcomes:
        wrong.append(f"it came to {execution.outcome}: {execution.detail} {execution.output[:500]}")
    if attack.detail not in execution.detail:
        wrong.append(f"the detail is {execution.detail!r}")
    if execution.outcome != "pass" and all(execution.targets):
        wrong.append("all targets passed, and it did not")
    if scene.secret in execution.output + execution.detail:
        wrong.append("it has found the secret")
    if execution.duration_s > attack.timeout_s + _LATE_S:
        wrong.append(f"it took {execution.duration_s:.1f} s")
    after = judge(sandbox, _HALF_RIGHT)
    if after.targets != (True, False):
        wrong.append(f"the half right one after it came to {after}")
    wrong += scene.harm()
    wrong += scene.litter()
    if not scene.settles(before):
        wrong.append(f"there were {before} processes, and are {len(scene.processes())}")
    if wrong:
        scene.restore()
    return wrong
