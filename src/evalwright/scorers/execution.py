"""Run a program in the sandbox and score it: the share of its targets that pass."""

from evalwright.ports import Case
from evalwright.types import Program, Score


async def score_program(case: Case, program: Program) -> Score:
    """Score `score`; the metadata says what became of the program. It is right if all targets pass.

    ValueError where a target does not compile: that is a fault of the task, not of the program.
    """
    if case.sandbox is None:
        raise ValueError("code_exec needs a sandbox, and there is none")
    execution = await case.sandbox.judge(program)
    value = sum(execution.targets) / len(execution.targets)
    return Score(
        values={"score": value},
        correct=execution.outcome == "pass",
        reason=execution.detail or ("" if value == 1 else execution.outcome),
        metadata={
            "outcome": execution.outcome,
            "passed": sum(execution.targets),
            "total": len(execution.targets),
            "targets": list(execution.targets),
            "detail": execution.detail,
            "tier": case.sandbox.tier,
            "verified": case.sandbox.verified,
        },
    )
