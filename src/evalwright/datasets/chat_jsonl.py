"""`chat_jsonl`: conversations in the shape of OpenAI's chat API, one a line.

    source:
      type: chat_jsonl
      file_path: chats.jsonl       # also .jsonl.gz, .jsonl.zst

A line is one of these, and may have any other keys, which are columns of their own (under
`line_NAME` where one of the columns below has their name):

    {"messages": […]}                                     the answer is the last message
    {"messages": […], "choices": […]}                     or `response`: a completion, or its text
    {"request": {"messages": […]}, "response": {…}}       what a proxy logs
    {"custom_id": …, "response": {"status_code": …, "body": {…}}}     a line of a batch's results
    {"custom_id": …, "body": {"messages": […]}}           a request of a batch: it has no answer

    sample_id    the line's `sample_id`, or its `custom_id`; without them its place, from 0
    input        what the user said last; empty where the line does not say what was asked
    output       the answer's text: what follows the last that the user said, and nothing older
    trace        the conversation, for `pass_through_solver`; null where there is no answer
    error        why there is no answer; null where there is one
    model        who answered; null where the line does not say

A line without an answer is a row all the same, and fails when its trace is asked for: a call that
failed, a reply that was cut before its first word (`length`, `content_filter`), a conversation that
ends with a call of a tool or with its result. A completion that is only a call of a tool is an
answer without words. If no line has an answer, the file is refused. Of several choices the first is
taken.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from evalwright.components import Location
from evalwright.datasets.json_files import read_objects
from evalwright.datasets.reading import FileRows, Reader, format_of
from evalwright.datasets.recorded import (
    Item,
    answering,
    expected,
    items_of,
    last_text,
    trace_of,
    unanswered,
)
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset
from evalwright.lines import show_path

_OF_THE_SHAPE = {"messages", "choices", "response", "request", "body", "custom_id"}
"""Keys that are no columns: what they say is in the trace."""
_OF_A_BATCH = {"method", "url"}
_OF_A_COMPLETION = {"object", "created", "usage", "system_fingerprint", "service_tier"}
"""The same, where the line is of that shape: they are about the call alone."""
_COLUMNS = ("input", "output", "trace", "error", "model")
_SHAPES = 'expected `messages`, `choices` or `response`: {"messages": [{"role": …, "content": …}]}'
_CUT_AT_A_CALL = "cut at the call of a tool: what the tool gave, and an answer, are not there"
_CUT = {"length", "content_filter"}
"""Ends of a completion that may come before its first word."""


class Unanswered(ValueError):
    """The line says what was asked, and not what was answered."""


class ChatJsonl:
    """The rows of a file of chats."""

    header: tuple[str, ...] | None = None
    """Only the lines know which other columns there are."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row per line; `BadDataset` names every line that is no conversation."""
        is_answered, first_error = False, ""
        for row in read_objects(self._path, row_of, hint=_SHAPES):
            is_answered = is_answered or row["trace"] is not None
            first_error = first_error or row["error"] or ""
            yield row
        if first_error and not is_answered:
            raise BadDataset(
                f"{show_path(self._path)}: no line has an answer: {first_error}",
                hint="of a batch, the file of results has them",
            )


