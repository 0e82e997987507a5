import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.servers import model_server as serve
from tests.servers.model_server import ModelServer
from tests.servers.trace_servers import KEY, phoenix

from evalwright.datasets import phoenix as module
from evalwright.datasets.phoenix import Phoenix
from evalwright.datasets.recorded import COLUMNS
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.objects import read_trace

ASKED = {
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "You answer for a shop.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "Where is order 17?",
}
CALLED = {
    "message.role": "assistant",
    "message.tool_calls.0.tool_call.id": "c1",
    "message.tool_calls.0.tool_call.function.name": "look_up",
    "message.tool_calls.0.tool_call.function.arguments": '{"order": 17}',
}
GAVE = {
    "llm.input_messages.3.message.role": "tool",
    "llm.input_messages.3.message.tool_call_id": "c1",
    "llm.input_messages.3.message.content": "sent on Monday",
}
ANSWERED = {
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "It was sent on Monday.",
}


def span(
    trace: str, id_: str, kind: str = "LLM", parent: str | None = None, at: int = 0, **more: Any
) -> dict[str, Any]:
    return {
        "id": f"U3Bhbjo{id_}",
        "name": f"{kind.lower()} {id_}",
        "context": {"trace_id": trace, "span_id": f"{trace}-{id_}"},
        "span_kind": kind,
        "parent_id": f"{trace}-{parent}" if parent else None,
        "start_time": f"2026-03-02T09:00:0{at}+00:00",
        "end_time": f"2026-03-02T09:00:0{at + 1}+00:00",
        "status_code": "OK",
        "status_message": "",
        "attributes": {},
        "events": [],
        **more,
    }


def agent(trace: str = "t1", **root: Any) -> list[dict[str, Any]]:
    """The spans of an agent that calls a tool, as they arrive: the newest first."""
    tokens = {"llm.model_name": "gpt-4o", "llm.token_count.total": 50}
    call = {f"llm.input_messages.2.{name}": value for name, value in CALLED.items()}
    first = {f"llm.output_messages.0.{name}": value for name, value in CALLED.items()}
    about = {
        "session.id": "s1",
        "user.id": "u1",
        "tag.tags": ["production", "en"],
        "metadata": '{"shift": "night"}',
        "agent.name": "assistant",
    }
    last = {**ASKED, **call, **GAVE, **ANSWERED, **tokens}
    return [
        span(trace, "root", "AGENT", attributes={**about, **root}),
        span(trace, "second", "LLM", "root", 3, attributes=last),
        span(trace, "tool", "TOOL", "root", 2, attributes={"tool.name": "look_up"}),
        span(trace, "first", "LLM", "root", 1, attributes={**ASKED, **first, **tokens}),
    ]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(phoenix(spans=agent())) as running:
        for name in ("PHOENIX_API_KEY", "PHOENIX_BASE_URL", "PHOENIX_COLLECTOR_ENDPOINT"):
            monkeypatch.delenv(name, raising=False)
        yield running


def source(server: ModelServer, cache: Path, **fields: Any) -> Rows:
    given = {"type": "phoenix", "project": "shop", "base_url": server.origin, **fields}
    given = {name: value for name, value in given.items() if value is not None}
    return Phoenix.model_validate(given).rows(Surroundings(cache_dir=cache))


def ids(server: ModelServer, cache: Path, **fields: Any) -> list[str]:
    return [row["sample_id"] for row in source(server, cache, **fields).rows()]


