"""`phoenix`: traces from an Arize Phoenix project.

    source:
      type: phoenix
      project: shop-assistant
      from_time: 2026-03-01
      limit: 200

The address is taken from `base_url`, `PHOENIX_BASE_URL` or `PHOENIX_COLLECTOR_ENDPOINT`, and
defaults to `http://localhost:6006`. The optional API key is taken from `api_key`
(`<< secrets.NAME >>`) or `PHOENIX_API_KEY`. The rows are traces, sorted from newest to oldest:

    sample_id    the trace id
    input        the last user message
    output       the text of the answer
    trace        the conversation with its tool calls, for `pass_through_solver`; null without an
                 answer
    error        the root span's error, or why the answer is missing; otherwise null
    model        the model that answered; null if no span names it
    metadata     the root span's `metadata`, with `session_id` and `user_id` if it has them
    tags         the tags of the spans
    created_at   when the trace started
    spans        the names and kinds of the spans, sorted by start time: [{"name": …,
                 "kind": "LLM"}]

The conversation is taken from a model call: the last `LLM` span among those closest to the root,
because it contains the earlier messages. If the trace has no messages, the conversation consists of
the root span's input, its tool spans and its output.

All spans between `from_time` and `to_time` are fetched (at most 200,000), because the spans of a
trace may be on different pages. The rows are stored in `.evalwright/downloads/` and are not fetched
again. To fetch newer traces, delete the file in that folder.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from tempfile import TemporaryFile
from typing import IO, Any, Literal

import msgspec
from msgspec import Struct
from pydantic import Field, field_validator

from evalwright.datasets.reading import Reader
from evalwright.datasets.recorded import Item, convert_messages, make_row
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.datasets.times import Instant, parse_time
from evalwright.datasets.web_api import (
    ApiKey,
    JsonApi,
    check_address,
    quote_part,
    read_pages,
    read_variable,
    store_rows,
)
from evalwright.errors import BadDataset

ADDRESS = "http://localhost:6006"
MOST_SPANS = 200_000
_HINT = "set `base_url` and `api_key`, or PHOENIX_BASE_URL and PHOENIX_API_KEY"
_PAGE = 1000
_VERSION = 1
"""Increase it when the same spans are converted to different rows."""
_NUMBERED = re.compile(r"(\d+)(?:\.(.*))?", re.DOTALL)


class _SpanContext(Struct, frozen=True):
    trace_id: str
    span_id: str


class _PhoenixSpan(Struct, frozen=True):
    """The fields that are read from a span."""

    context: _SpanContext
    name: str = ""
    span_kind: str = ""
    parent_id: str | None = None
    start_time: str = ""
    end_time: str | None = None
    status_code: str = ""
    status_message: str | None = None
    attributes: dict[str, Any] = {}

    def take(self, name: str) -> Any:
        """Return an attribute; None if it is missing."""
        return self.attributes.get(name)


class Phoenix(SourceSpec):
    """Traces from a Phoenix server."""

    type: Literal["phoenix"]
    project: str = Field(min_length=1)
    """Name or id of the project."""
    from_time: Instant | None = None
    """Earliest start time of a span. Times without a time zone are UTC."""
    to_time: Instant | None = None
    """Time before which a span must have started."""
    trace_id: str | tuple[str, ...] | None = None
    """Id or ids of the traces to read."""
    session_id: str | tuple[str, ...] | None = None
    """Id or ids of the sessions to read traces from."""
    tags: tuple[str, ...] | None = None
    """Tags that a trace must have."""
    metadata: dict[str, str] | None = None
    """Metadata values that a trace must have."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of traces, starting with the newest."""
    api_key: ApiKey | None = None
    """API key, as `<< secrets.NAME >>`. Default: `PHOENIX_API_KEY`."""
    base_url: str | None = None
    """Address of the server. Default: `PHOENIX_BASE_URL` or `PHOENIX_COLLECTOR_ENDPOINT`."""

    @field_validator("base_url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        return None if value is None else check_address(value, field="base_url")

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that fetches the rows when the first row is read."""
        query = self.model_dump(mode="json", exclude={"api_key", "filters", "missing"})
        return store_rows(
            self.type,
            {**query, "base_url": self._address, "version": _VERSION},
            self._fetch,
            cache_dir=surroundings.cache_dir,
            name=self.label(),
        )

    def label(self) -> str:
        """Return the name of the project, for messages."""
        return f"phoenix: {self.project}"

    @property
    def _address(self) -> str:
        address = self.base_url or read_variable("PHOENIX_BASE_URL", "PHOENIX_COLLECTOR_ENDPOINT")
        return (address or ADDRESS).rstrip("/").removesuffix("/v1/traces")

    def _fetch(self) -> Iterator[dict[str, Any]]:
        key = self.api_key.reveal() if self.api_key else read_variable("PHOENIX_API_KEY")
        headers = {"Authorization": f"Bearer {key}"}
        api = JsonApi(self._address, headers=headers, key=key, hint=_HINT)
        with TemporaryFile() as file:
            places = self._store_spans(api, file)
            newest_first = sorted(places, key=lambda id_: (places[id_].start, id_), reverse=True)
            count = 0
            for id_ in newest_first:
                row = self._make_row(id_, _load_spans(file, places[id_].places))
                if row is not None:
                    yield row
                    count += 1
                    if count == self.limit:
                        return

    def _store_spans(self, api: JsonApi, file: IO[bytes]) -> dict[str, "_TracePlaces"]:
        """Write all spans to a file; return the positions of each trace's spans."""
        path = f"/v1/projects/{quote_part(self.project)}/spans"
        wanted = _to_set(self.trace_id)
        query: dict[str, Any] = {"limit": _PAGE}
        if wanted:
            query["trace_id"] = sorted(wanted)
        for name, time in (("start_time", self.from_time), ("end_time", self.to_time)):
            if time:
                query[name] = time.isoformat()

        def fetch(cursor: Any) -> tuple[Sequence[Any], Any]:
            reply = api.get(path, query if cursor is None else {**query, "cursor": cursor})
            spans = reply.get("data") if isinstance(reply, Mapping) else None
            if not isinstance(spans, list):
                raise BadDataset(f"{self.label()}: expected a list as `data`")
            return spans, reply.get("next_cursor")

        traces: dict[str, _TracePlaces] = {}
        encode = msgspec.json.Encoder().encode
        for number, value in enumerate(read_pages(fetch, name=self.label())):
            if number >= MOST_SPANS:
                raise BadDataset(
                    f"{self.label()}: more than {MOST_SPANS:,} spans",
                    hint="select fewer with `from_time`, `to_time` or `trace_id`",
                )
            span = self._read_span(value)
            if wanted and span.context.trace_id not in wanted:  # older servers ignore the filter
                continue
            start = file.tell()
            file.write(encode(span))
            trace = traces.setdefault(span.context.trace_id, _TracePlaces())
            trace.places.append((start, file.tell() - start))
            trace.start = min(trace.start or span.start_time, span.start_time)
        return traces

    def _read_span(self, value: Mapping[str, Any]) -> _PhoenixSpan:
        try:
            span = msgspec.convert(value, _PhoenixSpan)
        except msgspec.ValidationError as error:
            raise BadDataset(f"{self.label()}: expected a span: {error}") from error
        return msgspec.structs.replace(span, attributes=dict(_flatten(span.attributes)))

    def _make_row(self, id_: str, spans: list[_PhoenixSpan]) -> dict[str, Any] | None:
        """Return the row of a trace; None if the trace is not selected."""
        spans.sort(key=lambda span: (span.start_time, span.context.span_id))
        root = _find_root(spans)
        tags = sorted({tag for span in spans for tag in _list_tags(span)})
        session = next(filter(None, (span.take("session.id") for span in spans)), None)
        metadata = _read_metadata(root)
        sessions = _to_set(self.session_id)
        wanted = (self.metadata or {}).items()
        if (
            not set(self.tags or ()) <= set(tags)
            or (sessions and session not in sessions)
            or any(str(metadata.get(name)) != value for name, value in wanted)
        ):
            return None
        try:
            items = _read_items(spans, root)
        except ValueError as error:
            raise BadDataset(f"{self.label()}: trace {id_}: {error}") from error
        people = {"session_id": session, "user_id": root.take("user.id")}
        failed = root.status_code.upper() == "ERROR"
        row = make_row(
            items,
            sample_id=id_,
            source_type="phoenix",
            source_uri=f"phoenix://{self.project}/{id_}",
            error=f"Phoenix recorded an error: {root.status_message or 'ERROR'}"
            if failed
            else None,
            metadata={**metadata, **{name: value for name, value in people.items() if value}},
            agent=root.take("agent.name") or root.name or None,
            model=_find_model(spans),
            tags=tags or None,
            created_at=spans[0].start_time,
            total_time=_duration(spans),
            total_tokens=_count_tokens(spans),
            message_count=sum(item["type"] == "message" for item in items),
        )
        return {**row, "spans": [{"name": span.name, "kind": span.span_kind} for span in spans]}


class _TracePlaces:
    """Positions of a trace's spans in the file, and the start time of the trace."""

    __slots__ = ("places", "start")

    def __init__(self) -> None:
        self.places: list[tuple[int, int]] = []
        self.start = ""


def _load_spans(file: IO[bytes], places: Iterable[tuple[int, int]]) -> list[_PhoenixSpan]:
    decode = msgspec.json.Decoder(_PhoenixSpan).decode
    spans = {}
    for start, size in places:
        file.seek(start)
        span = decode(file.read(size))
        spans[span.context.span_id] = span
    return list(spans.values())


def _flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten nested attributes to dotted names; a list of scalars is one value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _flatten(inner, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        for number, inner in enumerate(value):
            yield from _flatten(inner, f"{prefix}.{number}")
    else:
        yield prefix, value


def _find_root(spans: Sequence[_PhoenixSpan]) -> _PhoenixSpan:
    known = {span.context.span_id for span in spans}
    return next((span for span in spans if span.parent_id not in known), spans[0])


def _read_items(spans: Sequence[_PhoenixSpan], root: _PhoenixSpan) -> list[Item]:
    depths = _measure_depths(spans)
    calls = [span for span in spans if _read_messages(span, "llm.output_messages")]
    calls = calls or [span for span in spans if _read_messages(span, "llm.input_messages")]
    if calls:
        nearest = min(depths[span.context.span_id] for span in calls)
        last = [span for span in calls if depths[span.context.span_id] == nearest][-1]
        questions = _read_messages(last, "llm.input_messages")
        return convert_messages([*questions, *_read_messages(last, "llm.output_messages")])
    items = convert_messages(_text_message("user", root.take("input.value")))
    for span in spans:
        if span.span_kind.upper() == "TOOL":
            items += _read_tool(span)
    return [*items, *convert_messages(_text_message("assistant", root.take("output.value")))]


def _measure_depths(spans: Iterable[_PhoenixSpan]) -> dict[str, int]:
    parents = {span.context.span_id: span.parent_id for span in spans}
    depths: dict[str, int] = {}
    for id_, parent in parents.items():
        depth, above, seen = 0, parent, {id_}
        while above in parents and above not in seen:
            seen.add(above)
            depth, above = depth + 1, parents[above]
        depths[id_] = depth
    return depths


def _read_messages(span: _PhoenixSpan, prefix: str) -> list[dict[str, Any]]:
    """Return the messages under a prefix: `llm.input_messages.0.message.role` and so on."""
    return [_read_message(fields) for fields in _list_by_number(span.attributes, prefix)]


def _read_message(fields: Mapping[str, Any]) -> dict[str, Any]:
    content: Any = fields.get("message.content")
    parts = [
        {"type": part.get("message_content.type") or "text", "text": part["message_content.text"]}
        if "message_content.text" in part
        else {"type": part.get("message_content.type") or "image"}
        for part in _list_by_number(fields, "message.contents")
    ]
    message: dict[str, Any] = {
        "role": _ROLES.get(str(fields.get("message.role")).lower(), fields.get("message.role")),
        "content": parts if content is None and parts else content,
    }
    calls = [
        {
            "id": call.get("tool_call.id"),
            "name": call.get("tool_call.function.name"),
            "arguments": call.get("tool_call.function.arguments") or "{}",
        }
        for call in _list_by_number(fields, "message.tool_calls")
    ]
    if calls:
        message["tool_calls"] = calls
    for name in ("tool_call_id", "name"):
        if (value := fields.get(f"message.{name}")) is not None:
            message[name] = value
    return message


_ROLES = {"human": "user", "ai": "assistant", "model": "assistant"}


def _list_by_number(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the attributes under `PREFIX.0`, `PREFIX.1` and so on."""
    listed: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(f"{prefix}.") and (
            match := _NUMBERED.fullmatch(name[len(prefix) + 1 :])
        ):
            listed.setdefault(int(match[1]), {})[match[2] or ""] = value
    return [listed[number] for number in sorted(listed)]


def _read_tool(span: _PhoenixSpan) -> list[Item]:
    arguments = span.take("tool.parameters") or span.take("input.value") or "{}"
    call_id = span.take("tool_call.id") or span.context.span_id
    call = {"id": call_id, "name": span.take("tool.name") or span.name, "arguments": arguments}
    result: dict[str, Any] = {"role": "tool", "tool_call_id": call_id}
    result["content"] = _to_text(span.take("output.value"))
    if span.status_code.upper() == "ERROR":
        result["error"] = span.status_message or "the tool failed"
    return convert_messages([{"role": "assistant", "content": None, "tool_calls": [call]}, result])


def _text_message(role: str, value: Any) -> list[dict[str, Any]]:
    return [] if value is None else [{"role": role, "content": _to_text(value)}]


def _to_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def _list_tags(span: _PhoenixSpan) -> list[str]:
    tags = span.take("tag.tags")
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def _read_metadata(root: _PhoenixSpan) -> dict[str, Any]:
    """Return the metadata of a span, which may be an object or JSON."""
    written = root.take("metadata")
    if isinstance(written, str):
        try:
            written = msgspec.json.decode(written)
        except msgspec.DecodeError:
            return {"metadata": written}
    nested = {
        name.removeprefix("metadata."): value
        for name, value in root.attributes.items()
        if name.startswith("metadata.")
    }
    return {**(written if isinstance(written, dict) else {}), **nested}


def _find_model(spans: Iterable[_PhoenixSpan]) -> str | None:
    names = [name for span in spans if isinstance(name := span.take("llm.model_name"), str)]
    return names[-1] if names else None


def _count_tokens(spans: Iterable[_PhoenixSpan]) -> int | None:
    counts = [
        count
        for span in spans
        if isinstance(count := span.take("llm.token_count.total"), int | float)
    ]
    return int(sum(counts)) if counts else None


def _duration(spans: Sequence[_PhoenixSpan]) -> float | None:
    ends = [end for span in spans if (end := parse_time(span.end_time))]
    start = parse_time(spans[0].start_time)
    return (max(ends) - start).total_seconds() if start and ends else None


def _to_set(value: str | tuple[str, ...] | None) -> set[str]:
    return {value} if isinstance(value, str) else set(value or ())
