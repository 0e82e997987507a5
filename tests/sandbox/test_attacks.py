"""Every attack, against both tiers. After each: the score is right, and nothing is left of it.

What an attack is, and what it may come to, is in `attacks/`. It is judged by the split evaluator
alone, which has to hold: what becomes of forgeries in the end is in `test_corpus`.
"""

import asyncio
import os
from collections.abc import Iterator

import pytest
from tests.sandbox.attacks import ATTACKS, GROUPS, LEAKS, table
from tests.sandbox.attacks.scene import Scene
from tests.sandbox.attacks.trial import HONEST, judge, try_attacks
from tests.sandbox.attacks.unprivileged import SAMPLE

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS, Tier, Verdicts


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


@pytest.fixture(scope="module", params=TIERS)
def tier(request: pytest.FixtureRequest) -> Tier:
    tier: Tier = request.param
    return tier


@pytest.fixture(scope="module")
def sandbox(scene: Scene, tier: Tier) -> Iterator[Jailed]:
    others = len(scene.processes())
    try:
        sandbox = Jailed(tier=tier, workers=1, verdicts="split")
    except NoTier as error:
        pytest.skip(str(error))
    assert judge(sandbox, HONEST).outcome == "pass"
    yield sandbox
    asyncio.run(sandbox.close())
    assert scene.settles(others), "a worker outlives its sandbox"


@pytest.mark.parametrize("group", GROUPS)
def test_they_fail(scene: Scene, sandbox: Jailed, group: str) -> None:
    attacks = {
        attack.name: attack
        for attack in GROUPS[group]
        if sandbox.tier in attack.tiers and attack.machine in {"", os.uname().machine}
    }

    assert attacks
    assert try_attacks(scene, sandbox, attacks) == {}


@pytest.fixture(scope="module", params=["plain", "both"])
def verdicts(request: pytest.FixtureRequest) -> Verdicts:
    verdicts: Verdicts = request.param
    return verdicts


@pytest.fixture(scope="module")
def one_process(scene: Scene, verdicts: Verdicts) -> Iterator[Jailed]:
    others = len(scene.processes())
    try:
        sandbox = Jailed(workers=1, verdicts=verdicts)
    except NoTier as error:
        pytest.skip(str(error))
    yield sandbox
    asyncio.run(sandbox.close())
    assert scene.settles(others), "a worker outlives its sandbox"


def test_one_process_for_all_can_be_fooled_but_does_no_more_harm(
    scene: Scene, one_process: Jailed
) -> None:
    fooling = {"lies", "looks", "prints"}
    attacks = {name: ATTACKS[name] for name in SAMPLE if name.partition(":")[0] not in fooling}

    assert try_attacks(scene, one_process, attacks) == {}


def test_nothing_passes_from_one_candidate_to_the_next(scene: Scene, sandbox: Jailed) -> None:
    passed_on = {}
    for leak in LEAKS:
        first = judge(sandbox, table.held("", leak.first, ("True",), "pass"), scene)
        second = judge(sandbox, table.held("", leak.second, ("found() == False",), "pass"), scene)
        if (first.outcome, second.outcome) != ("pass", "pass"):
            passed_on[leak.name] = (first, second)

    assert passed_on == {}
