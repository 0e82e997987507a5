"""Read a trace: pairs of calls and outputs, and the last text."""

from typing import Any


def compute_scores(sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
    """Count failed calls, and check that the customer was told; null if none failed."""
    trace = solver_output.trace
    outputs = [output for _, output in trace.get_function_call_pairs() if output]
    failed = sum(trace.get_function_output_text(one).startswith("error") for one in outputs)
    told = "sorry" in (trace.get_last_assistant_text() or "").lower()
    return {"failed_calls": failed, "says_so": told if failed else None}
