"""What the templates of judges are given, as objects."""

from __future__ import annotations

from typing import Any

from .inputs import LFMessage
from .model import LFBaseModel
from .output import LFModelOutput
from .solver_trace import SolverOutput
from .trace import Trace


class JudgeInput(LFBaseModel):
    """A sample to judge."""

    sample: dict[str, Any]


class SolverJudgeInput(JudgeInput):
    """A sample and the output of its solver."""

    solver_output: SolverOutput


class SingleSolverJudgeInput(SolverJudgeInput):
    """The same, with the messages and the last output of the model."""

    messages: list[LFMessage]
    model_output: LFModelOutput


class ChatCompletionJudgeInput(SingleSolverJudgeInput):
    """The same, for a chat."""

    input_prompt: str


class SolverTraceJudgeInput(JudgeInput):
    """A sample, the trace of its solver and the outputs of the model."""

    trace: Trace
    model_outputs: list[LFModelOutput]
    solver_output: SolverOutput | None = None
    messages: list[LFMessage] | None = None
    model_output: LFModelOutput | None = None
    input_prompt: str | None = None
