"""Every attack, against both tiers. After each: the score is right, and nothing is left of it.

What an attack is, and what it may come to, is in `attacks/`. It is judged by the split evaluator
alone, which has to hold: what becomes of forgeries in the end is in `test_corpus`.
"""

import asyncio
import os
from collections.abc import Iterator

import pytest
from tests.sandbox.attacks import ATTACKS, LEAKS, table
from tests.sandbox.attacks.leaks import Leak
from tests.sandbox.attacks.scene import Scene
from tests.sandbox.attacks.trial import HONEST, judge, try_attack
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


@pytest.mark.parametrize("name", ATTACKS)
def test_it_fails(scene: Scene, sandbox: Jailed, name: str) -> None:
    attack = ATTACKS[name]
    if sandbox.tier not in attack.tiers:
        pytest.skip("this tier does not promise it")
    if attack.machine not in {"", os.uname().machine}:
        pytest.skip(f"it is written for {attack.machine}")

    assert try_attack(scene, sandbox, attack) == []


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


@pytest.mark.parametrize(
    "name", [name for name in SAMPLE if name.partition(":")[0] not in {"lies", "looks", "prints"}]
)
def test_one_process_for_all_can_be_fooled_but_does_no_more_harm(
    scene: Scene, one_process: Jailed, name: str
) -> None:
    assert try_attack(scene, one_process, ATTACKS[name]) == []


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.name)
def test_nothing_passes_from_one_candidate_to_the_next(
    scene: Scene, sandbox: Jailed, leak: Leak
) -> None:
    first = judge(sandbox, table.held("", leak.first, ("True",), "pass"), scene)
    second = judge(sandbox, table.held("", leak.second, ("found() == False",), "pass"), scene)

    assert (first.outcome, second.outcome) == ("pass", "pass"), (first, second)
