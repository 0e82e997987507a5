"""Read a trace: pairs of function calls and outputs, and the last answer."""

from typing import Any


def compute_scores(sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
    """Count failed calls. If a call failed, check that the answer apologizes."""
    trace = solver_output.trace
    outputs = [output for _, output in trace.get_function_call_pairs() if output]
    failed = sum(trace.get_function_output_text(output).startswith("error") for output in outputs)
    says_so = "sorry" in (trace.get_last_assistant_text() or "").lower()
    return {"failed_calls": failed, "says_so": says_so if failed else None}
