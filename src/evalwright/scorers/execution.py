"""Run a program in the sandbox and score it: the share of its targets that pass."""

from evalwright.ports import Sandbox
from evalwright.types import Program, Score

EXECUTION_VERSION = 2
"""Changes when the same program may get another score."""


async def score_program(sandbox: Sandbox | None, program: Program) -> Score:
    """Return `score`, with metadata of the execution; ValueError if a target does not compile."""
    if sandbox is None:
        raise ValueError("code_exec needs a sandbox, but there is none")
    execution = await sandbox.judge(program)
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
            "tier": sandbox.tier,
            "verified": execution.verified,
            "reason": execution.reason,
        },
    )
