"""Outcomes made by hand, for the tests of this folder."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, BinaryIO, Protocol

from evalwright.report.export import Read
from evalwright.types import Action, Failure, Outcome, Part, Score, Trace, Usage

RECORD = {
    "outcome": "assertion_fail",
    "passed": 1,
    "total": 2,
    "targets": [True, False],
    "detail": "target 2",
    "tier": "rlimits",
    "verified": False,
}
FAILURE = Failure(
    stage="solver", type="timeout", message="no answer in 60 s", hint="wait", attempts=5
)


class Write(Protocol):
    """`write` of a format."""

    def __call__(self, read: Read, out: BinaryIO) -> int: ...


def completed(sample_id: str = "a", *, output: str = " 4\n", **changes: Any) -> Outcome:
    """One that went well."""
    trace = Trace(
        input="2 + 2",
        output=output,
        post_processed=output.strip(),
        usage=Usage(requests=1, prompt_tokens=5, completion_tokens=2, cost=0.25),
        latency_s=0.5,
    )
    facts: dict[str, Any] = {
        "task": "tasks",
        "model": "scripted/oracle",
        "sample_id": sample_id,
        "trace": trace,
        "scores": {"record": Score(values={"score": 1.0}, correct=True)},
    }
    return Outcome(**{**facts, **changes})


def failed(sample_id: str = "b") -> Outcome:
    """One that has no answer."""
    return completed(sample_id, trace=None, scores={}, failure=FAILURE, trial=1)


def judged() -> Outcome:
    """One whose program was run."""
    return completed(scores={"record": Score(values={"score": 0.5}, metadata=RECORD)})


def fanned_out() -> Outcome:
    """One that a postprocessor made two samples of; a rule left out the second."""
    parts = (
        Part(sample={"n": 1}, scores={"record": Score(values={"score": 1.0})}),
        Part(
            sample={"n": 2},
            scores={"record": Score(values={"score": 0.0})},
            actions=(Action(action="exclude_from_metrics", rule_key="odd"),),
        ),
    )
    return completed(scores={}, parts=parts)


def written(write: Write, outcomes: Sequence[Outcome]) -> bytes:
    """What a format makes of them; it must say how many there were."""
    out = BytesIO()
    assert write(lambda: iter(outcomes), out) == len(outcomes)
    return out.getvalue()
