import gzip
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from evalwright.datasets.chat_jsonl import ChatJsonlSource
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset
from evalwright.objects import read_trace

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"}]
SAID = {"role": "assistant", "content": "4"}
CHOICES = [{"index": 0, "message": SAID, "finish_reason": "stop"}]
COMPLETION = {"id": "c", "object": "chat.completion", "model": "gpt-x", "choices": CHOICES}

SILENT = {"role": "assistant", "content": None}
CALLED = {**SILENT, "tool_calls": [{"id": "c", "function": {"name": "add", "arguments": "{}"}}]}
GAVE = {"role": "tool", "tool_call_id": "c", "content": "4"}


def source(path: Path) -> Rows:
    read = ChatJsonlSource.model_validate({"type": "chat_jsonl", "file_path": str(path)})
    return read.rows(Surroundings(cache_dir=Path("unused")))


def chats(tmp_path: Path, *lines: Any) -> Rows:
    path = tmp_path / "chats.jsonl"
    raw = (one if isinstance(one, bytes) else msgspec.json.encode(one) for one in lines)
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return source(path)


@pytest.mark.parametrize(
    ("line", "asked", "model"),
    [
        pytest.param({"messages": [*ASKED, SAID]}, "2 + 2?", None, id="messages, for fine-tuning"),
        pytest.param({"messages": ASKED, "response": "4"}, "2 + 2?", None, id="a text"),
        pytest.param({"messages": ASKED, "response": SAID}, "2 + 2?", None, id="a message"),
        pytest.param({"messages": ASKED, "response": COMPLETION}, "2 + 2?", "gpt-x", id="both"),
        pytest.param({"messages": ASKED, **COMPLETION}, "2 + 2?", "gpt-x", id="choices beside"),
        pytest.param(
            {"request": {"model": "gpt", "messages": ASKED}, "response": {"choices": CHOICES}},
            "2 + 2?",
            "gpt",
            id="the log of a proxy",
        ),
        pytest.param(
            {"custom_id": "a", "response": {"status_code": 200, "body": COMPLETION}, "error": None},
            "",
            "gpt-x",
            id="the result of a batch",
        ),
        pytest.param(COMPLETION, "", "gpt-x", id="a completion alone"),
        pytest.param(
            {
                "response": {
                    "body": {
                        "output": [
                            {
                                "type": "message",
                                "role": "assistant",
                                "content": [{"type": "output_text", "text": "4"}],
                            }
                        ]
                    }
                }
            },
            "",
            None,
            id="a response of the newer API",
        ),
    ],
)
def test_an_answer_is_found_in_each_shape(
    tmp_path: Path, line: dict[str, Any], asked: str, model: str | None
) -> None:
    (row,) = chats(tmp_path, line).rows()

    assert (row["input"], row["output"], row["model"]) == (asked, "4", model)
    assert row["error"] is None
    assert str(read_trace(row["trace"]).output) == "4"


def test_tools_are_kept_and_other_keys_are_columns(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    line = {
        "messages": [
            *ASKED,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "4"},
            SAID,
        ],
        "tools": [{"type": "function", "function": {"name": "add"}}],
        "expected": "4",
        "sample_id": "first",
    }

    ((id_, row),) = chats(tmp_path, line).identify()

    ((called, gave),) = read_trace(row["trace"]).trace.get_function_call_pairs()
    assert (called["name"], gave and gave["output"]) == ("add", "4")
    assert (id_, row["expected"], row["tools"][0]["type"]) == ("first", "4", "function")
    assert "messages" not in row


def test_the_custom_id_of_a_batch_is_the_sample_id(tmp_path: Path) -> None:
    lines = [{"custom_id": name, "response": {"body": COMPLETION}} for name in ("b", "a")]

    assert [id_ for id_, _ in chats(tmp_path, *lines).identify()] == ["b", "a"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        pytest.param({"messages": ASKED}, "a request without an answer", id="only asked"),
        pytest.param(
            {"custom_id": "a", "method": "POST", "body": {"model": "m", "messages": ASKED}},
            "a request without an answer",
            id="the request of a batch",
        ),
        pytest.param(
            {"custom_id": "a", "response": None, "error": {"code": "x", "message": "expired"}},
            "the call failed: expired",
            id="a batch that expired",
        ),
        pytest.param(
            {
                "custom_id": "a",
                "response": {"status_code": 429, "body": {"error": {"message": "slow down"}}},
            },
            "the server answered 429: slow down",
            id="an error of the server",
        ),
        pytest.param(
            {"messages": ASKED, "response": {"error": "no key"}},
            "the call failed: no key",
            id="an error in the place of a completion",
        ),
        pytest.param({"messages": ASKED, "choices": []}, "has no choices", id="no choices"),
        pytest.param({"messages": ASKED, "response": ""}, "response is empty", id="no text"),
        pytest.param(
            {"messages": ASKED, "error": "timed out"}, "the call failed: timed out", id="own words"
        ),
        pytest.param(
            {"messages": [*ASKED, SAID], "error": {"message": "boom"}},
            "the call failed: boom",
            id="an error of a server beside an older answer",
        ),
        pytest.param(
            {"messages": ASKED, "choices": [{"message": SILENT, "finish_reason": "length"}]},
            "the answer is empty: its finish reason is `length`",
            id="cut before the first word",
        ),
        pytest.param(
            {
                "messages": ASKED,
                "choices": [
                    {"message": {**SILENT, "content": ""}, "finish_reason": "content_filter"}
                ],
            },
            "finish reason is `content_filter`",
            id="filtered",
        ),
        pytest.param(
            {"messages": [*ASKED, SAID, ASKED[1], CALLED]},
            "ends with a tool call",
            id="ends with a call",
        ),
        pytest.param(
            {"messages": [*ASKED, SAID, ASKED[1], CALLED, GAVE]},
            "ends with a tool result",
            id="ends with a tool's result",
        ),
        pytest.param(
            {"messages": [*ASKED, SAID, ASKED[1]]}, "nothing follows", id="an older answer"
        ),
    ],
)
def test_a_line_without_an_answer_is_a_row_that_says_why(
    tmp_path: Path, line: dict[str, Any], error: str
) -> None:
    good, bad = chats(tmp_path, {"messages": [*ASKED, SAID]}, line).rows()

    assert good["error"] is None
    assert (bad["trace"], bad["output"]) == (None, "")
    assert error in bad["error"]


