"""`single_turn_solver`: ask the model once.

    solver:
      type: single_turn_solver
      input_builder:
        type: chat_completion
        input_messages:
          - role: system
            content: Answer with one word.
          - role: user
            content: "{{ sample.question }}"

Nothing is added to what is written here. What is stored depends on what is sent and on nothing
else, so a change of the document that sends the same asks nothing again.
"""

from functools import cached_property
from typing import Any, Literal

from msgspec import structs

from evalwright.objects import output_items
from evalwright.ports import Case
from evalwright.solvers.base import MessageFormat, SolverSpec, canonical_json
from evalwright.solvers.builders import InputBuilder, question
from evalwright.solvers.conversation import Conversation
from evalwright.types import Sample, Trace


class SingleTurnSolver(SolverSpec):
    """Builds an input of the sample and asks the evaluated model once."""

    type: Literal["single_turn_solver"]
    input_builder: InputBuilder
    """How a sample becomes what is asked."""
    message_format: MessageFormat = "open_responses"
    """Taken and without effect: every solver output can be read in both formats."""

    def describe_inputs(self, sample: Sample) -> str:
        """What is sent; the whole row where that cannot be made, for `solve` to say why."""
        try:
            return canonical_json(self._value(sample))
        except ValueError:
            return super().describe_inputs(sample)

    async def solve(self, case: Case) -> Trace:
        """One call of the model."""
        return await self.ask_once(case)

    async def ask_once(self, case: Case, options: tuple[str, ...] = ()) -> Trace:
        """One call of the model; with `options`, the answer is the likeliest of them."""
        asked, items = question(self._value(case.sample), case.task)
        if options:
            asked = structs.replace(asked, given=options)
        talk = Conversation(case)
        talk.items += items
        talk.items += output_items(await talk.ask(asked))
        return talk.trace()

    def _value(self, sample: Sample) -> Any:
        """What is sent; `solve` comes right after `describe_inputs`, and does not make it again."""
        if self._latest.get("sample") is not sample:
            self._latest.update(value=self.input_builder.value(sample.data), sample=sample)
        return self._latest["value"]

    @cached_property
    def _latest(self) -> dict[str, Any]:
        return {}
