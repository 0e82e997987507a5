"""`chat_jsonl`: conversations in the format of OpenAI's chat API, one per line.

    source:
      type: chat_jsonl
      file_path: chats.jsonl       # also .jsonl.gz, .jsonl.zst

A line has one of the following forms. Any other key becomes an additional column, which is renamed
to `line_NAME` if its name clashes with a column listed below.

    {"messages": […]}                                     the answer is the last message
    {"messages": […], "choices": […]}                     or `response`: a completion, or its text
    {"request": {"messages": […]}, "response": {…}}       the log of a proxy
    {"custom_id": …, "response": {"status_code": …, "body": {…}}}     a batch result
    {"custom_id": …, "body": {"messages": […]}}           a batch request, without an answer

Every row has these columns:

    sample_id    `sample_id` or `custom_id` from the line, or else its position, from 0
    input        the last user message; empty if there is none
    output       the text of the answer, starting after the last user message
    trace        the conversation, for `pass_through_solver`; null without an answer
    error        why the answer is missing; null if there is one
    model        the model that answered; null if the line does not name it

A line without an answer is also a row. It fails when its trace is used. Examples are a failed call,
a reply that was cut off before its first word (`length`, `content_filter`), and a conversation that
ends with a tool call or a tool result. A completion that only calls a tool is an answer with empty
text. If there are several choices, the first is used. A file without any answers is rejected.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from evalwright.components import Location
from evalwright.datasets.json_files import read_objects
from evalwright.datasets.reading import FileRows, LazyRows, Reader, find_format
from evalwright.datasets.recorded import (
    CUT_AT_A_CALL,
    Item,
    add_empty_answer,
    convert_messages,
    explain_missing_answer,
    last_text,
    make_trace,
    shape_error,
)
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset
from evalwright.lines import show_path

_SHAPE_KEYS = {"messages", "choices", "response", "request", "body", "custom_id"}
"""Keys that do not become columns, because the trace contains their values."""
_BATCH_KEYS = {"method", "url"}
_COMPLETION_KEYS = {"object", "created", "usage", "system_fingerprint", "service_tier"}
"""Additional keys that do not become columns in lines of this form: they describe the call."""
_SHAPES = 'expected `messages`, `choices` or `response`: {"messages": [{"role": …, "content": …}]}'
_CUT = {"length", "content_filter"}
"""Finish reasons with which a reply may be empty."""


class _UnansweredError(ValueError):
    """Raised for a line without an answer."""


def _read_chats(path: Path) -> Iterator[dict[str, Any]]:
    is_answered, first_error = False, ""
    for row in read_objects(str(path), _make_row, hint=_SHAPES):
        is_answered = is_answered or row["trace"] is not None
        first_error = first_error or row["error"] or ""
        yield row
    if first_error and not is_answered:
        raise BadDataset(
            f"{show_path(path)}: no line has an answer: {first_error}",
            hint="for a batch, use its results file",
        )


def _make_row(line: Mapping[str, Any]) -> dict[str, Any]:
    messages, model = _find_request(line)
    items = convert_messages(messages)
    try:
        answer, answered_by = _find_answer(line, items)
    except _UnansweredError as why:
        error: str | None = str(why)
    else:
        items, model = [*items, *answer], answered_by or model
        error = explain_missing_answer(items) or None
        if not error and not answer and items[-1]["type"] == "function_call":
            error = CUT_AT_A_CALL  # a tool call is an answer only in a completion
    is_answered = error is None
    items = add_empty_answer(items) if is_answered else items
    sample_id = {"sample_id": line["custom_id"]} if line.get("custom_id") is not None else {}
    columns = {
        "input": last_text(items, "user"),
        "output": last_text(items, "assistant") if is_answered else "",
        "trace": make_trace(items, source_type="chat_jsonl", model=model) if is_answered else None,
        "error": error,
        "model": model,
    }
    return {**sample_id, **_select_extra_columns(line, columns), **columns}


def _select_extra_columns(line: Mapping[str, Any], columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line's additional columns, renamed to `line_NAME` if the name is taken."""
    shape = set(_SHAPE_KEYS)
    if "choices" in line:
        shape |= _COMPLETION_KEYS
    if "custom_id" in line or "body" in line:
        shape |= _BATCH_KEYS
    own = {}
    for key, value in line.items():
        if key in shape:
            continue
        if key not in columns:
            own[key] = value
        elif value not in (None, columns[key]) and not (key == "error" and columns[key]):
            own[f"line_{key}"] = value
    return own


