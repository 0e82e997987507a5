"""The output of a solver: the trace, the model's raw outputs, and the bodies of requests.

One class serves both formats: `output` and `messages` for files of the older one, `trace`, `items`
and `raw_outputs` for the newer.

As JSON it is one flat object, so that it can be stored and passed on without being parsed:

    {"items": […], "raw_outputs": […], "direct_ios": [{"input": "…", "output": "…"}]}

and, if there are any, `metadata`, `events`, `span_id`, `span_name` and `span_type`. A group has
`solver_outputs` too: a list or an object of the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .items import CustomTaskInputMessage, Item, Items, items_from, make_message, shorten
from .output import (
    AnswerText,
    ChatCompletion,
    ChatMessage,
    answer_text,
    completion_of,
    old_message,
    old_view,
    output_items,
    wrap_output,
)
from .record import Keyed, changes, plain
from .trace import Trace, read_events

_TRACE_FIELDS = ("metadata", "events", "span_id", "span_name", "span_type")


class SolverTrace(Keyed):
    """A solved sample, as snippets and templates see it."""

    __slots__ = ("_group", "_is_wrapped", "_raw_outputs", "direct_ios", "trace")

    fields = (
        *("trace", "raw_outputs", "direct_ios"),
        *("items", "messages", "output", "solver_outputs"),
    )

    def __init__(
        self,
        trace: Trace | None = None,
        raw_outputs: Iterable[Any] = (),
        direct_ios: Iterable[Any] = (),
        *,
        items: Iterable[Any] = (),
    ) -> None:
        self.trace = Trace(items) if trace is None else trace
        self.direct_ios = list(direct_ios)
        self._raw_outputs = list(raw_outputs)
        self._is_wrapped = False
        self._group: Any = None

    @classmethod
    def from_json(cls, conversation: Mapping[str, Any]) -> SolverTrace:
        """Read the result of `to_json`."""
        more = {name: conversation[name] for name in _TRACE_FIELDS if name in conversation}
        solver_trace = cls(
            Trace(list(conversation.get("items") or ()), **more),
            conversation.get("raw_outputs") or (),
            conversation.get("direct_ios") or (),
        )
        solver_trace._group = conversation.get("solver_outputs")
        return solver_trace

    def to_json(self) -> dict[str, Any]:
        """Return one flat object of plain JSON."""
        fields = self.trace.to_json()
        fields["raw_outputs"] = plain(self._raw_outputs)
        fields["direct_ios"] = plain(self.direct_ios)
        if self._group is not None:
            fields["solver_outputs"] = plain(self._group)
        return fields

    @property
    def items(self) -> Items:
        """All messages and calls, in order."""
        return self.trace.items

    @property
    def raw_outputs(self) -> list[Any]:
        """The model's outputs, call by call."""
        if not self._is_wrapped:
            self._raw_outputs = [wrap_output(raw) for raw in self._raw_outputs]
            self._is_wrapped = True
        return self._raw_outputs

    @raw_outputs.setter
    def raw_outputs(self, raw_outputs: Iterable[Any]) -> None:
        self._raw_outputs, self._is_wrapped = list(raw_outputs), False

    @property
    def messages(self) -> list[ChatMessage]:
        """The messages, as `{role, content[, refusal]}`, each content as one text."""
        items = self.trace.raw_items
        return [old_message(item) for item in items if item.get("type", "message") == "message"]

    @property
    def output(self) -> Any:
        """The last output of the model, else the last assistant message as one, else None.

        For chat it is the answer's text, with the fields of the completion.
        """
        output = self.read_output()
        return AnswerText(output) if isinstance(output, ChatCompletion) else output

    def read_output(self) -> Any:
        """The same; for chat, only the completion."""
        if self._raw_outputs:
            return old_view(self.raw_outputs[-1])
        for item in reversed(self.trace.raw_items):
            if item.get("type", "message") == "message" and item.get("role") == "assistant":
                return completion_of(item)
        return None

    @property
    def solver_outputs(self) -> Any:
        """The single outputs of a group, in a list or by name. None for other solvers."""
        if isinstance(self._group, dict):
            return {name: SolverTrace.from_json(each) for name, each in self._group.items()}
        return self._group and [SolverTrace.from_json(each) for each in self._group]

    @changes
    def append(self, item: Any) -> None:
        """Add an item, or a chat message."""
        self.items.append(item)

    @changes
    def extend(self, items: Iterable[Any]) -> None:
        """Add items, one by one."""
        self.items.extend(items)

    @changes
    def append_user_message(self, text: str) -> None:
        """Add a user message."""
        self.append(make_message("user", text))

    @changes
    def append_system_message(self, text: str) -> None:
        """Add a system message."""
        self.append(make_message("system", text))

    @changes
    def append_assistant_message(self, text: str) -> None:
        """Add an assistant message."""
        self.append(make_message("assistant", text))

    @changes
    def append_custom_task_input_message(self, content: Any) -> None:
        """Add the input of a custom task: any JSON."""
        self.append(CustomTaskInputMessage(content=content))

    @changes
    def add_model_response(self, response: ModelResponse) -> None:
        """Add a model's answer to the items and to the raw outputs."""
        self.extend(response.items)
        self.raw_outputs.append(response.raw_output)

    def __repr__(self) -> str:
        return f"<SolverTrace of {len(self.trace.raw_items)} items>"

    def __str__(self) -> str:
        output = self.read_output()
        return "" if output is None else str(output)


