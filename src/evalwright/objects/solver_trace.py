"""The output of a solver: the trace, the model's raw outputs, and the bodies of requests.

One class serves both formats: `output` and `messages` for files of the older one, `trace`, `items`
and `raw_outputs` for the newer.

As JSON it is one flat object, so that it can be stored and passed on without being parsed:

    {"items": […], "raw_outputs": […], "direct_ios": [{"direct_input": {"body": "…"}, …}]}

and, if there are any, `metadata`, `events`, `span_id`, `span_name` and `span_type`. A group has
`solver_outputs` too: a list or an object of the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Self, cast

from .events import read_events
from .inputs import LFMessage, LFModelInput, model_input_to_messages, model_output_to_message
from .items import CustomTaskInputMessage, Item, Items, items_from, make_message, shorten
from .model import LFBaseModel
from .output import (
    AnswerText,
    ChatCompletion,
    ChatMessage,
    LFModelOutput,
    answer_text,
    completion_of,
    old_message,
    old_view,
    output_items,
    wrap_output,
)
from .record import changes, plain
from .scores import DirectModelIO
from .trace import Trace

_new = object.__new__
_TRACE_FIELDS = ("items", "metadata", "events", "span_id", "span_name", "span_type")
_KNOWN_FIELDS = {
    *_TRACE_FIELDS,
    *("trace", "raw_outputs", "direct_ios", "solver_outputs", "messages", "output", "raw_output"),
}


class SolverTrace(LFBaseModel):
    """A solved sample, as snippets and templates see it."""

    _views = ("items", "messages", "output")

    trace: Trace
    raw_outputs: list[LFModelOutput] = []
    direct_ios: list[DirectModelIO] = []

    def __init__(
        self,
        trace: Trace | None = None,
        raw_outputs: Iterable[Any] = (),
        direct_ios: Iterable[Any] = (),
        *,
        items: Iterable[Any] = (),
        **fields: Any,
    ) -> None:
        super().__init__(
            trace=Trace(items) if trace is None else trace,
            raw_outputs=list(raw_outputs),
            direct_ios=list(direct_ios),
            **fields,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the result of `to_json` or `model_dump`. A group becomes a `GroupedSolverTrace`."""
        trace = data.get("trace")
        if not isinstance(trace, Trace | dict):
            trace = {}
            for name in _TRACE_FIELDS:  # runs for every sample: no comprehension
                if name in data:
                    trace[name] = data[name]
        is_group = data.get("solver_outputs") is not None
        solver_trace: Any = _new(GroupedSolverTrace if is_group else cls)
        values = solver_trace.__dict__
        values["trace"] = trace if isinstance(trace, Trace) else Trace.from_json(trace)
        values["_unread"] = unread = {
            "raw_outputs": data.get("raw_outputs") or [],
            "direct_ios": data.get("direct_ios") or [],
        }
        if is_group:
            unread["solver_outputs"] = data["solver_outputs"]
        if not data.keys() <= _KNOWN_FIELDS:
            more = {name: data[name] for name in data if name not in _KNOWN_FIELDS}
            values.update({name: value for name, value in more.items() if name[:1] != "_"})
        return cast("Self", solver_trace)

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Validate a solver trace, or the result of `to_json` or `model_dump`."""
        if isinstance(obj, Mapping) and "trace" not in obj and "items" in obj:
            trace = {name: obj[name] for name in _TRACE_FIELDS if name in obj}
            rest = {name: value for name, value in obj.items() if name not in trace}
            obj = {"trace": trace, **rest}
        return super().model_validate(obj)

    def to_json(self) -> dict[str, Any]:
        """Return one flat object of plain JSON."""
        fields = self.trace.to_json()
        fields["raw_outputs"] = plain(self._peek("raw_outputs") or [])
        fields["direct_ios"] = plain(self._peek("direct_ios") or [])
        return fields

    def _wrap(self, name: str, value: Any) -> Any:
        if name == "raw_outputs":
            return [wrap_output(raw) for raw in value]
        return super()._wrap(name, value)

    @property
    def items(self) -> Items:
        """All messages and calls, in order."""
        return self.trace.items  # type: ignore[return-value] # since they were read

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
        if self._peek("raw_outputs"):
            return old_view(self.raw_outputs[-1])
        for item in reversed(self.trace.raw_items):
            if item.get("type", "message") == "message" and item.get("role") == "assistant":
                return completion_of(item)
        return None

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


class GroupedSolverTrace(SolverTrace):
    """The solver traces of one sample, in a list or by their names; `items` has those of all."""

    trace: Trace = {}  # type: ignore[assignment] # it is wrapped when it is read
    solver_outputs: list[SolverTrace] | dict[str, SolverTrace]

    def __init__(self, solver_outputs: Any, **fields: Any) -> None:
        """Of the single traces; without a `trace`, its items and raw outputs are theirs."""
        super().__init__(solver_outputs=solver_outputs, **fields)
        if not fields:
            single: Any = self.solver_outputs
            for trace in single.values() if isinstance(single, dict) else single:
                self.extend(trace.items)
                self.raw_outputs.extend(trace.raw_outputs)

    def to_json(self) -> dict[str, Any]:
        """Return one flat object of plain JSON, with the single traces."""
        return {**super().to_json(), "solver_outputs": plain(self._peek("solver_outputs"))}


class _SolverTraceToo(type):
    """Accept a solver trace as an instance: it has the fields of the older class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or type(instance) is SolverTrace


