"""`single_turn_solver`: send one request per sample.

    solver:
      type: single_turn_solver
      input_builder:
        type: chat_completion
        input_messages:
          - role: system
            content: Answer with one word.
          - role: user
            content: "{{ sample.question }}"

No other messages are added. Answers are cached by request: if a change to the document leaves the
request unchanged, the model is not called again.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

from msgspec import structs

from evalwright.objects import output_items
from evalwright.ports import Case
from evalwright.solvers.base import MessageFormat, SolverSpec, canonical_json
from evalwright.solvers.builders import InputBuilder, build_input
from evalwright.solvers.conversation import Conversation
from evalwright.types import Sample, Trace


class SingleTurnSolver(SolverSpec):
    """Builds a request from the sample and queries the evaluated model once."""

    type: Literal["single_turn_solver"]
    input_builder: InputBuilder
    """Builder of the request."""
    message_format: MessageFormat = "open_responses"
    """Has no effect: every solver output can be read in both formats."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return the request, or the whole row if it cannot be built (`solve` reports why)."""
        try:
            return canonical_json(self._value(sample))
        except ValueError:
            return super().describe_inputs(sample)

    async def solve(self, case: Case) -> Trace:
        """Call the model once."""
        return await self.ask_once(case)

    async def ask_once(self, case: Case, options: tuple[str, ...] = ()) -> Trace:
        """Call the model once; with `options`, the answer is the most likely option."""
        model_input, items = build_input(self._value(case.sample), case.task)
        if options:
            model_input = structs.replace(model_input, given=options)
        chat = Conversation(case)
        chat.items += items
        chat.items += output_items(await chat.ask(model_input))
        return chat.trace()

    def _value(self, sample: Sample) -> Any:
        """Return the request. It is built only once, because `solve` follows `describe_inputs`."""
        if self._latest.get("sample") is not sample:
            self._latest.update(value=self.input_builder.value(sample.data), sample=sample)
        return self._latest["value"]

    @cached_property
    def _latest(self) -> dict[str, Any]:
        return {}


class ChoiceSolver:
    """Answers multiple-choice questions by likelihood (`--mcq loglikelihood`) in task documents.

    The request is the same. The model does not generate an answer. It computes the likelihood of
    each label that the sample offers, and the most likely label becomes the assistant's message.
    The text of a choice is not considered.
    """

    model_keys: tuple[str, ...] = ()

    def __init__(
        self, solver: SingleTurnSolver, labels: Callable[[Sample], tuple[str, ...]]
    ) -> None:
        """`labels` raises ValueError if no choice can be correct."""
        self._solver, self._labels = solver, labels
        self.name, self.version = solver.name, solver.version

    def weighs_options(self, sample: Sample) -> bool:
        """Return True, because the answer is always the most likely option."""
        del sample
        return True

    def describe_inputs(self, sample: Sample) -> str:
        """Return the labels and the request."""
        labels = " ".join(self._labels(sample))
        return "\n".join(("loglikelihood", labels, self._solver.describe_inputs(sample)))

    def reuse(self, sample: Sample, trace: Trace) -> Trace:
        """Return the stored choice; raise if no choice can be correct."""
        self._labels(sample)
        return trace

    async def solve(self, case: Case) -> Trace:
        """Call the model once."""
        return await self._solver.ask_once(case, self._labels(case.sample))