SolverOutput = SolverTrace
SingleSolverOutput = SolverTrace


class ModelResponse(Keyed):
    """The result of `model.predict`."""

    __slots__ = ("_items", "raw_output")

    fields = ("items", "raw_output")

    def __init__(self, raw_output: Any = None, items: Iterable[Any] | None = None) -> None:
        self.raw_output = wrap_output(raw_output)
        self._items = None if items is None else Items(items_from(items))

    @classmethod
    def from_json(cls, raw_output: Any) -> ModelResponse:
        """Create it from a raw output."""
        return cls(raw_output)

    @property
    def items(self) -> list[Item]:
        """The items that the answer adds to a trace."""
        if self._items is None:
            self._items = Items(items_from(output_items(self.raw_output)))
        return self._items

    @property
    def text(self) -> str:
        """The text of the last assistant message; ValueError if there is none."""
        spoken = answer_text({"items": self.items}) if self.items else None
        if spoken is None:
            raise ValueError("this response has no assistant message")
        return spoken

    def __str__(self) -> str:
        return str(self.raw_output)


_SHAPES = "a trace (an object with `items`) or a list of items or messages"


def read_trace(value: Any) -> SolverTrace:
    """Read a trace from an object, a list of items or messages, or JSON text; else ValueError."""
    if isinstance(value, SolverTrace):
        return value
    if isinstance(value, str):
        value = _parse_json(value)
    if isinstance(value, list):
        return SolverTrace(items=items_from(value))
    if not isinstance(value, dict):
        raise ValueError(f"expected {_SHAPES}, got `{type(value).__name__}`")  # noqa: TRY004 - data of the wrong shape
    inner = value.get("trace")
    if isinstance(inner, dict):
        value = {**inner, **{key: field for key, field in value.items() if key != "trace"}}
    return _read_object(value)


def _read_object(value: dict[str, Any]) -> SolverTrace:
    items, events = value.get("items", value.get("messages")), value.get("events")
    if items is None and events is None:
        keys = ", ".join(f"`{key}`" for key in value) or "an empty object"
        raise ValueError(f"expected {_SHAPES}, got {keys}")
    for name in ("items", "messages", "raw_outputs", "direct_ios", "events"):
        if not isinstance(value.get(name), list | None):
            raise ValueError(f"expected a list as `{name}`, got `{type(value[name]).__name__}`")  # noqa: TRY004 - the same
    if not all(isinstance(event, dict) for event in events or ()):
        raise ValueError("expected objects as `events`")
    if not isinstance(value.get("metadata"), dict | None):
        raise ValueError("expected an object as `metadata`")  # noqa: TRY004 - the same
    read = read_events(events or ()) if items is None else items_from(items)
    solver_trace = SolverTrace.from_json({**value, "items": read})
    if not solver_trace.raw_outputs and value.get("output") is not None:
        solver_trace.raw_outputs.append(value["output"])
    return solver_trace


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        message = f"expected {_SHAPES} in JSON, got the text `{shorten(text)}`"
        raise ValueError(message) from error


def variables(sample: Any, conversation: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return `sample`, and with a conversation all variables of a solver's output.

    `input_prompt` is the text of the last output of the model, as documented; only chat has it,
    so that the template of another task fails instead of printing `None`.
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
    if isinstance(output, AnswerText):
        names["input_prompt"] = str(output)
    return names
