"""The message builders of a `multi_turn_solver`: what each adds to the conversation.

Told apart by `type`: `chat_message`, `generate`, `generate_message`, `loop`, `load_trace`.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from evalwright.components import Component, Flag, ModelKey
from evalwright.objects import SolverTrace, answer_text, said
from evalwright.solvers.asking import Asked, Talk
from evalwright.solvers.builders import InputMessage
from evalwright.solvers.messages import Role, messages_of
from evalwright.solvers.pass_through_solver import recorded
from evalwright.types import Message


class TerminateIf(Component):
    """Ends a loop, or outside of one the conversation."""

    includes: str
    """Text that the message just added must contain; case counts."""
    keep_iteration: Flag = True
    """Whether what was said stays: in a loop, all messages of this iteration; else this one."""


class ChatMessageBuilder(InputMessage):
    """Adds a message that is written here."""

    type: Literal["chat_message"]
    """The kind of builder."""
    terminate_if: TerminateIf | None = None
    """When to stop."""

    async def add(self, talk: Talk, variables: dict[str, Any]) -> str:
        """Render it, and add it."""
        message = self.message(**variables, messages=said_so_far(talk))
        talk.items.append(said(message.role, message.content))
        return message.content


class GenerateBuilder(Component):
    """Asks the evaluated model for the next message."""

    type: Literal["generate"]
    """The kind of builder."""
    terminate_if: TerminateIf | None = None
    """When to stop."""

    async def add(self, talk: Talk, variables: dict[str, Any]) -> str:
        """Ask, and add the answer."""
        del variables
        return answer_text(await talk.generate()) or ""


class ExtraMessage(InputMessage):
    """A message that only the other model is shown."""

    type: Literal["chat_message"] = "chat_message"
    """The kind of builder."""


class GenerateMessageBuilder(Component):
    """Asks another model for a message: a user that is played, a critic."""

    type: Literal["generate_message"]
    """The kind of builder."""
    model_key: ModelKey
    """The model that is asked."""
    extra_input_messages: list[ExtraMessage] = Field(min_length=1)
    """Messages that follow the conversation, and are not kept in it."""
    include_conversation: Flag = True
    """Whether the other model is shown the conversation so far."""
    output_role: Role | None = None
    """Who says the message that is added. Without it, the assistant."""
    terminate_if: TerminateIf | None = None
    """When to stop."""

    async def add(self, talk: Talk, variables: dict[str, Any]) -> str:
        """Ask the other model, and add what it says."""
        model = talk.case.models.get(self.model_key)
        if model is None:
            raise ValueError(f"there is no model `{self.model_key}` here to generate a message")
        so_far = said_so_far(talk)
        shown: tuple[Message, ...] = ()
        if self.include_conversation and talk.items:
            shown = messages_of(talk.items)
        extra = [one.message(**variables, messages=so_far) for one in self.extra_input_messages]
        text = await talk.ask_another(model, Asked(messages=(*shown, *extra)))
        talk.items.append(said(self.output_role or "assistant", text))
        return text


class LoadTraceBuilder(Component):
    """Puts the conversation of a column into this one."""

    type: Literal["load_trace"]
    """The kind of builder."""
    trace_column: str
    """The column that holds the trace."""

    async def add(self, talk: Talk, variables: dict[str, Any]) -> str:
        """Read the column, and add its items."""
        talk.items += recorded(variables["sample"], self.trace_column).to_json()["items"]
        return ""


class LoopBuilder(Component):
    """Repeats a sequence of builders.

    Inside, `loop_index` counts the iterations from 0; of loops in loops, those of the innermost.
    """

    type: Literal["loop"]
    """The kind of builder."""
    message_builders: list["InLoop"] = Field(min_length=1)
    """What is repeated. No `load_trace`."""
    max_iterations: int = Field(default=10, ge=0)
    """How often at most; with 0 the loop is left out."""
    on_max_iterations: Literal["error", "continue"] = "error"
    """What happens when nothing ended the loop, if one of its own builders has a `terminate_if`.
    Without any, to reach the maximum is the normal end."""

    @property
    def can_end(self) -> bool:
        """Whether a builder of this loop, and not of one inside it, may end it."""
        return any(
            not isinstance(one, LoopBuilder) and one.terminate_if for one in self.message_builders
        )


InLoop = Annotated[
    ChatMessageBuilder | GenerateBuilder | GenerateMessageBuilder | LoopBuilder,
    Field(discriminator="type"),
]
MessageBuilder = Annotated[
    ChatMessageBuilder | GenerateBuilder | GenerateMessageBuilder | LoopBuilder | LoadTraceBuilder,
    Field(discriminator="type"),
]
LoopBuilder.model_rebuild()


def said_so_far(talk: Talk) -> list[Any]:
    """`messages`: the conversation as templates see it."""
    return SolverTrace.from_json({"items": talk.items}).messages
