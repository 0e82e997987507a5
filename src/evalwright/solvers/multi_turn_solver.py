"""`multi_turn_solver`: a conversation of several turns, written as a list of builders.

    solver:
      type: multi_turn_solver
      message_builders:
        - type: chat_message
          role: user
          content: "{{ sample.question }}"
        - type: generate
        - type: loop
          max_iterations: 3
          on_max_iterations: continue
          message_builders:
            - type: generate_message
              model_key: simulator
              output_role: user
              extra_input_messages:
                - {type: chat_message, role: user, content: Ask a short question back.}
              terminate_if: {includes: <done>, keep_iteration: false}
            - type: generate

What a `terminate_if` takes back is gone from the trace and from the raw outputs; its calls are
still counted. The raw outputs, and so `solver_output.output`, are those of the evaluated model.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from evalwright.ports import Case
from evalwright.solvers.asking import Talk
from evalwright.solvers.base import MessageFormat, SolverSpec
from evalwright.solvers.turns import (
    GenerateBuilder,
    GenerateMessageBuilder,
    InLoop,
    LoadTraceBuilder,
    LoopBuilder,
    MessageBuilder,
)
from evalwright.types import Trace


class MultiTurnSolver(SolverSpec):
    """Lets builders add messages, one after the other."""

    type: Literal["multi_turn_solver"]
    """The kind of solver."""
    message_builders: list[MessageBuilder] = Field(min_length=1)
    """What adds messages, in order."""
    message_format: MessageFormat = "open_responses"
    """Taken and without effect: every solver output can be read in both formats."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """The models that its `generate_message` builders ask, each once."""
        every = _every(self.message_builders)
        keys = [one.model_key for one in every if isinstance(one, GenerateMessageBuilder)]
        return tuple(dict.fromkeys(keys))

    @property
    def asks(self) -> bool:
        """Whether any builder is `generate`."""
        return any(isinstance(one, GenerateBuilder) for one in _every(self.message_builders))

    async def solve(self, case: Case) -> Trace:
        """Run the builders up to the end, or until one of them stops the conversation."""
        talk = Talk(case)
        variables = {"sample": case.sample.data}
        for builder in self.message_builders:
            if await _step(builder, talk, variables, talk.place()):
                break
        return talk.trace()


async def _step(
    builder: MessageBuilder | InLoop, talk: Talk, variables: dict[str, Any], began: tuple[int, int]
) -> bool:
    """Run one builder; True when what it added ends the sequence that it stands in."""
    if isinstance(builder, LoopBuilder):
        await _loop(builder, talk, variables)
        return False
    text = await builder.add(talk, variables)
    end = None if isinstance(builder, LoadTraceBuilder) else builder.terminate_if
    if end is None or end.includes not in text:
        return False
    if not end.keep_iteration:
        talk.go_back(began)
    return True


async def _loop(loop: LoopBuilder, talk: Talk, variables: dict[str, Any]) -> None:
    for index in range(loop.max_iterations):
        if await _iteration(loop, talk, {**variables, "loop_index": index}):
            return
    if loop.can_end and loop.max_iterations and loop.on_max_iterations == "error":
        raise ValueError(
            f"the loop came to its {loop.max_iterations} iterations and nothing ended it"
        )


async def _iteration(loop: LoopBuilder, talk: Talk, variables: dict[str, Any]) -> bool:
    began = talk.place()
    for builder in loop.message_builders:
        if await _step(builder, talk, variables, began):
            return True
    return False


def _every(builders: Sequence[MessageBuilder | InLoop]) -> Iterator[MessageBuilder | InLoop]:
    for one in builders:
        yield one
        if isinstance(one, LoopBuilder):
            yield from _every(one.message_builders)
