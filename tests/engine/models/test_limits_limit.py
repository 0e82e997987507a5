import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.models.made import Held, Says, answer, question, refused, settle

from evalwright.engine.models.limits import AdaptiveGate, Gate, LimitedModel
from evalwright.errors import ModelError
from evalwright.types import Completion, Request


@dataclass
class Seen:
    """What happened at a gate."""

    order: list[int] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    most: int = 0


async def pass_through(gate: Gate, number: int, turns: int, seen: Seen) -> None:
    try:
        await gate.enter()
        try:
            seen.order.append(number)
            seen.most = max(seen.most, gate.inside)
            for _ in range(turns):
                await asyncio.sleep(0)
        finally:
            gate.leave()
    except asyncio.CancelledError:
        seen.cancelled.add(number)
        raise
    seen.finished.add(number)


async def crowd(
    gate: Gate, turns: list[int], cancellations: list[tuple[int, int]], seen: Seen
) -> None:
    """Tasks that stay for some turns; some are cancelled after some turns of the loop."""
    tasks = [
        asyncio.ensure_future(pass_through(gate, number, stay, seen))
        for number, stay in enumerate(turns)
    ]
    for who, after in cancellations:
        for _ in range(after):
            await asyncio.sleep(0)
        tasks[who % len(tasks)].cancel()
    await asyncio.wait(tasks)


@given(
    limit=st.integers(1, 5),
    turns=st.lists(st.integers(0, 4), min_size=1, max_size=20),
    cancellations=st.lists(st.tuples(st.integers(0, 19), st.integers(0, 3)), max_size=15),
)
def test_never_too_many_nobody_forgotten_no_place_lost(
    limit: int, turns: list[int], cancellations: list[tuple[int, int]]
) -> None:
    gate, seen = Gate(limit), Seen()

    asyncio.run(asyncio.wait_for(crowd(gate, turns, cancellations, seen), timeout=60))

    assert seen.most <= limit
    assert seen.order == sorted(seen.order)
    assert len(seen.finished) >= len(turns) - len(cancellations)
    assert gate.inside == 0
    assert all(gate.enter_at_once() for _ in range(limit))
    assert not gate.enter_at_once()


class Roller:
    """Answers or refuses as told, after some turns of the loop."""

    caveat = fingerprint = ""

    def __init__(self, script: list[tuple[int, bool]]) -> None:
        self._script = iter(script)

    async def complete(self, request: Request) -> Completion:
        del request
        turns, well = next(self._script)
        for _ in range(turns):
            await asyncio.sleep(0)
        if not well:
            raise refused()
        return answer()

    async def close(self) -> None: ...


@given(
    start=st.integers(1, 6),
    room=st.integers(0, 6),
    script=st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=40),
    cancelled=st.sets(st.integers(0, 39), max_size=10),
)
def test_an_adaptive_gate_stays_in_its_bounds_and_loses_no_place(
    start: int, room: int, script: list[tuple[int, bool]], cancelled: set[int]
) -> None:
    gate = AdaptiveGate(start, start + room)
    limits: set[int] = set()

    async def ask_all() -> None:
        model = LimitedModel(Roller(script), gate)
        tasks = [asyncio.ensure_future(model.complete(question())) for _ in script]
        while pending := [task for task in tasks if not task.done()]:
            limits.add(gate.limit)
            await asyncio.sleep(0)
            for number in cancelled:
                if number < len(tasks) and number % 3 == len(pending) % 3:
                    tasks[number].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(asyncio.wait_for(ask_all(), timeout=60))

    assert limits <= set(range(1, start + room + 1))
    assert gate.inside == 0
    assert all(gate.enter_at_once() for _ in range(gate.limit))
    assert not gate.enter_at_once()


@pytest.mark.parametrize("limit", [1, 3])
def test_so_many_at_once_and_no_fewer(limit: int) -> None:
    async def ask_all() -> Held:
        inner = Held()
        model = LimitedModel(inner, Gate(limit))
        calls = [asyncio.ensure_future(model.complete(question())) for _ in range(7)]
        await settle()
        inner.go.set()
        await asyncio.gather(*calls)
        return inner

    inner = asyncio.run(ask_all())

    assert inner.most == limit
    assert len(inner.asked) == 7


@pytest.mark.parametrize("error", [refused(), ModelError("server", "500"), ValueError("odd")])
def test_a_failure_gives_its_place_back(error: Exception) -> None:
    gate = Gate(1)
    model = LimitedModel(Says(error, answer()), gate)

    async def ask_twice() -> str:
        with pytest.raises(type(error)):
            await model.complete(question())
        return (await model.complete(question())).text

    assert asyncio.run(ask_twice()) == "4"
    assert gate.inside == 0