def row_of(line: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a line; ValueError if it is no conversation."""
    asked, model = _asked(line)
    items = items_of(asked)
    try:
        said, answered_by = _answer(line, items)
    except Unanswered as why:
        error: str | None = str(why)
    else:
        items, model = [*items, *said], answered_by or model
        error = _missing(items, said) or None
    answered = error is None
    items = answering(items) if answered else items
    given = {"sample_id": line["custom_id"]} if line.get("custom_id") is not None else {}
    made = {
        "input": last_text(items, "user"),
        "output": last_text(items, "assistant") if answered else "",
        "trace": trace_of(items, source_type="chat_jsonl", model=model) if answered else None,
        "error": error,
        "model": model,
    }
    return {**given, **_own(line, made), **made}


def _own(line: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
    """The line's own columns; one whose name is taken has another, unless it says the same."""
    shape = set(_OF_THE_SHAPE)
    if "choices" in line:
        shape |= _OF_A_COMPLETION
    if "custom_id" in line or "body" in line:
        shape |= _OF_A_BATCH
    own = {}
    for key, value in line.items():
        if key in shape:
            continue
        if key not in _COLUMNS:
            own[key] = value
        elif value not in (None, made[key]) and not (key == "error" and made[key]):
            own[f"line_{key}"] = value
    return own


def _missing(items: Sequence[Item], said: Sequence[Item]) -> str:
    """Why there is no answer. A call is one where the line has it as the reply of a model."""
    why = unanswered(items)
    if not why and not said and items[-1]["type"] == "function_call":
        return _CUT_AT_A_CALL
    return why


def _asked(line: Mapping[str, Any]) -> tuple[Sequence[Any], str | None]:
    """The messages of the request, and the model that was asked."""
    for place in (line, line.get("request"), line.get("body")):
        if isinstance(place, Mapping) and "messages" in place:
            messages, model = place["messages"], place.get("model", line.get("model"))
            if not isinstance(messages, list) or not messages:
                raise expected("a list of `messages`", messages)
            return messages, model if isinstance(model, str) else None
    if "choices" not in line and "response" not in line and line.get("error") is None:
        there = ", ".join(f"`{key}`" for key in line) or "an empty object"
        raise ValueError(f"no conversation: the line has {there}")
    return (), line["model"] if isinstance(line.get("model"), str) else None


def _answer(line: Mapping[str, Any], asked: Sequence[Item]) -> tuple[list[Item], str | None]:
    """What was answered, and by whom; nothing where it stands among the messages."""
    found = line.get("response", line if "choices" in line else None)
    error = line.get("error")
    if error and (_is_call_error(error) or (found is None and unanswered(asked))):
        raise Unanswered(f"the call failed: {_told(error)}")
    if found is None:
        return [], None
    if isinstance(found, str):
        if not found:
            raise Unanswered("the response is empty")
        return items_of([{"role": "assistant", "content": found}]), None
    if not isinstance(found, Mapping):
        raise expected("a completion as `response`", found)
    status = found.get("status_code")
    if status is not None and not str(status).startswith("2"):
        raise Unanswered(f"the server answered {status}: {_told(found.get('body'))}")
    return _completion(found.get("body", found))


def _completion(body: Any) -> tuple[list[Item], str | None]:
    if not isinstance(body, Mapping):
        raise expected("a completion", body)
    if body.get("error"):
        raise Unanswered(f"the call failed: {_told(body['error'])}")
    model = body["model"] if isinstance(body.get("model"), str) else None
    if isinstance(output := body.get("output"), list):  # of the Responses API: items already
        return [_item(one) for one in output], model
    if "role" in body:
        return items_of([body]), model
    choices = body.get("choices")
    if not isinstance(choices, list):
        there = ", ".join(f"`{key}`" for key in body) or "an empty object"
        raise ValueError(f"a completion without `choices`: it has {there}")  # noqa: TRY004 - data of the wrong shape
    if not choices:
        raise Unanswered("the completion has no choices")
    first = choices[0]
    message = first.get("message") if isinstance(first, Mapping) else None
    if not isinstance(message, Mapping):
        raise expected("a `message` in a choice", first)
    said = items_of([{"role": "assistant", **message}])
    if first.get("finish_reason") in _CUT and not any(map(_says, said)):
        raise Unanswered(f"the model said nothing: it was ended by `{first['finish_reason']}`")
    return said, model


def _says(item: Item) -> bool:
    """Whether it is a call, or words of an answer."""
    if item["type"] == "function_call":
        return True
    return item["type"] == "message" and bool(last_text([item], "assistant").strip())


def _is_call_error(error: Any) -> bool:
    """As servers and batches write them; a line may have an `error` of its own."""
    return isinstance(error, Mapping) and any(key in error for key in ("message", "code", "error"))


def _item(one: Any) -> Item:
    if not isinstance(one, Mapping) or not isinstance(one.get("type"), str):
        raise expected("an item as `output`", one)
    return dict(one)


def _told(error: Any) -> str:
    """What an error says, in whichever of its usual places."""
    while isinstance(error, Mapping):
        inner = error.get("error") or error.get("message") or error.get("code")
        if inner is None:
            break
        error = inner
    return error if isinstance(error, str) else repr(error)


def _readable(location: Location) -> Location:
    if format_of(location.written) not in {".jsonl", ".ndjson"}:
        raise ValueError(f"expected a .jsonl file, got `{Path(location.written).name}`")
    return location


class ChatJsonlSource(SourceSpec):
    """The conversations of a file."""

    type: Literal["chat_jsonl"]
    file_path: Annotated[Location, AfterValidator(_readable)]
    """Relative to the document: `.jsonl`, also compressed."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """The file, which is looked at when the first row is asked for."""
        del surroundings
        path = self.file_path.path
        return FileRows(lambda: path, "chat_jsonl", make=ChatJsonl)

    def label(self) -> str:
        """Its path."""
        return str(self.file_path.path)
