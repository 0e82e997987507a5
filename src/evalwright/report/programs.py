"""One judged program, as `evalwright exec` shows it."""

import math
from collections.abc import Iterable, Iterator
from textwrap import indent

from msgspec import Struct, structs

from evalwright.report.report import CodeExecution
from evalwright.report.tables import NOTHING, truncate
from evalwright.text.visible import visible
from evalwright.types import Execution, ExecutionOutcome, Outcome, Program, first_number

_LONGEST_TARGET = 80


class JudgedProgram(Struct, frozen=True, kw_only=True):
    """A program's result. `code_exec` metadata has the fields from `outcome` to `reason`."""

    outcome: ExecutionOutcome
    passed: int
    total: int
    targets: list[bool]
    """One verdict per target, in order."""
    detail: str
    """Why the program did not pass; empty if it passed."""
    tier: str
    verified: bool
    """Whether a process that the program cannot reach confirmed every passed target."""
    reason: str
    """Why the result is not verified; empty if it is."""
    packages: list[str]
    output: str
    """The first 4 KiB of stdout and stderr."""
    duration_s: float
    timeout_s: float
    texts: list[str]
    """The source code of the targets."""


def count_verified_programs(execution: CodeExecution, outcomes: Iterable[Outcome]) -> CodeExecution:
    """Add how many programs passed, how many passes are verified, both means and timeouts."""
    passes = verified_passes = wall_clock_timeouts = 0
    scores: list[float] = []
    verified_scores: list[float] = []
    for outcome in outcomes:
        for score in outcome.scores.values():
            if "verified" not in score.metadata or "outcome" not in score.metadata:
                continue
            is_verified = bool(score.metadata["verified"])
            wall_clock_timeouts += bool(score.metadata.get("wall_clock"))
            if score.metadata["outcome"] == "pass":
                passes += 1
                verified_passes += is_verified
            scores.append(first_number(score.values) or 0.0)
            verified_scores.append(scores[-1] if is_verified else 0.0)
    if not scores:
        return execution
    return structs.replace(
        execution,
        passes=passes,
        verified_passes=verified_passes,
        mean=math.fsum(scores) / len(scores),
        verified_mean=math.fsum(verified_scores) / len(scores),
        wall_clock_timeouts=wall_clock_timeouts,
    )


def describe_program(
    program: Program, execution: Execution, sandbox: CodeExecution
) -> JudgedProgram:
    """Collect what became of a program, and how it was run."""
    return JudgedProgram(
        outcome=execution.outcome,
        passed=sum(execution.targets),
        total=len(execution.targets),
        targets=list(execution.targets),
        detail=execution.detail,
        tier=sandbox.tier,
        verified=execution.verified,
        reason=execution.reason,
        packages=sandbox.packages,
        output=execution.output,
        duration_s=round(execution.duration_s, 4),
        timeout_s=program.timeout_s,
        texts=list(program.targets),
    )


def program_lines(program: JudgedProgram) -> Iterator[str]:
    """Yield the page that people read."""
    yield f"{program.outcome}: {program.passed} of {program.total} targets passed"
    if program.detail:
        yield visible(f"  {program.detail}")
    for passed, text in zip(program.targets, program.texts, strict=True):
        verdict = NOTHING
        if program.outcome in {"pass", "assertion_fail"}:
            verdict = "passed" if passed else "failed"
        yield f"  {verdict:<8}{truncate(' '.join(visible(text).split()), _LONGEST_TARGET)}"
    if program.output:
        yield "output:"
        yield indent(visible(program.output.rstrip("\n")), "  ", lambda _: True)
    yield f"time: {program.duration_s:.3f} s of {program.timeout_s:g} s"
    sandbox = [program.tier, "verified" if program.verified else "not verified"]
    if program.reason:
        yield visible(f"not verified: {program.reason}")
    if not CodeExecution(tier=program.tier, verified=program.verified).isolates:
        sandbox.append("not isolated")
    if program.packages:
        sandbox.append(f"with {', '.join(program.packages)}")
    yield f"sandbox: {', '.join(sandbox)}"