def test_a_file_in_which_nothing_is_answered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="no line has an answer: a request without") as caught:
        chats(tmp_path, {"messages": ASKED}, {"messages": ASKED}).check()
    assert caught.value.hint == "for a batch, use its results file"


def test_every_bad_line_is_counted_and_the_first_is_told(tmp_path: Path) -> None:
    lines = [
        {"messages": [*ASKED, SAID]},
        {"prompt": "2 + 2?", "completion": "4"},
        b"",
        {"messages": []},
        b'{"messages": ',
        {"messages": [*ASKED, SAID], "response": 4},
    ]

    with pytest.raises(BadDataset) as caught:
        chats(tmp_path, *lines).check()

    assert caught.value.message.endswith(
        "chats.jsonl:2: no conversation: the line has `prompt`, `completion`; "
        "also lines 4, 5 and 6; 4 of 6 lines cannot be read"
    )
    assert "expected `messages`" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param({"messages": "hi"}, "expected a list of `messages`", id="a text"),
        pytest.param({"messages": [{"role": "x"}]}, "messages[0]: expected a `role`", id="a role"),
        pytest.param({"response": {"id": 1}}, "a completion without `choices`", id="no choices"),
        pytest.param({"choices": [{}]}, "expected a `message` in a choice", id="no message"),
        pytest.param({"response": {"body": 3}}, "expected a completion", id="a number"),
        pytest.param({"response": {"output": [3]}}, "expected an item", id="no item"),
        pytest.param({}, "the line has an empty object", id="nothing"),
        pytest.param(b"[" * 100_000, "chats.jsonl:1", id="nested without end"),
        pytest.param(b'{"messages": ["\xff"]}', "is not UTF-8", id="not UTF-8"),
    ],
)
def test_a_line_that_is_no_conversation_is_an_error(tmp_path: Path, line: Any, said: str) -> None:
    with pytest.raises(BadDataset) as caught:
        chats(tmp_path, line).check()
    assert said in caught.value.message


def test_text_from_right_to_left_stays_as_it_is(tmp_path: Path) -> None:
    asked, said = "كم يساوي اثنان زائد اثنان؟", "أربعة"
    line = {"messages": [{"role": "user", "content": asked}], "response": said}

    (row,) = chats(tmp_path, line).rows()

    assert (row["input"], row["output"]) == (asked, said)


def test_a_compressed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl.gz"
    path.write_bytes(gzip.compress(msgspec.json.encode({"messages": [*ASKED, SAID]})))

    assert source(path).check() == 1


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="no rows"):
        chats(tmp_path).check()


def test_another_ending_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"expected a \.jsonl file, got `chats\.csv`"):
        source(Path("chats.csv"))


def test_a_completion_that_is_only_a_call_is_an_answer_without_words(tmp_path: Path) -> None:
    line = {"messages": [*ASKED, SAID, ASKED[1]], "choices": [{"message": CALLED}]}

    (row,) = chats(tmp_path, line).rows()

    assert (row["output"], row["error"]) == ("", None)
    trace = read_trace(row["trace"])
    assert trace.trace.get_last_assistant_text() == ""
    assert [one["name"] for one in trace.trace.function_calls] == ["add"]


def test_what_ended_by_its_length_after_some_words_is_an_answer(tmp_path: Path) -> None:
    line = {"messages": ASKED, "choices": [{"message": SAID, "finish_reason": "length"}]}

    assert [row["output"] for row in chats(tmp_path, line).rows()] == ["4"]


def test_columns_of_the_line_are_kept_under_another_name_where_theirs_is_taken(
    tmp_path: Path,
) -> None:
    own = {"input": "mine", "error": "arithmetic", "url": "u", "usage": 3, "output": "4"}

    (row,) = chats(tmp_path, {"messages": [*ASKED, SAID], **own}).rows()

    assert (row["input"], row["line_input"]) == ("2 + 2?", "mine")
    assert (row["error"], row["line_error"]) == (None, "arithmetic")
    assert (row["url"], row["usage"]) == ("u", 3)
    assert "line_output" not in row, "it says the same"


def test_what_only_the_shape_of_a_call_has_is_no_column(tmp_path: Path) -> None:
    line = {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1",
        "messages": ASKED,
        **COMPLETION,
        "usage": {},
    }

    (row,) = chats(tmp_path, line).rows()

    assert not {"method", "url", "usage", "object"} & row.keys()


@pytest.mark.parametrize("status", [200, 201, "200"])
def test_every_status_of_success_is_one(tmp_path: Path, status: Any) -> None:
    line = {"response": {"status_code": status, "body": COMPLETION}}

    assert [row["output"] for row in chats(tmp_path, line).rows()] == ["4"]
