"""Attacks one after another, and side by side: what one alone does not show."""

import asyncio
import os
from collections.abc import Iterator

import pytest
from tests.sandbox.attacks import ATTACKS, table
from tests.sandbox.attacks.scene import Scene
from tests.sandbox.attacks.trial import HONEST, judge

from evalwright.sandbox.jailed import Jailed
from evalwright.sandbox.tiers import NoTier
from evalwright.sandbox.worker import TIERS, Tier
from evalwright.types import Execution, Program

TIMEOUTS = 100
HANGING = [
    "while True: pass",
    "import time\ntime.sleep(1000)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "import threading as t\nfor _ in range(20): t.Thread(target=exec, args=['while 1: 1']).start()",
    "try: open('/tmp/left', 'w').write('x' * 10_000)\nexcept OSError: pass\nwhile True: pass",
    "def f():\n    while True: pass",
]
NEIGHBOURS = [
    "time: a thread that never lets go of the interpreter",
    "memory: a list that doubles",
    "floods: stdout",
    "writing: a disk, filled",
    "processes: a fork bomb",
    "processes: a bomb of threads",
    "processes: everybody, killed",
    "processes: the parent, killed",
    "robustness: a death: a segmentation fault",
]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with Scene() as scene:
        yield scene


@pytest.fixture(scope="module", params=TIERS)
def sandbox(request: pytest.FixtureRequest, scene: Scene) -> Iterator[Jailed]:
    tier: Tier = request.param
    try:
        sandbox = Jailed(tier=tier, workers=2)
    except NoTier as error:
        pytest.skip(str(error))
    asyncio.run(_together(sandbox, [_program(HONEST, scene)] * 4))  # now both workers are there
    yield sandbox
    asyncio.run(sandbox.close())


async def _together(sandbox: Jailed, programs: list[Program]) -> list[Execution]:
    return await asyncio.gather(*map(sandbox.judge, programs))


def _program(attack: table.Attack, scene: Scene, *, timeout_s: float = 20.0) -> Program:
    source = f"{scene.names}\n{attack.source}"
    return Program(source=source, targets=attack.targets, timeout_s=timeout_s)


def test_many_timeouts_in_a_row_leave_nothing(scene: Scene, sandbox: Jailed) -> None:
    workers, processes = sandbox.processes, len(scene.processes())
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    programs = [
        Program(source=HANGING[number % len(HANGING)], targets=("f()",), timeout_s=0.05)
        for number in range(TIMEOUTS)
    ]

    executions = asyncio.run(_together(sandbox, programs))  # two at a time: there are two workers

    # How late it is on a quiet machine is a figure of `bench/sandbox.py`.
    assert [one for one in executions if one.outcome != "timeout"] == []
    assert [one for one in executions if not 0.05 <= one.duration_s < 30] == []

    assert sandbox.processes == workers, "no worker had to be replaced"
    assert scene.settles(processes)
    assert len(os.listdir("/proc/self/fd")) == descriptors  # noqa: PTH208
    assert scene.litter() == scene.harm() == []
    assert judge(sandbox, HONEST).outcome == "pass"


def test_threads_used_up_by_one_do_not_stop_the_next_process(scene: Scene, sandbox: Jailed) -> None:
    bomb = ATTACKS["processes: a bomb of threads"]
    held = (*bomb.targets, "import time\ntime.sleep(1)")  # it keeps what it has
    program = Program(source=bomb.source, targets=held, timeout_s=20)

    first, *others = asyncio.run(_together(sandbox, [program, *[_program(HONEST, scene)] * 20]))

    assert first.outcome == "pass"
    assert {one.outcome for one in others} == {"pass"}


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_neighbour_is_judged_as_if_alone(scene: Scene, sandbox: Jailed, name: str) -> None:
    attack = _program(ATTACKS[name], scene, timeout_s=ATTACKS[name].timeout_s)
    honest = [_program(HONEST, scene)] * 8

    first, *others = asyncio.run(_together(sandbox, [attack, *honest]))

    assert first.outcome in ATTACKS[name].outcomes
    assert {one.outcome for one in others} == {"pass"}
    assert scene.harm() == scene.litter() == []
