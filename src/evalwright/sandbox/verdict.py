"""Turn the reports of evaluators, and how their processes ended, into an `Execution`.

A report is believed when it is whole, in order and ends with `done`. Otherwise it counts for
nothing.

    judge_report    one report decides
    check_report    the split evaluator's report, as a check of the plain verdict
    combine         the plain verdict, and what the check says of every target that passed
"""

import signal
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct, structs

from evalwright.processes import Ended
from evalwright.sandbox.inside import judging
from evalwright.types import Execution, ExecutionOutcome, Program

RECORD_BYTES = 4096
"""Details are cut at 300 characters, six bytes each when all are escaped."""
_OUTPUT_HEAD_BYTES = 4096
# A program that uses less than this share of its time did not have a processor to itself.
_FAIR_SHARE = 0.5
# A program that computes the same in both processes does not take five times as long in one.
_MUCH_LONGER = 5


class _Record(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One line of a report."""


class _Ready(_Record, frozen=True, tag="ready"):
    pass


class _Candidate(_Record, frozen=True, tag="candidate"):
    outcome: Literal["ran", "syntax_error", "error"]
    detail: str


class _Target(_Record, frozen=True, tag="target"):
    outcome: Literal["passed", "failed", "differs", "untrusted", "refused", "uncompilable"]
    detail: str


class _Died(_Record, frozen=True, tag="died"):
    detail: str
    cause: Literal["program", "check"]
    """Who ended the check: no honest program does."""


class _Silent(_Record, frozen=True, tag="silent"):
    pass


class _Broken(_Record, frozen=True, tag="broken"):
    detail: str


class _Done(_Record, frozen=True, tag="done"):
    nonce: str


class _Left(_Record, frozen=True, tag="left"):
    pass


_Report = tuple[_Candidate, list[_Target]]
_RECORD = msgspec.json.Decoder(
    _Ready | _Candidate | _Silent | _Target | _Died | _Broken | _Done | _Left
)
_DONE = b'{"type": "done"'
_LEFT = b'{"type": "left"}\n'
_FINAL = b'{"type": "candidate", "outcome": "syntax_error"'
IN_PROCESS = "the targets were judged in the program's own process"


class Check(Struct, frozen=True, kw_only=True):
    """What the split evaluator says of a program."""

    final: Execution | None = None
    """The verdict, where the targets make no difference to it."""
    problem: str = ""
    """Why it says nothing of any target."""
    broken: str = ""
    """How the program broke the check, which no program does that passes in its own process."""
    targets: tuple[_Target, ...] = ()
    silent_s: float = 0.0
    """If the time ran out: how long the program took, at least, to answer."""


def ran_out_of_wall_time(program: Program, ended: Ended) -> bool:
    """Whether a program ran out of time with little CPU time: it waited, or others ran."""
    if ended.why != "timeout" or ended.cpu_s is None:
        return False
    return ended.cpu_s < program.timeout_s * _FAIR_SHARE


def rest_on_wall_clock(execution: Execution) -> Execution:
    """Mark a timeout of the second attempt as caused by wall-clock time, not CPU time."""
    if execution.outcome != "timeout":
        return execution
    detail = (
        f"{execution.detail}, also alone, with little CPU time: it waits, or the machine is busy"
    )
    return structs.replace(execution, detail=detail, wall_clock=True)


def silence_s(program: Program) -> float:
    """How long the program may be silent, in all, before the evaluator says so."""
    return program.timeout_s / 2


def max_report_bytes(program: Program) -> int:
    """The longest report that an honest evaluator writes."""
    return RECORD_BYTES * (len(program.targets) + 4)


def has_left(report: bytearray) -> bool:
    """Whether an evaluator has finished and left its jail to the next one."""
    return report.endswith(_LEFT)


def is_complete_verdict(report: bytearray) -> bool:
    """Whether an evaluator has judged all targets."""
    return _DONE in report[-RECORD_BYTES:]


def is_final(report: bytearray) -> bool:
    """Whether the program does not compile: the targets make no difference."""
    return _FINAL in report


def judge_report(
    program: Program, ended: Ended, nonce: str, *, verified: bool = False
) -> Execution:
    """Judge by one report. ChildProcessError: nothing was run. ValueError: a bad target."""
    records = _read_records(ended)
    report = _complete_report(records, nonce=nonce, total=len(program.targets))
    outcome, detail = _choose_outcome(program, ended, report, records)
    passed = [False] * len(program.targets)
    if report is not None and outcome in {"pass", "assertion_fail"}:
        passed = [target.outcome == "passed" for target in report[1]]
    return Execution(
        outcome=outcome,
        targets=tuple(passed),
        verified=verified,
        detail=_cut(detail),
        reason="" if verified else IN_PROCESS,
        output=ended.output[:_OUTPUT_HEAD_BYTES].decode("utf-8", "replace"),
        duration_s=ended.duration_s,
    )


def check_report(program: Program, ended: Ended, nonce: str) -> Check:
    """Read a report as a check of the plain verdict. Raise what `judge_report` raises."""
    records = _read_records(ended)
    report = _complete_report(records, nonce=nonce, total=len(program.targets))
    if report is not None:
        candidate, targets = report
        if candidate.outcome == "syntax_error":
            return Check(final=judge_report(program, ended, nonce, verified=True))
        if candidate.outcome != "ran":
            return Check(broken=f"during the check, the program did not run: {candidate.detail}")
        return Check(targets=tuple(targets))
    has_run = any(isinstance(record, _Candidate) for record in records)
    if ended.why == "timeout" and not has_run:
        return Check(final=judge_report(program, ended, nonce, verified=True))
    if records and isinstance(records[-1], _Died) and records[-1].cause == "program":
        return Check(broken=f"aborts the check: {records[-1].detail}")
    if ended.why == "output":
        return Check(broken="prints too much, only in the check")
    _, detail = _choose_outcome(program, ended, None, records)
    was_silent = any(isinstance(record, _Silent) for record in records)
    return Check(
        problem=f"the check did not finish: {detail}",
        silent_s=silence_s(program) if was_silent and ended.why == "timeout" else 0.0,
    )


def combine(plain: Execution, check: Check) -> Execution:
    """Decide what a plain verdict is worth after the check."""
    reason = ""
    if any(plain.targets) and check.broken:
        return _refuse(plain, f"the program passes in its own process, but {check.broken}")
    if any(plain.targets) and plain.duration_s * _MUCH_LONGER < check.silent_s > 0:
        return _refuse(
            plain,
            f"the program passes in its own process within {plain.duration_s:.2f} s, but takes "
            f"more than {check.silent_s:g} s to answer in the check",
        )
    if any(plain.targets) and check.problem:
        reason = check.problem
    for number, (passed, target) in enumerate(
        zip(plain.targets, check.targets, strict=False), start=1
    ):
        name = f"target {number} of {len(plain.targets)}"
        if not passed or target.outcome == "passed":
            continue
        if target.outcome in {"failed", "refused"}:
            return _refuse(
                plain,
                f"{name} passes in the program's own process, but fails outside it: "
                f"{target.detail}",
            )
        reason = reason or f"{name}: {target.detail}"
    return structs.replace(plain, verified=not reason, reason=_cut(reason))


def _refuse(plain: Execution, detail: str) -> Execution:
    return structs.replace(
        plain,
        outcome="refused",
        targets=(False,) * len(plain.targets),
        verified=True,
        detail=_cut(detail),
        reason="",
    )


def _read_records(ended: Ended) -> list[_Record]:
    try:
        records: list[_Record] = _RECORD.decode_lines(ended.report)
    except (ValueError, RecursionError):
        records = []
    reason: str | None = None
    if records and isinstance(records[0], _Broken):
        reason = records[0].detail
    elif not ended.started:
        last_line = ended.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        reason = last_line or ended.why
    if reason is not None:
        raise ChildProcessError(_cut(f"the evaluator did not start: {reason}"))
    return records


def _complete_report(records: Sequence[_Record], *, nonce: str, total: int) -> _Report | None:
    records = [record for record in records if not isinstance(record, _Silent)]
    if records and isinstance(records[-1], _Left):
        records = records[:-1]
    match records:
        case [_Ready(), _Candidate() as candidate, *rest, _Done(nonce=last)] if last == nonce:
            targets = [record for record in rest if isinstance(record, _Target)]
            expected = total if candidate.outcome == "ran" else 0
            if len(rest) == len(targets) == expected:
                return candidate, targets
    return None


def _choose_outcome(
    program: Program, ended: Ended, report: _Report | None, records: Sequence[_Record]
) -> tuple[ExecutionOutcome, str]:
    if report is None and (ended.why == "timeout" or ended.status == -signal.SIGXCPU):
        return "timeout", f"ran longer than {program.timeout_s:g} s"
    if ended.why == "output":
        return "error", "output overflow"
    if report is None:
        died = records[-1].detail if records and isinstance(records[-1], _Died) else ""
        reason = died or f"the process {judging.describe_exit(ended.status)}"
        return "error", f"not all targets were judged: {reason}"
    candidate, targets = report
    if candidate.outcome != "ran":
        return candidate.outcome, candidate.detail
    return _judge_targets(targets)


def _judge_targets(targets: list[_Target]) -> tuple[ExecutionOutcome, str]:
    numbered = [
        (f"target {number} of {len(targets)}", target)
        for number, target in enumerate(targets, start=1)
    ]
    for name, target in numbered:
        if target.outcome == "refused":
            return "refused", f"{name}: {target.detail}"
        if target.outcome == "untrusted":
            return "error", f"{name}: {target.detail}"
    broken = [
        f"{name} does not compile: {target.detail}"
        for name, target in numbered
        if target.outcome == "uncompilable"
    ]
    if broken:
        raise ValueError("; ".join(broken))
    for name, target in numbered:
        if target.outcome in {"failed", "differs"}:
            return "assertion_fail", f"{name}: {target.detail}"
    return "pass", ""


def _cut(text: str) -> str:
    return text if len(text) <= judging.MAX_DETAIL else text[: judging.MAX_DETAIL - 1] + "…"