def test_a_place_given_to_a_task_that_is_cancelled_before_it_wakes_is_passed_on() -> None:
    async def tangle() -> tuple[int, bool]:
        gate = Gate(1)
        await gate.enter()
        first = asyncio.ensure_future(gate.enter())
        second = asyncio.ensure_future(gate.enter())
        await settle()
        gate.leave()
        first.cancel()
        await settle()
        return gate.inside, second.done()

    assert asyncio.run(tangle()) == (1, True)


def full(start: int, most: int) -> AdaptiveGate:
    gate = AdaptiveGate(start, most)
    while gate.enter_at_once():
        pass
    return gate


def ask_in_turn(gate: Gate, *, well: int) -> None:
    """Calls that go well, with the gate full whenever one ends."""

    async def ask_all() -> None:
        inner = Held()
        calls = [
            asyncio.ensure_future(LimitedModel(inner, gate).complete(question()))
            for _ in range(well)
        ]
        await settle()
        inner.go.set()
        await asyncio.gather(*calls)

    asyncio.run(ask_all())


def refuse(gate: Gate, calls: int) -> None:
    """As many calls as are let in at once, all refused."""

    async def ask_all() -> None:
        inner = Held(refused())
        model = LimitedModel(inner, gate)
        asked = [asyncio.ensure_future(model.complete(question())) for _ in range(calls)]
        await settle()
        inner.go.set()
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(ask_all())


def test_a_gate_grows_with_every_call_until_it_is_first_refused() -> None:
    gate = full(4, 100)

    for _ in range(4):
        gate.went_well(0)
        assert gate.enter_at_once()

    assert gate.limit == 8


def test_after_that_a_gate_grows_by_one_for_a_full_window() -> None:
    gate = AdaptiveGate(8, 10)
    refuse(gate, 8)

    ask_in_turn(gate, well=4 + 3)  # the last three leave a gate that is no longer full

    assert gate.limit == 5


def test_a_gate_grows_no_further_than_it_may() -> None:
    gate = AdaptiveGate(1, 3)

    ask_in_turn(gate, well=100)

    assert gate.limit == 3


def test_a_gate_that_is_not_full_learns_nothing() -> None:
    gate = AdaptiveGate(4, 10)

    async def one_after_the_other() -> None:
        for _ in range(50):
            await LimitedModel(Says(), gate).complete(question())

    asyncio.run(one_after_the_other())

    assert gate.limit == 4


def test_one_wave_of_refusals_halves_the_gate_once() -> None:
    gate = AdaptiveGate(8, 8)

    refuse(gate, 8)

    assert gate.limit == 4


def test_the_next_wave_halves_it_again_and_one_is_always_let_in() -> None:
    gate = AdaptiveGate(8, 8)

    limits = []
    for _ in range(5):
        refuse(gate, gate.limit)
        limits.append(gate.limit)

    assert limits == [4, 2, 1, 1, 1]


def test_who_was_let_in_before_a_halving_cannot_undo_it() -> None:
    gate = full(8, 8)

    gate.pushed_back(0)
    for _ in range(7):
        gate.went_well(0)

    assert gate.limit == 4


def test_a_window_begins_anew_after_a_halving() -> None:
    gate = full(8, 8)

    gate.pushed_back(0)
    for _ in range(3):
        gate.went_well(1)
    gate.pushed_back(1)
    gate.went_well(2)
    assert gate.limit == 2
    gate.went_well(2)

    assert gate.limit == 3


def test_other_errors_do_not_narrow_the_gate() -> None:
    gate = AdaptiveGate(8, 8)

    with pytest.raises(ModelError):
        asyncio.run(LimitedModel(Says(ModelError("server", "500")), gate).complete(question()))

    assert gate.limit == 8


def test_a_fixed_gate_keeps_its_width() -> None:
    gate = Gate(3)

    refuse(gate, 3)
    ask_in_turn(gate, well=20)

    assert gate.limit == 3


@pytest.mark.parametrize(
    "make", [lambda: Gate(0), lambda: AdaptiveGate(0, 4), lambda: AdaptiveGate(4, 3)]
)
def test_a_gate_for_nobody_is_refused(make: type[Gate]) -> None:
    with pytest.raises(ValueError, match="expected"):
        make()  # type: ignore[call-arg]