def _find_request(line: Mapping[str, Any]) -> tuple[Sequence[Any], str | None]:
    for place in (line, line.get("request"), line.get("body")):
        if isinstance(place, Mapping) and "messages" in place:
            messages, model = place["messages"], place.get("model", line.get("model"))
            if not isinstance(messages, list) or not messages:
                raise shape_error("a list of `messages`", messages)
            return messages, model if isinstance(model, str) else None
    if "choices" not in line and "response" not in line and line.get("error") is None:
        raise ValueError(f"no conversation: the line has {_list_keys(line)}")
    return (), line["model"] if isinstance(line.get("model"), str) else None


def _find_answer(line: Mapping[str, Any], items: Sequence[Item]) -> tuple[list[Item], str | None]:
    """Return the answer's items and model; no items if the answer is one of the messages."""
    response = line.get("response", line if "choices" in line else None)
    error = line.get("error")
    if error and (_is_call_error(error) or (response is None and explain_missing_answer(items))):
        raise _UnansweredError(f"the call failed: {_error_text(error)}")
    if response is None:
        return [], None
    if isinstance(response, str):
        if not response:
            raise _UnansweredError("the response is empty")
        return convert_messages([{"role": "assistant", "content": response}]), None
    if not isinstance(response, Mapping):
        raise shape_error("a completion as `response`", response)
    status = response.get("status_code")
    if status is not None and not str(status).startswith("2"):
        why = _error_text(response.get("body"))
        raise _UnansweredError(f"the server answered {status}: {why}")
    return _read_completion(response.get("body", response))


def _read_completion(body: Any) -> tuple[list[Item], str | None]:
    if not isinstance(body, Mapping):
        raise shape_error("a completion", body)
    if body.get("error"):
        raise _UnansweredError(f"the call failed: {_error_text(body['error'])}")
    model = body["model"] if isinstance(body.get("model"), str) else None
    # Responses API: the output consists of items.
    if isinstance(output := body.get("output"), list):
        return [_check_item(item) for item in output], model
    if "role" in body:
        return convert_messages([body]), model
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise ValueError(f"a completion without `choices`: it has {_list_keys(body)}")  # noqa: TRY004 - data of the wrong shape
    if not choices:
        raise _UnansweredError("the completion has no choices")
    first = choices[0]
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(message, Mapping):
        raise shape_error("a `message` in a choice", first)
    items = convert_messages([{"role": "assistant", **message}])
    has_content = any(
        item["type"] == "function_call" or last_text([item], "assistant").strip() for item in items
    )
    if first.get("finish_reason") in _CUT and not has_content:
        raise _UnansweredError(
            f"the answer is empty: its finish reason is `{first['finish_reason']}`"
        )
    return items, model


def _check_item(item: Any) -> Item:
    if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
        raise shape_error("an item as `output`", item)
    return dict(item)


def _list_keys(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"`{key}`" for key in fields) or "an empty object"


def _is_call_error(error: Any) -> bool:
    """Whether `error` comes from a server or a batch. Otherwise, it is a column of the author."""
    return isinstance(error, Mapping) and any(key in error for key in ("message", "code", "error"))


def _error_text(error: Any) -> str:
    while isinstance(error, Mapping):
        inner = error.get("error") or error.get("message") or error.get("code")
        if inner is None:
            break
        error = inner
    return error if isinstance(error, str) else repr(error)


def _check_ending(location: Location) -> Location:
    if find_format(location.written) not in {".jsonl", ".ndjson"}:
        raise ValueError(f"expected a .jsonl file, got `{Path(location.written).name}`")
    return location


class ChatJsonlSource(SourceSpec):
    """The conversations in a file."""

    type: Literal["chat_jsonl"]
    file_path: Annotated[Location, AfterValidator(_check_ending)]
    """Path of a `.jsonl` file, plain or compressed, relative to the document."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that opens the file when the first row is read."""
        del surroundings
        path = self.file_path.path
        return FileRows(
            lambda: path, "chat_jsonl", make=lambda path: LazyRows(partial(_read_chats, path))
        )

    def label(self) -> str:
        """Return the path, for messages."""
        return str(self.file_path.path)
