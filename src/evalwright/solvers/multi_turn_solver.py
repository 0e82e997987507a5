"""`multi_turn_solver`: run a multi-turn conversation, defined as a list of message builders.

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

Messages that a `terminate_if` discards are removed from the trace and the raw outputs, but their
calls are still counted. The raw outputs, and therefore `solver_output.output`, come from the
evaluated model only.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from evalwright.components import Component, Flag, ModelKey
from evalwright.objects import SolverTrace, answer_text, make_message
from evalwright.ports import Case
from evalwright.solvers.base import MessageFormat, SolverSpec
from evalwright.solvers.builders import InputMessage
from evalwright.solvers.conversation import Conversation, ModelInput, Role, build_messages
from evalwright.solvers.pass_through_solver import read_trace_column
from evalwright.types import Message, Trace


class TerminateIf(Component):
    """Ends the loop or, outside a loop, the conversation."""

    includes: str
    """Text that the new message must contain. Case-sensitive."""
    keep_iteration: Flag = True
    """Whether to keep the new message or, in a loop, all messages of the current iteration."""


class ChatMessageBuilder(InputMessage):
    """Adds a fixed or templated message."""

    type: Literal["chat_message"]
    """The kind of builder."""
    terminate_if: TerminateIf | None = None
    """Condition to stop on."""

    async def add(self, chat: Conversation, variables: dict[str, Any]) -> str:
        """Render and add the message."""
        message = self.message(**variables, messages=_build_messages_variable(chat))
        chat.items.append(make_message(message.role, message.content))
        return message.content


class GenerateBuilder(Component):
    """Queries the evaluated model for the next message."""

    type: Literal["generate"]
    """The kind of builder."""
    terminate_if: TerminateIf | None = None
    """Condition to stop on."""

    async def add(self, chat: Conversation, variables: dict[str, Any]) -> str:
        """Query the model and add its answer."""
        del variables
        return answer_text(await chat.generate()) or ""


class ExtraMessage(InputMessage):
    """A message that is sent only to the other model."""

    type: Literal["chat_message"] = "chat_message"
    """The kind of builder."""


class GenerateMessageBuilder(Component):
    """Queries a different model for a message, such as a simulated user or a critic."""

    type: Literal["generate_message"]
    """The kind of builder."""
    model_key: ModelKey
    """Model to query."""
    extra_input_messages: list[ExtraMessage] = Field(min_length=1)
    """Messages that are sent after the conversation but not added to it."""
    include_conversation: Flag = True
    """Whether to send the conversation so far to the other model."""
    output_role: Role | None = None
    """Role of the new message. Default: assistant."""
    terminate_if: TerminateIf | None = None
    """Condition to stop on."""

    async def add(self, chat: Conversation, variables: dict[str, Any]) -> str:
        """Query the other model and add its message."""
        model = chat.case.models.get(self.model_key)
        if model is None:
            raise ValueError(f"unknown model `{self.model_key}` in `generate_message`")
        messages = _build_messages_variable(chat)
        sent: tuple[Message, ...] = ()
        if self.include_conversation and chat.items:
            sent = build_messages(chat.items)
        extra = [
            entry.message(**variables, messages=messages) for entry in self.extra_input_messages
        ]
        text = await chat.ask_another(model, ModelInput(messages=(*sent, *extra)))
        chat.items.append(make_message(self.output_role or "assistant", text))
        return text


class LoadTraceBuilder(Component):
    """Adds the conversation in a column to the current conversation."""

    type: Literal["load_trace"]
    """The kind of builder."""
    trace_column: str
    """Column that contains the trace."""

    async def add(self, chat: Conversation, variables: dict[str, Any]) -> str:
        """Read the column and add its items."""
        chat.items += read_trace_column(variables["sample"], self.trace_column).to_json()["items"]
        return ""


class LoopBuilder(Component):
    """Repeats a sequence of builders.

    `loop_index` is the iteration of the innermost loop, counted from 0.
    """

    type: Literal["loop"]
    """The kind of builder."""
    message_builders: list["InLoop"] = Field(min_length=1)
    """Builders to repeat; `load_trace` is not allowed."""
    max_iterations: int = Field(default=10, ge=0)
    """Maximum number of iterations. With 0, the loop is skipped."""
    on_max_iterations: Literal["error", "continue"] = "error"
    """Action if a builder in the loop has a `terminate_if`, but none ended the loop. Without a
    `terminate_if`, the loop ends normally at the maximum."""


InLoop = Annotated[
    ChatMessageBuilder | GenerateBuilder | GenerateMessageBuilder | LoopBuilder,
    Field(discriminator="type"),
]
MessageBuilder = Annotated[
    ChatMessageBuilder | GenerateBuilder | GenerateMessageBuilder | LoopBuilder | LoadTraceBuilder,
    Field(discriminator="type"),
]
LoopBuilder.model_rebuild()


def _build_messages_variable(chat: Conversation) -> list[Any]:
    """Return the template variable `messages`."""
    return SolverTrace.from_json({"items": chat.items}).messages


class MultiTurnSolver(SolverSpec):
    """Runs message builders one after another."""

    version: ClassVar[int] = 2  # 2: fields that an endpoint adds to its messages are sent back

    type: Literal["multi_turn_solver"]
    message_builders: list[MessageBuilder] = Field(min_length=1)
    """Builders that add messages, in order."""
    message_format: MessageFormat = "open_responses"
    """Has no effect: every solver output can be read in both formats."""

    @property
    def model_keys(self) -> tuple[str, ...]:
        """Models that the `generate_message` builders query, without duplicates."""
        builders = _walk_builders(self.message_builders)
        keys = [item.model_key for item in builders if isinstance(item, GenerateMessageBuilder)]
        return tuple(dict.fromkeys(keys))

    @property
    def calls_model(self) -> bool:
        """Whether any builder is `generate`."""
        builders = _walk_builders(self.message_builders)
        return any(isinstance(builder, GenerateBuilder) for builder in builders)

    async def solve(self, case: Case) -> Trace:
        """Run all builders, or until one of them ends the conversation."""
        chat = Conversation(case)
        await _run_builders(
            self.message_builders, chat, {"sample": case.sample.data}, in_loop=False
        )
        return chat.trace()


async def _run_builders(
    builders: Sequence[MessageBuilder | InLoop],
    chat: Conversation,
    variables: dict[str, Any],
    *,
    in_loop: bool,
) -> bool:
    """Run builders in turn; return True if a message ends this sequence."""
    began = chat.position()
    for builder in builders:
        if not in_loop:
            began = chat.position()
        if isinstance(builder, LoopBuilder):
            await _run_loop(builder, chat, variables)
            continue
        text = await builder.add(chat, variables)
        end = None if isinstance(builder, LoadTraceBuilder) else builder.terminate_if
        if end is not None and end.includes in text:
            if not end.keep_iteration:
                chat.go_back(began)
            return True
    return False


async def _run_loop(loop: LoopBuilder, chat: Conversation, variables: dict[str, Any]) -> None:
    for index in range(loop.max_iterations):
        indexed = {**variables, "loop_index": index}
        if await _run_builders(loop.message_builders, chat, indexed, in_loop=True):
            return
    own = [item for item in loop.message_builders if not isinstance(item, LoopBuilder)]
    can_end = any(builder.terminate_if for builder in own)
    if can_end and loop.max_iterations and loop.on_max_iterations == "error":
        raise ValueError(
            f"the loop reached {loop.max_iterations} iterations, but no `terminate_if` ended it"
        )


def _walk_builders(
    builders: Sequence[MessageBuilder | InLoop],
) -> Iterator[MessageBuilder | InLoop]:
    for builder in builders:
        yield builder
        if isinstance(builder, LoopBuilder):
            yield from _walk_builders(builder.message_builders)