def test_a_trace_is_a_row_with_the_conversation_of_its_last_call(
    server: ModelServer, tmp_path: Path
) -> None:
    (row,) = source(server, tmp_path).rows()

    assert tuple(row) == (*COLUMNS, "spans")
    assert (row["sample_id"], row["input"]) == ("t1", "Where is order 17?")
    assert (row["output"], row["error"]) == ("It was sent on Monday.", None)
    assert row["model"] == "gpt-4o"
    assert row["metadata"] == {"shift": "night", "session_id": "s1", "user_id": "u1"}
    assert row["tags"] == ["en", "production"]
    assert [one["kind"] for one in row["spans"]] == ["AGENT", "LLM", "TOOL", "LLM"]
    trace = read_trace(row["trace"]).trace
    assert trace.get_first_system_prompt() == "You answer for a shop."
    ((call, gave),) = trace.get_function_call_pairs()
    assert gave is not None
    assert (call["name"], call["arguments"], gave["output"]) == (
        *("look_up", '{"order": 17}'),
        "sent on Monday",
    )
    about = trace.metadata
    assert (about.source_type, about.source_uri) == ("phoenix", "phoenix://shop/t1")
    assert (about.agent, str(about.created_at)) == ("assistant", "2026-03-02T09:00:00+00:00")
    assert (about.total_time, about.total_tokens, about.message_count) == (4.0, 100, 3)


def test_spans_of_a_trace_may_be_on_several_pages(server: ModelServer, tmp_path: Path) -> None:
    mixed = [one for pair in zip(agent("t1"), agent("t2"), strict=True) for one in pair]
    server.behave(phoenix(spans=mixed, page=3))

    rows = list(source(server, tmp_path).rows())

    assert sorted(row["sample_id"] for row in rows) == ["t1", "t2"]
    assert all(len(row["spans"]) == 4 for row in rows)
    assert len(server.log) == 3


def test_a_subagent_is_not_the_conversation(server: ModelServer, tmp_path: Path) -> None:
    inner = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "sub question",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "sub answer",
    }
    server.behave(phoenix(spans=[*agent(), span("t1", "sub", "LLM", "tool", 5, attributes=inner)]))

    (row,) = source(server, tmp_path).rows()

    assert row["output"] == "It was sent on Monday."


def test_a_trace_without_messages_has_texts_and_tool_spans(
    server: ModelServer, tmp_path: Path
) -> None:
    texts = {"input": {"value": "Where is it?"}, "output": {"value": "On its way."}}
    tool = {"tool.name": "look_up", "tool.parameters": '{"order": 17}', "output.value": "no order"}
    failed: dict[str, Any] = {"status_code": "ERROR", "status_message": "404"}
    server.behave(
        phoenix(
            spans=[
                span("t1", "root", "CHAIN", attributes=texts),
                span("t1", "tool", "TOOL", "root", 1, attributes=tool, **failed),
            ]
        )
    )

    (row,) = source(server, tmp_path).rows()

    assert (row["input"], row["output"]) == ("Where is it?", "On its way.")
    ((call, gave),) = read_trace(row["trace"]).trace.get_function_call_pairs()
    assert gave is not None
    assert (call["name"], gave["output"], gave["status"]) == ("look_up", "no order", "incomplete")


def test_nested_attributes_are_read_as_flat_ones(server: ModelServer, tmp_path: Path) -> None:
    nested = {
        "llm": {
            "input_messages": [{"message": {"role": "user", "content": "2 + 2?"}}],
            "output_messages": [{"message": {"role": "assistant", "content": "4"}}],
            "model_name": "m",
        }
    }
    server.behave(phoenix(spans=[span("t1", "a", attributes=nested)]))

    (row,) = source(server, tmp_path).rows()

    assert (row["input"], row["output"], row["model"]) == ("2 + 2?", "4", "m")


def test_a_trace_that_failed_has_no_answer(server: ModelServer, tmp_path: Path) -> None:
    failed: dict[str, Any] = {"status_code": "ERROR", "status_message": "RateLimitError: slow down"}
    server.behave(phoenix(spans=[span("t1", "a", attributes=dict(ASKED), **failed)]))

    (row,) = source(server, tmp_path).rows()

    assert row["trace"] is None
    assert row["error"] == "Phoenix recorded an error: RateLimitError: slow down"


