"""The names that a template of a scorer, a judge or a rule may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .output import ChatCompletion, answer_text
from .solver_trace import SolverTrace


def variables(sample: Any, conversation: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`sample`, and with a conversation all that a solver leaves behind.

    `input_prompt` is the text of the last output of the model, whatever its name suggests: that is
    how it is documented and used. It is there for chats alone, so that another task's template
    that asks for it fails instead of printing `None`.
    """
    if conversation is None:
        return {"sample": sample}
    solver_output = SolverTrace.from_json(conversation)
    output = solver_output.output
    names = {
        "sample": sample,
        "solver_output": solver_output,
        "messages": solver_output.messages,
        "model_output": output,
        "model_outputs": solver_output.raw_outputs,
        "trace": solver_output.trace,
    }
    if isinstance(output, ChatCompletion):
        names["input_prompt"] = answer_text(output) or ""
    return names
