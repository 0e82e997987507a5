import pytest
from msgspec import structs

from evalwright.report.programs import count_verified_programs, describe_program, program_lines
from evalwright.report.report import CodeExecution
from evalwright.types import Execution, ExecutionOutcome, Outcome, Program, Score

HELD = CodeExecution(tier="namespaces+seccomp", verified=True)
UNSAFE = CodeExecution(tier="rlimits", verified=False)


def lines(  # noqa: PLR0913 - all that a page shows
    outcome: ExecutionOutcome = "pass",
    verdicts: tuple[bool, ...] = (True,),
    *,
    targets: tuple[str, ...] = ("f() == 1",),
    held: CodeExecution = HELD,
    detail: str = "",
    output: str = "",
    reason: str = "",
) -> list[str]:
    program = Program(source="", targets=targets, timeout_s=3)
    execution = Execution(
        outcome=outcome,
        targets=verdicts,
        verified=held.verified and not reason,
        detail=detail,
        reason=reason,
        output=output,
        duration_s=0.0123,
    )
    return "\n".join(program_lines(describe_program(program, execution, held))).splitlines()


def test_a_pass_is_short() -> None:
    assert lines() == [
        "pass: 1 of 1 targets passed",
        "  passed  f() == 1",
        "time: 0.012 s of 3 s",
        "sandbox: namespaces+seccomp, verified",
    ]


def test_every_target_has_its_verdict_and_the_first_that_failed_its_reason() -> None:
    found = lines(
        "assertion_fail",
        (True, False),
        targets=("f() == 1", "f() == 2"),
        detail="target 2 of 2: evaluated to False",
    )

    assert found[:4] == [
        "assertion_fail: 1 of 2 targets passed",
        "  target 2 of 2: evaluated to False",
        "  passed  f() == 1",
        "  failed  f() == 2",
    ]


def test_a_target_that_was_never_reached_has_no_verdict() -> None:
    assert lines("timeout", (False,), detail="ran longer than 3 s")[2] == "  –       f() == 1"


@pytest.mark.parametrize(
    ("held", "said"),
    [
        pytest.param(HELD, "namespaces+seccomp, verified", id="isolated"),
        pytest.param(UNSAFE, "rlimits, not verified, not isolated", id="not isolated"),
        pytest.param(
            CodeExecution(tier="landlock+seccomp", verified=False, packages=["numpy", "sympy"]),
            "landlock+seccomp, not verified, with numpy, sympy",
            id="with packages, in one process",
        ),
    ],
)
def test_it_is_said_how_the_program_was_held(held: CodeExecution, said: str) -> None:
    assert lines(held=held)[-1] == f"sandbox: {said}"


def test_a_pass_that_is_not_verified_says_why() -> None:
    found = lines(reason="target 1 of 1: it uses \x1b[2J`type`")

    assert "not verified: target 1 of 1: it uses \\x1b[2J`type`" in found
    assert found[-1] == "sandbox: namespaces+seccomp, not verified"


def scored(value: float, outcome: str, *, verified: bool) -> Outcome:
    score = Score(
        values={"score": value}, metadata={"outcome": outcome, "verified": verified, "reason": ""}
    )
    return Outcome(task="t", model="m", sample_id="a", scores={"record": score})


def test_verified_passes_are_counted_and_the_mean_without_the_rest() -> None:
    outcomes = [
        scored(1.0, "pass", verified=True),
        scored(1.0, "pass", verified=False),
        scored(0.5, "assertion_fail", verified=True),
        scored(0.0, "refused", verified=True),
        Outcome(task="t", model="m", sample_id="b", scores={"f1": Score(values={"score": 1.0})}),
    ]

    counted = count_verified_programs(HELD, outcomes)

    assert (counted.passes, counted.verified_passes) == (2, 1)
    assert (counted.mean, counted.verified_mean) == (0.625, 0.375)
    assert count_verified_programs(HELD, []) == HELD


def test_timeouts_that_rest_on_wall_clock_time_are_counted() -> None:
    by_wall_clock = scored(0.0, "timeout", verified=True)
    by_wall_clock.scores["record"] = structs.replace(
        by_wall_clock.scores["record"],
        metadata={**by_wall_clock.scores["record"].metadata, "wall_clock": True},
    )

    counted = count_verified_programs(HELD, [by_wall_clock, scored(0.0, "timeout", verified=True)])

    assert counted.wall_clock_timeouts == 1


def test_output_is_shown_and_cannot_move_the_cursor() -> None:
    found = lines(output="one\n\x1b[2Jtwo\n")

    assert found[2:5] == ["output:", "  one", "  \\x1b[2Jtwo"]


def test_a_long_target_is_one_short_line() -> None:
    found = lines(targets=(f"for n in range(3):\n    assert f(n) == {'1' * 200}",))

    assert found[1].startswith("  passed  for n in range(3): assert f(n) == 111")
    assert len(found[1]) == 90
    assert found[1].endswith("…")
