"""Convert messages with files to the formats of OpenAI's APIs, where content is a list of parts.

{"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}},
                             {"type": "text", "text": "Summarize it."}]}
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from evalwright.errors import ModelError
from evalwright.types import Message


def to_chat_messages(messages: Sequence[Message]) -> Sequence[Any]:
    """Return the messages for the Chat Completions API; unchanged if there are no files."""
    if not _have_files(messages):
        return messages
    return [
        _replace_content(
            message,
            [{"type": "file", "file": {"file_id": key}} for key in message.file_ids],
            "text",
        )
        for message in messages
    ]


def to_response_items(messages: Sequence[Message]) -> Sequence[Any]:
    """Return the input items for the Responses API; unchanged if there are no files."""
    if not _have_files(messages):
        return messages
    return [
        _replace_content(
            message,
            [{"type": "input_file", "file_id": key} for key in message.file_ids],
            "input_text",
        )
        for message in messages
    ]


def refuse_files(messages: Sequence[Message], api: str) -> None:
    """Raise `ModelError` if a message has files, which this API does not support."""
    if _have_files(messages):
        raise ModelError("unsupported", f"the {api} API does not accept file ids here")


def _have_files(messages: Sequence[Message]) -> bool:
    return any(message.file_ids for message in messages)


def _replace_content(
    message: Message, files: list[dict[str, Any]], text_type: str
) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(message)
    if fields.pop("file_ids", None):
        text = [{"type": text_type, "text": message.content}] if message.content else []
        fields["content"] = [*files, *text]
    return fields
