"""A conversation as a person, or a judge, reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .items import text_of
from .output import ChatCompletion, OpenResponse, json_text


def readable(items: Iterable[Mapping[str, Any]]) -> str:
    """Of one user message its text; of more, a paragraph each, with who said it."""
    spoken = [(one, _said(one)) for one in items]
    if len(spoken) == 1 and spoken[0][0].get("role", "user") == "user":
        return spoken[0][1]
    return "\n\n".join(f"{one.get('role') or one['type']}: {text}" for one, text in spoken)


def _said(item: Mapping[str, Any]) -> str:
    kind = item.get("type", "message")
    if kind == "message":
        return text_of(item.get("content"))
    if kind == "function_call":
        return f"{item.get('name')}({item.get('arguments')})"
    if kind == "function_call_output":
        gave = item.get("output")
        return (text_of(gave) if isinstance(gave, list) else "") or shown(gave)
    return shown(item.get("content"))


def shown(value: Any) -> str:
    """Text as it is, an output as its answer, any other JSON as JSON."""
    if isinstance(value, str | ChatCompletion | OpenResponse):
        return str(value)
    return json_text(value)
