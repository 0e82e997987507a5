import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.servers import model_server as serve
from tests.servers.model_server import ModelServer, in_turn
from tests.servers.trace_servers import KEY, langsmith

from evalwright.datasets.langsmith import LangSmith
from evalwright.datasets.recorded import COLUMNS
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.objects import read_trace

MESSAGES = [
    {"type": "human", "content": "Where is order 17?"},
    {
        "type": "ai",
        "content": "",
        "tool_calls": [{"name": "look_up", "args": {"order": 17}, "id": "c1", "type": "tool_call"}],
    },
    {"type": "tool", "content": "sent on Monday", "tool_call_id": "c1"},
    {"type": "ai", "content": "It was sent on Monday."},
]


def run(number: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": f"run-{number}",
        "name": "assistant",
        "run_type": "chain",
        "inputs": {"messages": MESSAGES[:1]},
        "outputs": {"messages": MESSAGES},
        "error": None,
        "extra": {"metadata": {"ls_model_name": "gpt-4o", "shift": "night"}},
        "tags": ["production"],
        "start_time": f"2026-03-0{number}T09:00:00.000000",
        "end_time": f"2026-03-0{number}T09:00:02.500000",
        "total_tokens": 120,
        "parent_run_id": None,
        "feedback_stats": {"helpful": {"n": 2, "avg": 0.5}},
        "not_selected": "x",
        **more,
    }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(langsmith(runs=[run()])) as running:
        for name in ("LANGSMITH_ENDPOINT", "LANGCHAIN_ENDPOINT", "LANGCHAIN_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("LANGSMITH_API_KEY", KEY)
        yield running


def source(server: ModelServer, cache: Path, **fields: Any) -> Rows:
    given = {"type": "langsmith", "project": "shop", "api_url": server.origin, **fields}
    given = {name: value for name, value in given.items() if value is not None}
    return LangSmith.model_validate(given).rows(Surroundings(cache_dir=cache))


def test_a_trace_of_a_graph_is_a_row(server: ModelServer, tmp_path: Path) -> None:
    (row,) = source(server, tmp_path).rows()

    assert tuple(row) == (*COLUMNS, "inputs", "outputs", "feedback")
    assert (row["sample_id"], row["input"]) == ("run-1", "Where is order 17?")
    assert (row["output"], row["error"]) == ("It was sent on Monday.", None)
    assert (row["model"], row["tags"]) == ("gpt-4o", ["production"])
    assert row["metadata"]["shift"] == "night"
    assert row["feedback"] == {"helpful": {"n": 2, "avg": 0.5}}
    assert row["inputs"] == {"messages": MESSAGES[:1]}
    trace = read_trace(row["trace"]).trace
    ((call, gave),) = trace.get_function_call_pairs()
    assert gave is not None
    assert (call["name"], call["arguments"], gave["output"]) == (
        *("look_up", '{"order": 17}'),
        "sent on Monday",
    )
    about = trace.metadata
    assert (about.trace_id, about.source_type) == ("run-1", "langsmith")
    assert about.source_uri == "langsmith://shop/run-1"
    assert (about.agent, about.tags) == ("assistant", ["production"])
    assert (about.total_time, about.total_tokens, about.message_count) == (2.5, 120, 2)


def test_all_pages_are_read_and_no_more_than_the_limit(server: ModelServer, tmp_path: Path) -> None:
    server.behave(langsmith(runs=[run(number) for number in (3, 2, 1)], page=2))

    assert [row["sample_id"] for row in source(server, tmp_path).rows()] == [
        *("run-3", "run-2", "run-1")
    ]
    before = len(server.log)
    assert len(list(source(server, tmp_path, limit=2).rows())) == 2
    assert len(server.log) - before == 2, "the project, and one page"


def test_what_selects_runs_is_sent_and_checked(server: ModelServer, tmp_path: Path) -> None:
    other = run(2, tags=[])
    server.behave(langsmith(runs=[run(3), other, run(1)]))

    rows = source(
        server,
        tmp_path,
        from_time="2026-03-02",
        to_time="2026-03-04T00:00:00Z",
        tags=["production"],
        filter='eq(status, "success")',
    ).rows()

    assert [row["sample_id"] for row in rows] == ["run-3"]
    asked = server.log[-1].body
    assert asked["start_time"] == "2026-03-02T00:00:00+00:00"
    assert asked["filter"] == (
        'and(has(tags, "production"), lt(start_time, "2026-03-04T00:00:00+00:00"), '
        'eq(status, "success"))'
    )


def test_examples_of_a_dataset_are_rows_with_their_reference(
    server: ModelServer, tmp_path: Path
) -> None:
    examples = [
        {
            "id": f"e{number}",
            "inputs": {"question": f"{number} + 1?"},
            "outputs": {"answer": str(number + 1)},
            "metadata": {"level": number},
            "created_at": "2026-03-01T09:00:00Z",
        }
        for number in range(150)
    ]
    server.behave(langsmith(examples=examples))

    rows = list(source(server, tmp_path, project=None, dataset="shop").rows())

    assert len(rows) == 150
    assert (rows[149]["sample_id"], rows[149]["input"]) == ("e149", "149 + 1?")
    assert (rows[149]["output"], rows[149]["metadata"]) == ("150", {"level": 149})
    assert read_trace(rows[149]["trace"]).trace.get_last_assistant_text() == "150"


def test_a_run_that_failed_has_no_trace(server: ModelServer, tmp_path: Path) -> None:
    server.behave(langsmith(runs=[run(outputs=None, error="RateLimitError('slow down')")]))

    (row,) = source(server, tmp_path).rows()

    assert (row["trace"], row["output"]) == (None, "")
    assert row["error"] == "LangSmith recorded an error: RateLimitError('slow down')"


def test_rows_are_fetched_once_and_no_key_is_stored(server: ModelServer, tmp_path: Path) -> None:
    rows = source(server, tmp_path, api_key=KEY)
    assert server.log == [], "nothing is fetched before a row is asked for"
    first, digest, asked = list(rows.rows()), rows.digest, len(server.log)
    server.behave(langsmith(runs=[run(2), run(1)]))

    again = source(server, tmp_path, api_key="another-key-0123")

    assert (list(again.rows()), again.digest, len(server.log)) == (first, digest, asked)
    stored = list((tmp_path / "downloads").iterdir())
    assert len(stored) == 1
    assert KEY.encode() not in stored[0].read_bytes()
    written = {"type": "langsmith", "project": "shop", "api_key": KEY}
    assert KEY not in repr(LangSmith.model_validate(written))
    assert KEY not in LangSmith.model_validate(written).model_dump_json()


def test_the_address_comes_from_the_environment(
    server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGSMITH_ENDPOINT", f"{server.origin}/")
    assert source(server, tmp_path, api_url=None).check() == 1
    monkeypatch.setenv("LANGSMITH_ENDPOINT", f"{server.origin}/api/v1")
    assert source(server, tmp_path / "b", api_url=None).check() == 1

    assert {asked.path.partition("?")[0] for asked in server.log} == {
        *("/api/v1/sessions", "/api/v1/runs/query")
    }


def test_a_wrong_key_says_where_keys_come_from(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"answered 401: `{\"detail\": \"Invalid token") as caught:
        list(source(server, tmp_path, api_key="wrong-key-123").rows())

    assert "LANGSMITH_API_KEY" in caught.value.hint
    assert "wrong-key-123" not in f"{caught.value.message} {caught.value.hint}"
    assert not list(tmp_path.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param({"runs": 7}, "expected a list as `runs`", id="no list"),
        pytest.param({"runs": ["a"]}, r"expected an object at \[0\]", id="no object"),
        pytest.param({"runs": [{"name": "a"}]}, "expected an `id`", id="no id"),
        pytest.param({"runs": []}, "langsmith: shop: no rows", id="nothing"),
        pytest.param(
            {"runs": [run(outputs={"messages": [{"role": "assistant", "content": 7}]})]},
            r"run-1: messages\[1\]: expected text or parts",
            id="a message that is none",
        ),
        pytest.param(
            {"runs": [run()], "cursors": {"next": "same"}}, "the pages do not end", id="a circle"
        ),
    ],
)
def test_replies_of_another_shape_are_one_error(
    server: ModelServer, tmp_path: Path, reply: Any, said: str
) -> None:
    server.behave(in_turn(serve.json([{"id": "p", "name": "shop"}]), serve.json(reply)))

    with pytest.raises(BadDataset, match=said):
        list(source(server, tmp_path).rows())
    assert not list(tmp_path.rglob("*.jsonl")), "half of the rows are not stored"


def test_a_project_that_is_not_there_is_named(server: ModelServer, tmp_path: Path) -> None:
    with pytest.raises(BadDataset, match="no project `shoe`"):
        list(source(server, tmp_path, project="shoe").rows())
    with pytest.raises(BadDataset, match="no dataset `shoe`"):
        list(source(server, tmp_path, project=None, dataset="shoe").rows())


def test_examples_that_come_again_and_again_are_an_error(
    server: ModelServer, tmp_path: Path
) -> None:
    page = [{"id": f"e{number}", "inputs": {}, "outputs": {}} for number in range(100)]
    server.behave(in_turn(serve.json([{"id": "d", "name": "shop"}]), serve.json(page)))

    with pytest.raises(BadDataset, match="the server sent the example `e0` twice"):
        list(source(server, tmp_path, project=None, dataset="shop").rows())


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({}, "got neither", id="nothing"),
        pytest.param({"project": "a", "dataset": "b"}, "got both", id="both"),
        pytest.param({"dataset": "b", "tags": ["x"]}, "selects runs", id="tags of examples"),
        pytest.param({"project": "a", "api_url": "ftp://x"}, "http://", id="address"),
        pytest.param({"project": "a", "api_url": "http://me:pw@x"}, "without a user", id="user"),
        pytest.param({"project": "a", "limit": 0}, "greater than", id="limit"),
    ],
)
def test_what_a_source_cannot_be_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        LangSmith.model_validate({"type": "langsmith", **fields})


def test_the_same_source_with_other_fields_is_stored_apart(
    server: ModelServer, tmp_path: Path
) -> None:
    for fields in ({}, {"limit": 5}, {"filters": [{"op": "exists", "expression": "{{ input }}"}]}):
        assert source(server, tmp_path, **fields).check() == 1

    assert len(list(tmp_path.rglob("*.jsonl"))) == 2, "filters are applied to what is stored"
    assert json.loads(next(tmp_path.rglob("*.jsonl")).read_text())["sample_id"] == "run-1"
