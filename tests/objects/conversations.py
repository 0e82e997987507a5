"""The JSON of a conversation, of `(role, text)` pairs."""

from typing import Any

from evalwright.objects import make_message


def conversation(
    messages: list[tuple[str, str]] | None = None,
    *,
    raw_outputs: list[Any] | None = None,
    direct_ios: list[Any] | None = None,
) -> dict[str, Any]:
    return {
        "items": [make_message(role, text) for role, text in messages or ()],
        "raw_outputs": raw_outputs or [],
        "direct_ios": direct_ios or [],
    }
