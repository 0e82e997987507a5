"""Only a whole report is believed, and the first row of the contract's table that applies."""

import pytest
from msgspec import structs

from evalwright.processes import Ended, Why
from evalwright.sandbox import verdict
from evalwright.types import Execution, ExecutionOutcome, Program

READY = b'{"type": "ready"}\n'
RAN = b'{"type": "candidate", "outcome": "ran", "detail": ""}\n'
PASSED = b'{"type": "target", "outcome": "passed", "detail": ""}\n'
DONE = b'{"type": "done", "nonce": "N"}\n'


@pytest.mark.parametrize(
    ("report", "why", "outcome"),
    [
        pytest.param(READY + RAN + PASSED + DONE, "exited", "pass", id="whole"),
        pytest.param(READY + RAN + PASSED + DONE, "timeout", "pass", id="whole, slow to exit"),
        pytest.param(READY + RAN + PASSED + DONE, "output", "error", id="whole, but it printed"),
        pytest.param(READY + RAN + PASSED, "exited", "error", id="no end"),
        pytest.param(READY + RAN + PASSED, "timeout", "timeout", id="no end in time"),
        pytest.param(READY + RAN + PASSED + DONE[:-9], "exited", "error", id="cut short"),
        pytest.param(READY + RAN + DONE, "exited", "error", id="a target is missing"),
        pytest.param(READY + RAN + PASSED * 2 + DONE, "exited", "error", id="one too many"),
        pytest.param(READY + PASSED + RAN + DONE, "exited", "error", id="out of order"),
        pytest.param(READY + RAN + RAN + DONE, "exited", "error", id="not a target"),
        pytest.param(RAN + PASSED + DONE, "exited", "error", id="never ready"),
        pytest.param(
            READY + RAN + PASSED + DONE + PASSED, "exited", "error", id="more after the end"
        ),
        pytest.param(
            READY + RAN + PASSED + DONE.replace(b"N", b"M"), "exited", "error", id="another nonce"
        ),
        pytest.param(
            READY + RAN + PASSED.replace(b'""', b'"", "x": 1') + DONE,
            "exited",
            "error",
            id="an unknown field",
        ),
        pytest.param(
            READY + RAN.replace(b"ran", b"error") + PASSED + DONE,
            "exited",
            "error",
            id="targets of a candidate that did not run",
        ),
    ],
)
def test_only_a_whole_report_counts(report: bytes, why: Why, outcome: str) -> None:
    ended = Ended(why=why, started=True, status=0, report=report, output=b"", duration_s=0.1)

    execution = verdict.judge_report(Program(source="", targets=("1",)), ended, "N")

    assert (execution.outcome, execution.targets) == (outcome, (outcome == "pass",))


TWO = Program(source="", targets=("1", "2"))


def checked(*outcomes: str) -> verdict.Check:
    lines = [
        b'{"type": "target", "outcome": "%b", "detail": "why"}\n' % outcome.encode()
        for outcome in outcomes
    ]
    report = READY + RAN + b"".join(lines) + DONE + b'{"type": "left"}\n'
    ended = Ended(why="exited", started=True, status=0, report=report, output=b"", duration_s=0.1)
    return verdict.check_report(TWO, ended, "N")


def plain(verdicts: str) -> Execution:
    outcome: ExecutionOutcome = "assertion_fail" if "-" in verdicts else "pass"
    return Execution(outcome=outcome, targets=tuple(verdict == "+" for verdict in verdicts))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(plain("++"), ("passed", "passed"), ("pass", (True, True), True), id="agree"),
        pytest.param(
            plain("+-"),
            ("passed", "failed"),
            ("assertion_fail", (True, False), True),
            id="agree about a failure",
        ),
        pytest.param(
            plain("+-"),
            ("passed", "passed"),
            ("assertion_fail", (True, False), True),
            id="only plain Python fails it",
        ),
        pytest.param(
            plain("++"),
            ("passed", "failed"),
            ("refused", (False, False), True),
            id="by value",
        ),
        pytest.param(
            plain("+-"),
            ("refused", "passed"),
            ("refused", (False, False), True),
            id="a part of the score is forged",
        ),
        pytest.param(
            plain("++"),
            ("passed", "untrusted"),
            ("pass", (True, True), False),
            id="cannot tell",
        ),
        pytest.param(
            plain("++"), ("differs", "passed"), ("pass", (True, True), False), id="differs"
        ),
        pytest.param(
            plain("--"),
            ("untrusted", "differs"),
            ("assertion_fail", (False, False), True),
            id="nothing to verify",
        ),
    ],
)
def test_two_verdicts_make_one_outcome(
    first: Execution, second: tuple[str, ...], expected: tuple[str, tuple[bool, ...], bool]
) -> None:
    execution = verdict.combine(first, checked(*second))

    assert (execution.outcome, execution.targets, execution.verified) == expected
    assert bool(execution.reason) == (not execution.verified)
    assert (execution.outcome == "refused") == ("fails outside it: why" in execution.detail)