def test_traces_are_selected(server: ModelServer, tmp_path: Path) -> None:
    other = agent("t2", **{"session.id": "s2", "tag.tags": ["test"], "metadata": {"shift": "day"}})
    later = {"start_time": "2026-03-03T09:00:00+00:00", "end_time": "2026-03-03T09:00:01+00:00"}
    server.behave(phoenix(spans=[*({**one, **later} for one in other), *agent("t1")]))

    assert ids(server, tmp_path) == ["t2", "t1"], "the newest first"
    assert ids(server, tmp_path, limit=1) == ["t2"]
    assert ids(server, tmp_path, trace_id="t1") == ["t1"], "the server does not know `trace_id`"
    assert ids(server, tmp_path, trace_id=["t1", "t2"]) == ["t2", "t1"]
    assert ids(server, tmp_path, session_id=["s2", "s3"]) == ["t2"]
    assert ids(server, tmp_path, tags=["en", "production"]) == ["t1"]
    assert ids(server, tmp_path, metadata={"shift": "night"}) == ["t1"]
    assert ids(server, tmp_path, from_time="2026-03-03") == ["t2"]
    asked = [one.path for one in server.log]
    assert asked[2].endswith("&trace_id=t1")
    assert asked[-1].endswith("&start_time=2026-03-03T00%3A00%3A00%2B00%3A00")


def test_rows_are_fetched_once_with_a_key_that_is_not_stored(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.behave(phoenix(spans=agent(), key=KEY))
    with pytest.raises(Unreadable, match="answered 401") as caught:
        list(source(server, tmp_path).rows())
    assert "PHOENIX_API_KEY" in caught.value.hint

    monkeypatch.setenv("PHOENIX_API_KEY", KEY)
    monkeypatch.setenv("PHOENIX_COLLECTOR_ENDPOINT", f"{server.origin}/v1/traces")
    assert ids(server, tmp_path, base_url=None) == ["t1"]
    before = len(server.log)
    assert ids(server, tmp_path) == ["t1"]
    assert len(server.log) == before
    (stored,) = (tmp_path / "downloads").iterdir()
    assert KEY not in stored.read_text()
    assert json.loads(stored.read_text())["sample_id"] == "t1"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param({"data": []}, "phoenix: shop: no rows", id="an empty project"),
        pytest.param({"data": 7}, "expected a list as `data`", id="no list"),
        pytest.param([], "expected a list as `data`", id="no object"),
        pytest.param({"data": [{"name": "a"}]}, "expected a span", id="no span"),
        pytest.param(
            {"data": agent(), "next_cursor": "same"}, "the pages do not end", id="a circle"
        ),
        pytest.param(
            {"data": [span("t1", "a", attributes={"llm.output_messages.0.message.role": "x"})]},
            "trace t1: messages.0.: expected a `role`",
            id="a role that is none",
        ),
    ],
)
def test_replies_of_another_shape_are_one_error(
    server: ModelServer, tmp_path: Path, reply: Any, said: str
) -> None:
    server.behave(serve.json(reply))

    with pytest.raises(BadDataset, match=said):
        list(source(server, tmp_path).rows())
    assert not list(tmp_path.rglob("*.jsonl"))


def test_a_project_that_is_too_large_says_how_to_select(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_SPANS", 3)

    with pytest.raises(BadDataset, match="more than 3 spans") as caught:
        list(source(server, tmp_path).rows())

    assert "from_time" in caught.value.hint


def test_a_project_that_is_not_there_is_what_the_server_says(
    server: ModelServer, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable, match=r"answered 404: .*not found"):
        list(source(server, tmp_path, project="a/b ü").rows())

    assert server.log[-1].path.startswith("/v1/projects/a%2Fb%20%C3%BC/spans?")


@pytest.mark.parametrize("fields", [{"project": ""}, {"limit": 0}, {"base_url": "localhost:6006"}])
def test_what_a_source_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Phoenix.model_validate({"type": "phoenix", "project": "p", **fields})
