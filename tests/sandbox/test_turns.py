import threading
from concurrent.futures import ThreadPoolExecutor

from tests.living import PATIENCE_S

from evalwright.sandbox.turns import RunTurns, Turns


def test_many_run_side_by_side() -> None:
    turns, together = Turns(), threading.Barrier(3, timeout=PATIENCE_S)

    def run() -> bool:
        with turns.take_shared_turn():
            together.wait()  # raises unless all three are here at once
        return True

    with ThreadPoolExecutor(3) as threads:
        assert all(threads.map(lambda _: run(), range(3)))


def test_one_alone_waits_for_the_others() -> None:
    turns = Turns()
    events: list[str] = []
    one_runs, may_end, is_alone = threading.Event(), threading.Event(), threading.Event()

    def share() -> None:
        with turns.take_shared_turn():
            one_runs.set()
            may_end.wait(PATIENCE_S)
            events.append("shared")

    def run_alone() -> None:
        with turns.take_alone(threading.Event()) as granted:
            is_alone.set()
            events.append(f"alone: {granted}")

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(share)
        assert one_runs.wait(PATIENCE_S)
        alone = threads.submit(run_alone)
        assert not is_alone.wait(0.05)
        may_end.set()
        first.result(PATIENCE_S)
        alone.result(PATIENCE_S)

    assert events == ["shared", "alone: True"]


def test_nobody_begins_beside_one_that_is_alone() -> None:
    turns = Turns()
    events: list[str] = []

    def share() -> None:
        with turns.take_shared_turn():
            events.append("shared")

    with ThreadPoolExecutor(1) as threads:
        with turns.take_alone(threading.Event()):
            later = threads.submit(share)
            events.append("alone")
        later.result(PATIENCE_S)

    assert events == ["alone", "shared"]


def test_one_that_is_stopped_does_not_wait() -> None:
    turns, stop = Turns(), threading.Event()
    stop.set()

    with turns.take_shared_turn(), turns.take_alone(stop) as granted:
        assert not granted

    with turns.take_shared_turn():
        pass


def test_no_more_programs_run_than_there_are_turns() -> None:
    turns, never = RunTurns(1), threading.Event()
    begins, second_runs = threading.Event(), threading.Event()

    def run() -> None:
        begins.set()
        with turns.take(never):
            second_runs.set()

    with ThreadPoolExecutor(1) as threads:
        with turns.take(never) as end_turn:
            second = threads.submit(run)
            assert begins.wait(PATIENCE_S)
            assert not second_runs.wait(0.05)
            end_turn()
            assert second_runs.wait(PATIENCE_S)
            end_turn()  # once more is no turn for anybody
        second.result(PATIENCE_S)


def test_a_program_that_is_stopped_does_not_wait_for_its_turn() -> None:
    turns, stop = RunTurns(1), threading.Event()

    with turns.take(stop):
        stop.set()
        with turns.take(stop) as end_turn:
            end_turn()  # of a turn that it does not have

    assert turns._free.acquire(blocking=False)
    assert not turns._free.acquire(blocking=False)
