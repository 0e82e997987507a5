"""One judged program, as `evalwright exec` shows it."""

from collections.abc import Iterator
from textwrap import indent

from msgspec import Struct

from evalwright.report.report import CodeExecution
from evalwright.report.tables import truncate, visible
from evalwright.types import Execution, ExecutionOutcome, Program

_LONGEST_TARGET = 80


class Judged(Struct, frozen=True, kw_only=True):
    """What became of a program. Its first keys are those of a `code_exec` outcome's metadata."""

    outcome: ExecutionOutcome
    passed: int
    total: int
    targets: list[bool]
    """One verdict a target, in order."""
    detail: str
    """Why it is not a pass; empty if it is one."""
    tier: str
    verified: bool
    packages: list[str]
    output: str
    """The first 4 KiB of stdout and stderr."""
    duration_s: float
    timeout_s: float
    texts: list[str]
    """The targets themselves."""


def judged(program: Program, execution: Execution, held: CodeExecution) -> Judged:
    """All of it on one page."""
    return Judged(
        outcome=execution.outcome,
        passed=sum(execution.targets),
        total=len(execution.targets),
        targets=list(execution.targets),
        detail=execution.detail,
        tier=held.tier,
        verified=held.verified,
        packages=held.packages,
        output=execution.output,
        duration_s=round(execution.duration_s, 4),
        timeout_s=program.timeout_s,
        texts=list(program.targets),
    )


def program_lines(found: Judged) -> Iterator[str]:
    """For people."""
    yield f"{found.outcome}: {found.passed} of {found.total} targets passed"
    if found.detail:
        yield visible(f"  {found.detail}")
    reached = found.outcome in {"pass", "assertion_fail"}
    for verdict, text in zip(found.targets, found.texts, strict=True):
        said = ("passed" if verdict else "failed") if reached else "–"
        line = truncate(" ".join(visible(text).split()), _LONGEST_TARGET)
        yield f"  {said:<8}{line}"
    if found.output:
        yield "output:"
        yield indent(visible(found.output.rstrip("\n")), "  ", lambda _: True)
    yield f"time: {found.duration_s:.3f} s of {found.timeout_s:g} s"
    yield f"sandbox: {_held(found)}"


def _held(found: Judged) -> str:
    parts = [found.tier, "verified" if found.verified else "not verified"]
    if not CodeExecution(tier=found.tier, verified=found.verified).isolated:
        parts.append("not isolated")
    if found.packages:
        parts.append(f"with {', '.join(found.packages)}")
    return ", ".join(parts)
