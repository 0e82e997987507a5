"""Find the trace whose cost and latency can be measured."""

from evalwright.ports import Case
from evalwright.types import Trace


def find_request(case: Case) -> Trace | None:
    """Return the trace; None if any reply came from the cache or a recording.

    ValueError if the task has no solver.
    """
    if case.answer is None:
        raise ValueError(
            "a task without a solver sends no requests, so there is nothing to measure"
        )
    replies = len(case.answer.conversation.get("raw_outputs") or ())
    return case.answer if case.answer.usage.requests >= max(1, replies) else None
