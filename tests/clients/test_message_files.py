import pytest

from evalwright.clients.message_files import refuse_files, to_chat_messages, to_response_items
from evalwright.errors import ModelError
from evalwright.types import Message

PLAIN = (Message("system", "Be brief."), Message("user", "Hello"))
FILES = (PLAIN[0], Message("user", "لخّص", file_ids=("file-1",)))


def test_messages_without_files_stay_as_they_are() -> None:
    assert to_chat_messages(PLAIN) is PLAIN
    assert to_response_items(PLAIN) is PLAIN
    refuse_files(PLAIN, "messages")


def test_a_chat_message_has_its_files_as_parts() -> None:
    assert to_chat_messages(FILES) == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "text", "text": "لخّص"},
            ],
        },
    ]


def test_an_input_item_has_its_files_as_parts() -> None:
    (_, item) = to_response_items(FILES)

    assert item["content"] == [
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_text", "text": "لخّص"},
    ]


def test_an_api_without_files_refuses_them() -> None:
    with pytest.raises(ModelError, match="the messages API does not accept file ids"):
        refuse_files(FILES, "messages")
