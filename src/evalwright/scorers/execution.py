"""Run a program in the sandbox and score it: the share of its targets that pass."""

from evalwright.impossible_targets import explain_impossible
from evalwright.ports import Sandbox
from evalwright.types import Program, Score

EXECUTION_VERSION = 4
"""Increase it when the same program may get a different score."""


async def score_program(sandbox: Sandbox | None, program: Program) -> Score:
    """Return `score` with metadata of the execution; ValueError for a target that cannot pass."""
    if sandbox is None:
        raise ValueError("code_exec needs a sandbox, but none is available")
    for number, target in enumerate(program.targets, start=1):
        if why := explain_impossible(target, sandbox.packages):
            name = f"target {number} of {len(program.targets)}"
            raise ValueError(f"no program can pass {name}: {why}; fix the task")
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
            **({"wall_clock": True} if execution.wall_clock else {}),
        },
    )
