"""Turn an evaluator's report, and how its process ended, into an `Execution`.

A report is believed when it is whole, in order and ends with `done`. Otherwise it counts for
nothing.
"""

import signal
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from evalwright.processes import Ended
from evalwright.sandbox.inside import judging
from evalwright.types import Execution, ExecutionOutcome, Program

RECORD_BYTES = 4096
"""Details are cut at 300 characters, six bytes each when all are escaped."""
_OUTPUT_HEAD_BYTES = 4096


class _Record(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One line of a report."""


class _Ready(_Record, frozen=True, tag="ready"):
    pass


class _Candidate(_Record, frozen=True, tag="candidate"):
    outcome: Literal["ran", "syntax_error", "error"]
    detail: str


class _Target(_Record, frozen=True, tag="target"):
    outcome: Literal["passed", "failed", "uncompilable", "untrusted"]
    detail: str


class _Died(_Record, frozen=True, tag="died"):
    detail: str


class _Broken(_Record, frozen=True, tag="broken"):
    detail: str


class _Done(_Record, frozen=True, tag="done"):
    nonce: str


_Report = tuple[_Candidate, list[_Target]]
_RECORD = msgspec.json.Decoder(_Ready | _Candidate | _Target | _Died | _Broken | _Done)


def max_report_bytes(program: Program) -> int:
    """The longest report that an honest evaluator writes."""
    return RECORD_BYTES * (len(program.targets) + 3)


def judge_report(program: Program, ended: Ended, nonce: str) -> Execution:
    """Judge. ChildProcessError: nothing was run. ValueError: a target does not compile."""
    try:
        records = _RECORD.decode_lines(ended.report)
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
    report = _complete_report(records, nonce=nonce, total=len(program.targets))
    outcome, detail = _choose_outcome(program, ended, report, records)
    passed = [False] * len(program.targets)
    if report is not None and outcome in {"pass", "assertion_fail"}:
        passed = [target.outcome == "passed" for target in report[1]]
    return Execution(
        outcome=outcome,
        targets=tuple(passed),
        detail=_cut(detail),
        output=ended.output[:_OUTPUT_HEAD_BYTES].decode("utf-8", "replace"),
        duration_s=ended.duration_s,
    )


def _complete_report(records: Sequence[_Record], *, nonce: str, total: int) -> _Report | None:
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
    numbered = [
        (f"target {number} of {len(targets)}", target)
        for number, target in enumerate(targets, start=1)
    ]
    for name, target in numbered:
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
        if target.outcome == "failed":
            return "assertion_fail", f"{name}: {target.detail}"
    return "pass", ""


def _cut(text: str) -> str:
    return text if len(text) <= judging.MAX_DETAIL else text[: judging.MAX_DETAIL - 1] + "…"
