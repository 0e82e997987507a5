"""How a log says that its task ended: whole, with something broken, or before its end.

    {"status": "success" | "failure", "errors": […], "execution": {"execution_status": "finished"}}

A task that was stopped has figures of the samples that it came to. They are shown, and what is made
of the log is not finished either: nothing that must hold is taken to hold by them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evalwright.engine.finishing import Broken
from evalwright.report.logs.taken import Crooked, failures_in
from evalwright.types import Failure

STOPPED = "stopped"
"""The type of the error in a log of ours whose task did not come to its end."""
_SUCCEEDED = {"", "success", "succeeded", "finished", "completed"}
_FAILED = {"failure", "failed", "error", "finished_with_failures"}


def stopped_by(known: Mapping[str, Any]) -> str:
    """Why the task did not come to its end; empty if it did."""
    for error in _listed(known.get("errors")):
        if isinstance(error, dict) and error.get("error_type") == STOPPED:
            return str(error.get("message") or "it was stopped")
    status = _word(known.get("status"))
    execution = known.get("execution")
    told = _word(execution.get("execution_status")) if isinstance(execution, dict) else ""
    for name, one in (("status", status), ("execution_status", told)):
        if one not in _SUCCEEDED | _FAILED:
            return f"its log says `{name}: {one}`"
    return ""


def broken_in(known: Mapping[str, Any], evidence: Mapping[str, Any]) -> list[Broken]:
    """What broke for the task as a whole; `Crooked` if that is not as it should be."""
    own = evidence.get("errors")
    found = _failures(own, "$.evidence.errors")
    more = known.get("errors")
    if not isinstance(more or [], list):
        raise Crooked("$.errors", "expected a list")
    others = [one for one in more or [] if one not in _listed(own)]
    found += [one for one in _failures(others, "$.errors") if one.type != STOPPED]
    if not found and _word(known.get("status")) in _FAILED and not stopped_by(known):
        why = Failure(
            stage="metric", type="failure", message="the log says that the task failed, and not why"
        )
        found.append(why)
    return [Broken(stage=one.stage, what="", failure=one) for one in found]


def _failures(errors: Any, path: str) -> list[Failure]:
    return failures_in(errors, path, otherwise="metric")


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""
