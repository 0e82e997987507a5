"""`grouped_single_turn_solver`: send several requests per sample.

    solver:
      type: grouped_single_turn_solver
      input_builder:
        type: generic
        template: |
          {"short": {"messages": [{"role": "user", "content": {{ sample.q | tojson }}}]},
           "long": {"messages": [{"role": "user", "content": {{ sample.q_long | tojson }}}]}}

The template renders to a list or an object of inputs. Each input has the same format as for a
`single_turn_solver`. The inputs are sent one after another, as independent requests.
`solver_output.solver_outputs` is a list of outputs, or an object with the same keys. Each output
has its own `output` and `messages`. `solver_output` itself contains all items and raw outputs.
"""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import structs

from evalwright.objects import json_text, output_items
from evalwright.ports import Case
from evalwright.solvers.base import SolverSpec, canonical_json
from evalwright.solvers.builders import GenericInputBuilder, build_input
from evalwright.solvers.conversation import Conversation, conversation_answer, input_text
from evalwright.types import Sample, Trace


class GroupedSolver(SolverSpec):
    """Sends each input of a list or an object once."""

    type: Literal["grouped_single_turn_solver"]
    input_builder: GenericInputBuilder
    """Template that renders to a JSON list or object of inputs."""

    def describe_inputs(self, sample: Sample) -> str:
        """Return the request, or the whole row if it cannot be built (`solve` reports why)."""
        try:
            return canonical_json(self.input_builder.value(sample.data))
        except ValueError:
            return super().describe_inputs(sample)

    async def solve(self, case: Case) -> Trace:
        """Call the model once per input."""
        inputs = self.input_builder.value(case.sample.data)
        if not isinstance(inputs, list | dict) or not inputs:
            raise ValueError(
                f"the template must render to a list or an object of inputs, got `{inputs}`"
            )
        named = inputs.items() if isinstance(inputs, dict) else enumerate(inputs)
        chat = Conversation(case)
        single = {name: await _ask(chat, value) for name, value in named}
        outputs = single if isinstance(inputs, dict) else list(single.values())
        conversation = {**chat.to_json(), "solver_outputs": outputs}
        trace = chat.trace(conversation, prompt_text=_render_outputs(outputs, input_text))
        answer = _render_outputs(outputs, conversation_answer)
        return structs.replace(trace, output=answer, post_processed=answer)


async def _ask(chat: Conversation, value: Any) -> dict[str, Any]:
    model_input, items = build_input(value, chat.case.task)
    before = len(chat.direct_ios)
    raw = await chat.ask(model_input)
    items = [*items, *output_items(raw)]
    chat.items += items
    return {"items": items, "raw_outputs": [raw], "direct_ios": chat.direct_ios[before:]}


def _render_outputs(outputs: Any, render: Callable[[dict[str, Any]], str]) -> str:
    if isinstance(outputs, dict):
        return json_text({name: render(output) for name, output in outputs.items()})
    return json_text([render(output) for output in outputs])