class SingleSolverOutput(LFBaseModel, metaclass=_SolverTraceToo):
    """A solved sample in the older format."""

    messages: list[LFMessage]
    output: LFModelOutput | None
    direct_ios: list[DirectModelIO] = []

    @classmethod
    def from_input_and_output(
        cls, model_input: LFModelInput, model_output: LFModelOutput, direct_ios: Iterable[Any] = ()
    ) -> SingleSolverOutput:
        """Create it from one call of a model."""
        messages = [*model_input_to_messages(model_input), model_output_to_message(model_output)]
        return cls(messages=messages, output=wrap_output(model_output), direct_ios=list(direct_ios))

    def _wrap(self, name: str, value: Any) -> Any:
        return wrap_output(value) if name == "output" else super()._wrap(name, value)


class GroupedSolverOutput(LFBaseModel):
    """The solver outputs of one sample in the older format, in a list or by their names."""

    solver_outputs: list[SingleSolverOutput] | dict[str, SingleSolverOutput]


SolverOutput = SingleSolverOutput | GroupedSolverOutput | SolverTrace | GroupedSolverTrace


class ModelResponse(LFBaseModel):
    """The response of `model.predict`."""

    raw_output: LFModelOutput = None
    items: list[Item] = []
    """Default: the items of the raw output."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Create it from JSON, which is not checked, and is wrapped when it is read."""
        response = _new(cls)
        values = response.__dict__
        values.update(data)
        values["_unread"] = {"items": values.pop("items")} if "items" in values else {}
        values["raw_output"] = wrap_output(data.get("raw_output"))
        return response

    def __init__(
        self, raw_output: Any = None, items: Iterable[Any] | None = None, **fields: Any
    ) -> None:
        given = None if items is None else items_from(items)
        super().__init__(raw_output=wrap_output(raw_output), items=given, **fields)

    def _wrap(self, name: str, value: Any) -> Any:
        if name == "items":
            return Items(items_from(value or output_items(self.raw_output)))
        return wrap_output(value) if name == "raw_output" else super()._wrap(name, value)

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
    if "items" not in value and isinstance(group := value.get("solver_outputs"), list | dict):
        return _read_group(group)
    return _read_object(value)


def _read_group(group: list[Any] | dict[str, Any]) -> SolverTrace:
    traces = [read_trace(each) for each in (group.values() if isinstance(group, dict) else group)]
    named = dict(zip(group, traces, strict=True)) if isinstance(group, dict) else traces
    return GroupedSolverTrace(named)


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
    if items is None:
        items = read_events(events or ())
    elif "items" not in value and "output" in value:
        items = [_read_message(message, value["output"]) for message in items]
    outputs = [value[name] for name in ("output", "raw_output") if value.get(name) is not None]
    return SolverTrace.from_json(
        {
            **value,
            "items": items_from(items),
            "raw_outputs": value.get("raw_outputs") or outputs[:1],
            "direct_ios": [_read_bodies(io) for io in value.get("direct_ios") or ()],
        }
    )


def _read_message(message: Any, output: Any) -> Any:
    """A message of the older format: of a custom task it is any JSON."""
    if isinstance(message, dict) and ("role" in message or "type" in message):
        return message
    kind = "output" if message == output else "input"
    return {"type": f"custom_task_{kind}_message", "content": message}


def _read_bodies(io: Any) -> Any:
    """A request and its reply, in the published shape. Older runs have `input` and `output`."""
    if not isinstance(io, dict) or "direct_input" in io or not {"input", "output"} <= io.keys():
        return io
    reply = {"body": io["output"], "status_code": 200}
    return {"direct_input": {"body": io["input"]}, "direct_output": reply}


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