def test_a_check_that_does_not_finish_verifies_nothing() -> None:
    ended = Ended(
        why="timeout", started=True, status=0, report=READY + RAN, output=b"", duration_s=1
    )

    execution = verdict.combine(plain("++"), verdict.check_report(TWO, ended, "N"))

    assert (execution.outcome, execution.verified) == ("pass", False)
    assert execution.reason.startswith("the check did not finish: ")


def broken(detail: str, cause: str, *, ran: bool = True) -> verdict.Check:
    died = b'{"type": "died", "detail": "%b", "cause": "%b"}\n' % (detail.encode(), cause.encode())
    report = READY + (RAN if ran else b"") + died
    ended = Ended(why="exited", started=True, status=0, report=report, output=b"", duration_s=1)
    return verdict.check_report(TWO, ended, "N")


@pytest.mark.parametrize("ran", [True, False])
def test_a_program_that_breaks_off_the_check_is_refused(ran: bool) -> None:  # noqa: FBT001
    execution = verdict.combine(plain("+-"), broken("garbage", "program", ran=ran))

    assert (execution.outcome, execution.targets) == ("refused", (False, False))
    assert "garbage" in execution.detail


def test_a_check_that_breaks_without_the_program_verifies_nothing() -> None:
    execution = verdict.combine(plain("++"), broken("no memory", "check"))

    assert (execution.outcome, execution.verified) == ("pass", False)
    assert execution.reason == "the check did not finish: not all targets were judged: no memory"


def test_a_program_that_fails_by_itself_is_not_refused() -> None:
    execution = verdict.combine(plain("--"), broken("exited", "program"))

    assert execution.outcome == "assertion_fail"


SILENT = b'{"type": "silent"}\n'


@pytest.mark.parametrize(
    ("report", "plain_s", "outcome"),
    [
        pytest.param(READY + RAN + SILENT, 0.1, "refused", id="one answer, much longer"),
        pytest.param(READY + RAN + SILENT, 0.4, "pass", id="slow in its own process, too"),
        pytest.param(READY + RAN, 0.1, "pass", id="many answers"),
    ],
)
def test_a_check_runs_out_of_time_for_the_program_or_for_its_questions(
    report: bytes, plain_s: float, outcome: str
) -> None:
    """The time limit is 3 s, so half of it is 1.5 s."""
    ended = Ended(why="timeout", started=True, status=-9, report=report, output=b"", duration_s=3)
    check = verdict.check_report(TWO, ended, "N")

    execution = verdict.combine(structs.replace(plain("++"), duration_s=plain_s), check)

    assert (execution.outcome, execution.verified) == (outcome, outcome == "refused")


def test_a_slow_answer_does_not_spoil_a_report() -> None:
    report = READY + RAN + SILENT + PASSED * 2 + DONE
    ended = Ended(why="exited", started=True, status=0, report=report, output=b"", duration_s=2)

    assert verdict.judge_report(TWO, ended, "N").outcome == "pass"


@pytest.mark.parametrize(
    ("why", "cpu_s", "starved"),
    [
        ("timeout", 0.2, True),
        ("timeout", 2.0, False),
        ("timeout", None, False),
        ("exited", 0.2, False),
    ],
)
def test_a_program_is_starved_if_its_time_ends_long_before_its_cpu_time(
    why: Why, cpu_s: float | None, *, starved: bool
) -> None:
    ended = Ended(
        why=why, started=True, status=0, report=READY, output=b"", duration_s=3, cpu_s=cpu_s
    )

    assert verdict.ran_out_of_wall_time(TWO, ended) is starved
