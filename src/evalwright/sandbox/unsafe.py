"""`rlimits`: a plain child process with limits and a deadline.

For code whose author means no harm and may still loop, crash or eat all memory. The user asks for
it with `--unsafe-code-exec`, and the report says that it was used.

Holds:      time, memory, output, size of a file, open files; an environment without the user's
            keys; a working directory that is deleted; the end of every process that stays in
            the candidate's group. No accident of a candidate is taken for a pass: an exit,
            a crash, a closed descriptor, a verdict printed on stdout.
Does not:   isolate. A candidate can read and write what the user can, use the network, signal the
            user's processes, and leave one behind that outlives it (`setsid`). It shares an
            interpreter with its targets, so one that means it can forge its verdict: compare
            equal to everything, or walk frames to the report. Hence `verified = False`.
"""

import math
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from evalwright import processes
from evalwright.processes import Ended, Launch, Limits
from evalwright.types import Execution, ExecutionOutcome, Program
from evalwright.vocabulary import MAX_OUTPUT_BYTES

ADDRESS_SPACE_BYTES = 1024**3
FILE_BYTES = 16 * 1024**2
OPEN_FILES = 64

_CHILD = Path(__file__).with_name("_child.py")
_OUTPUT_HEAD_BYTES = 4096
_MAX_DETAIL = 300
# Details are cut at 300 characters, six bytes each when all are escaped.
_RECORD_BYTES = 4096


class Unsafe:
    """Judge programs in child processes, at most one a core at once: deadlines are wall-clock."""

    tier = "rlimits"
    verified = False

    def __init__(self, workers: int | None = None) -> None:
        # Threads of its own: a program waits for its turn here, before its clock starts.
        self._threads = ThreadPoolExecutor(workers or os.cpu_count(), thread_name_prefix="sandbox")

    async def judge(self, program: Program) -> Execution:
        """Run the candidate and its targets. Raise ValueError for a target that does not compile.

        ChildProcessError, when no interpreter could be started: nothing was judged.
        """
        if not program.targets:
            raise ValueError("a program without targets cannot be judged")
        nonce = os.urandom(16).hex()
        texts = (nonce, program.source, *program.targets)
        ended = await processes.run(
            Launch(
                script=_CHILD,
                arguments=tuple(text.encode("utf-8", "surrogatepass") for text in texts),
                limits=Limits(
                    cpu_s=math.ceil(program.timeout_s) + 1,
                    address_space_bytes=ADDRESS_SPACE_BYTES,
                    file_bytes=FILE_BYTES,
                    open_files=OPEN_FILES,
                ),
                timeout_s=program.timeout_s,
                max_output_bytes=MAX_OUTPUT_BYTES,
                max_report_bytes=_RECORD_BYTES * (len(program.targets) + 3),
            ),
            self._threads,
        )
        return _execution(program, ended, nonce)


class _Record(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    """One line of the child's report."""


class _Ready(_Record, frozen=True, tag="ready"):
    pass


class _Candidate(_Record, frozen=True, tag="candidate"):
    outcome: Literal["ran", "syntax_error", "error"]
    detail: str


class _Target(_Record, frozen=True, tag="target"):
    outcome: Literal["passed", "failed", "uncompilable"]
    detail: str


class _Done(_Record, frozen=True, tag="done"):
    nonce: str


class _Report(Struct, frozen=True):
    """A report that came to its end."""

    candidate: _Candidate
    targets: list[_Target]


_RECORD = msgspec.json.Decoder(_Ready | _Candidate | _Target | _Done)


def _execution(program: Program, ended: Ended, nonce: str) -> Execution:
    if not ended.started:
        last_line = ended.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ChildProcessError(_cut(f"the evaluator did not start: {last_line or ended.why}"))
    total = len(program.targets)
    report = _read(ended.report, nonce=nonce, total=total)
    outcome, detail = _first_that_applies(program, ended, report)
    passed = [False] * total
    if report is not None and outcome in {"pass", "assertion_fail"}:
        passed = [target.outcome == "passed" for target in report.targets]
    return Execution(
        outcome=outcome,
        targets=tuple(passed),
        detail=_cut(detail),
        output=ended.output[:_OUTPUT_HEAD_BYTES].decode("utf-8", "replace"),
        duration_s=ended.duration_s,
    )


def _read(lines: bytes, *, nonce: str, total: int) -> _Report | None:
    """Take a report that is whole and in order, or none: the candidate may have written into it."""
    try:
        records = _RECORD.decode_lines(lines)
    except (ValueError, RecursionError):
        return None
    match records:
        case [_Ready(), _Candidate() as candidate, *rest, _Done(nonce=said)] if said == nonce:
            targets = [record for record in rest if isinstance(record, _Target)]
            expected = total if candidate.outcome == "ran" else 0
            if len(rest) == len(targets) == expected:
                return _Report(candidate, targets)
    return None


def _first_that_applies(
    program: Program, ended: Ended, report: _Report | None
) -> tuple[ExecutionOutcome, str]:
    """Go down the table of outcomes in the contract, row by row."""
    if report is None and (ended.why == "timeout" or ended.status == -signal.SIGXCPU):
        return "timeout", f"ran longer than {program.timeout_s:g} s"
    if ended.why == "output":
        return "error", "output overflow"
    if report is None:
        return "error", f"not all targets were judged: {_ending(ended.status)}"
    if report.candidate.outcome != "ran":
        return report.candidate.outcome, report.candidate.detail
    numbered = [
        (f"target {number} of {len(report.targets)}", target)
        for number, target in enumerate(report.targets, start=1)
    ]
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


def _ending(status: int) -> str:
    if status >= 0:
        return f"the process exited with status {status}"
    try:
        return f"the process was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"the process was killed by signal {-status}"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_DETAIL else text[: _MAX_DETAIL - 1] + "…"
