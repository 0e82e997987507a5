"""Input builders: turn a row into a model request.

    input_builder:
      type: chat_completion
      input_messages:
        - role: user
          content: "{{ sample.question }}"

    input_builder:
      type: generic
      template: |
        {"messages": [{"role": "user", "content": {{ sample.question | tojson }}}], "seed": 0}

A generic template must render to JSON. An object with `messages` is a chat, and its other keys are
also sent. Any other JSON is the input of a custom task, or the text of an embeddings task.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from evalwright.components import Component
from evalwright.objects import items_from, make_message
from evalwright.solvers.conversation import ROLES, ModelInput, build_chat, parse_role
from evalwright.templates import Template
from evalwright.types import Message, MLTask

_SHOWN = 40


class NotJson(ValueError):
    """Raised if a template does not render to JSON."""

    hint = "write `{{ sample.column | tojson }}` without quotes: `tojson` adds and escapes them"


def _check_role(role: Template) -> Template:
    if "{" not in role.source and role.source not in ROLES:
        raise ValueError(f"expected `system`, `user` or `assistant`, got `{role.source}`")
    return role


RoleTemplate = Annotated[Template, AfterValidator(_check_role)]
"""A role, or a template that renders to one."""


class InputMessage(Component):
    """One message of a chat."""

    role: RoleTemplate
    """`system`, `user` or `assistant`, or a template that renders to one of them."""
    content: Template
    """Text of the message. May refer to `sample`."""

    def message(self, **variables: Any) -> Message:
        """Render the message with these variables."""
        role = self.role.source
        if "{" in role:  # rendering a constant would cost as much as rendering a prompt
            role = self.role.render(**variables).strip()
        return Message(parse_role(role), self.content.render(**variables))


class ChatCompletionInputBuilder(Component):
    """Builds the messages of a chat one by one."""

    type: Literal["chat_completion"]
    """The kind of builder."""
    input_messages: list[InputMessage] = Field(min_length=1)
    """The messages, in order."""

    def value(self, sample: Any) -> Any:
        """Return the request as JSON."""
        messages = [entry.message(sample=sample) for entry in self.input_messages]
        return {"messages": [{"role": item.role, "content": item.content} for item in messages]}


class GenericInputBuilder(Component):
    """Builds any JSON from one template."""

    type: Literal["generic"]
    """The kind of builder."""
    template: Template
    """Template that renders to JSON. May refer to `sample`. The `tojson` filter adds quotes."""

    def value(self, sample: Any) -> Any:
        """Return the request as JSON."""
        text = self.template.render(sample=sample)
        try:
            return json.loads(text)
        except ValueError as error:
            place = getattr(error, "pos", 0)
            near = text[max(0, place - _SHOWN // 2) : place + _SHOWN // 2]
            raise NotJson(
                f"the template must render to JSON: {error}, near `{' '.join(near.split())}`"
            ) from error


InputBuilder = Annotated[
    ChatCompletionInputBuilder | GenericInputBuilder, Field(discriminator="type")
]


def build_input(value: Any, task: MLTask) -> tuple[ModelInput, list[dict[str, Any]]]:
    """Return the request for a model of this task, and its items for the trace."""
    if task == "embeddings":
        if not isinstance(value, dict) or "input" not in value:
            value = {"input": value}
        _check_texts(value["input"])
        return ModelInput(task=task, input=value), _custom_items(value["input"])
    if task == "custom" or not (isinstance(value, dict) and "messages" in value):
        return ModelInput(task="custom", input=value), _custom_items(value)
    messages = value["messages"]
    if not isinstance(messages, list):
        raise ValueError(f"expected a list of `messages`, got `{type(messages).__name__}`")  # noqa: TRY004 - data of the wrong shape
    more = {key: entry for key, entry in value.items() if key != "messages"}
    if all(map(_has_only_text, messages)):
        items = [make_message(message["role"], message["content"]) for message in messages]
    else:
        items = [item.to_json() for item in items_from(messages)]
    return build_chat(items, more), items


def _has_only_text(message: Any) -> bool:
    """Whether a message has only a role and text, as most messages do."""
    return (
        isinstance(message, dict)
        and message.keys() == {"role", "content"}
        and message["role"] in ROLES
        and isinstance(message["content"], str)
    )


def _check_texts(texts: Any) -> None:
    listed = texts if isinstance(texts, list) else [texts]
    if not listed or not all(isinstance(text, str) for text in listed):
        raise ValueError(
            "an embeddings task must have a string or a list of strings as `input`, got "
            f"`{json.dumps(texts)[:_SHOWN]}`"
        )


def _custom_items(content: Any) -> list[dict[str, Any]]:
    return [{"type": "custom_task_input_message", "content": content}]
