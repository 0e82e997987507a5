"""Only a whole report is believed, and the first row of the contract's table that applies."""

import pytest

from evalwright.processes import Ended, Why
from evalwright.sandbox import verdict
from evalwright.types import Program

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
