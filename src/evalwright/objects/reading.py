"""Traces that stand in a dataset, or that an author's function returned, in any of their shapes."""

from __future__ import annotations

import json
from typing import Any

from .events import items_of_events
from .items import items_from, said
from .solver_trace import SolverTrace

_SHAPES = "a trace (an object with `items`) or a list of items or messages"
_LONGEST_SHOWN = 80


def read_trace(value: Any) -> SolverTrace:
    """A trace of an object, a list of items or messages, or JSON text of one; else ValueError."""
    if isinstance(value, SolverTrace):
        return value
    if isinstance(value, str):
        value = _parsed(value)
    if isinstance(value, list):
        return SolverTrace(items=items_from(value))
    if not isinstance(value, dict):
        raise ValueError(f"expected {_SHAPES}, got `{type(value).__name__}`")  # noqa: TRY004 - data of the wrong shape
    inner = value.get("trace")
    if isinstance(inner, dict):
        value = {**inner, **{key: one for key, one in value.items() if key != "trace"}}
    return _read_object(value)


def _read_object(value: dict[str, Any]) -> SolverTrace:
    items, events = value.get("items", value.get("messages")), value.get("events")
    if items is None and events is None:
        found = ", ".join(f"`{key}`" for key in value) or "an empty object"
        raise ValueError(f"expected {_SHAPES}, got {found}")
    for name in ("items", "messages", "raw_outputs", "direct_ios", "events"):
        if not isinstance(value.get(name), list | None):
            raise ValueError(f"expected a list as `{name}`, got `{type(value[name]).__name__}`")  # noqa: TRY004 - the same
    if not all(isinstance(one, dict) for one in events or ()):
        raise ValueError("expected objects as `events`")
    if not isinstance(value.get("metadata"), dict | None):
        raise ValueError("expected an object as `metadata`")  # noqa: TRY004 - the same
    read = items_of_events(events or ()) if items is None else items_from(items)
    made = SolverTrace.from_json({**value, "items": read})
    if not made.raw_outputs and value.get("output") is not None:
        made.raw_outputs.append(value["output"])
    return made


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
        raise ValueError(f"expected {_SHAPES} in JSON, got the text `{shown}`") from error


def conversation(
    messages: list[tuple[str, str]] | None = None,
    *,
    raw_outputs: list[Any] | None = None,
    direct_ios: list[Any] | None = None,
) -> dict[str, Any]:
    """The JSON of a conversation, of `(role, text)` pairs."""
    return {
        "items": [said(role, text) for role, text in messages or ()],
        "raw_outputs": raw_outputs or [],
        "direct_ios": direct_ios or [],
    }
