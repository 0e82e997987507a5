import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.datasets import claude_code
from evalwright.datasets.claude_code import ClaudeCode
from evalwright.datasets.recorded import COLUMNS
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.objects import read_trace


class Session:
    """A log in the making: each line follows the one before it."""

    def __init__(self, start: str = "2026-03-02T09:00:0") -> None:
        self.lines: list[Any] = []
        self.start = start
        self.parent: str | None = None

    def add(self, kind: str, content: Any, *, message: Any = (), **more: Any) -> str:
        number = len(self.lines)
        role = {"role": kind, "content": content, **dict(message)}
        self.lines.append(
            {
                "type": kind,
                "uuid": f"u{number}",
                "parentUuid": self.parent,
                "timestamp": f"{self.start}{number % 10}.000Z",
                "isSidechain": False,
                "cwd": "/srv/shop",
                "version": "2.1.0",
                "message": role,
                **more,
            }
        )
        self.parent = f"u{number}"
        return self.parent

    def ask(self, text: str, **more: Any) -> str:
        return self.add("user", text, **more)

    def say(self, *parts: Any, reply: str = "", tokens: int = 10, **more: Any) -> str:
        usage = {"input_tokens": tokens, "output_tokens": 1, "service_tier": "standard"}
        reply = reply or f"m{len(self.lines)}"
        message = {"id": reply, "model": "claude-sonnet-4-5", "usage": usage}
        texts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in parts]
        return self.add("assistant", texts, message=message, **more)

    def give(self, call: str, content: Any, **more: Any) -> str:
        result = {"type": "tool_result", "tool_use_id": call, "content": content}
        failed = {"is_error": True} if more.pop("failed", False) else {}
        return self.add("user", [{**result, **failed}], **more)

    def save(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(line, ensure_ascii=False) for line in self.lines)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path


def use(call: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def short(start: str = "2026-03-02T09:00:0", answer: str = "Done.") -> Session:
    session = Session(start)
    session.ask("Fix it.")
    session.say(answer)
    return session


def source(path: Path | None = None, **fields: Any) -> Rows:
    given = {"path": str(path)} if path else {}
    read = ClaudeCode.model_validate({"type": "claude_code", **given, **fields})
    return read.rows(Surroundings(cache_dir=Path("unused")))


def only(path: Path) -> dict[str, Any]:
    (row,) = source(path).rows()
    return row


def test_a_session_is_a_row_with_its_conversation(tmp_path: Path) -> None:
    session = Session()
    session.ask("Which tests fail?")
    session.say({"type": "thinking", "thinking": "I must run them."}, reply="m", tokens=100)
    session.say(use("t1", "Bash", command="pytest"), reply="m", tokens=100)
    session.give("t1", [{"type": "text", "text": "1 failed"}], failed=True)
    session.say("One test fails: مرحبا.")
    session.lines.append({"type": "summary", "summary": "Failing tests", "leafUuid": "u4"})

    row = only(session.save(tmp_path / "-srv-shop" / "s1.jsonl"))

    assert tuple(row) == COLUMNS
    assert (row["sample_id"], row["input"]) == ("s1", "Which tests fail?")
    assert (row["output"], row["error"]) == ("One test fails: مرحبا.", None)
    assert row["model"] == "claude-sonnet-4-5"
    assert row["metadata"]["project"] == "-srv-shop"
    assert row["metadata"]["summary"] == "Failing tests"
    trace = read_trace(row["trace"]).trace
    assert [item["type"] for item in trace.items] == [
        *("message", "reasoning", "function_call", "function_call_output", "message")
    ]
    ((call, gave),) = trace.get_function_call_pairs()
    assert gave is not None
    assert (call["arguments"], gave["output"], gave["status"]) == (
        *('{"command": "pytest"}', "1 failed"),
        "incomplete",
    )
    about = trace.metadata
    assert (about.trace_id, about.source_type, about.source_uri) == (
        "s1",
        "claude_code",
        "s1.jsonl",
    )
    assert (about.agent, str(about.created_at)) == ("claude-code", "2026-03-02T09:00:00.000Z")
    assert (about.total_time, about.message_count) == (4.0, 5)
    assert about.total_tokens == 101 + 11, "the parts of one reply repeat its usage"


def test_calls_made_at_once_keep_all_their_results(tmp_path: Path) -> None:
    session = Session()
    session.ask("Read both.")
    first = session.say(use("t1", "Read"), reply="m")
    second = session.say(use("t2", "Read"), reply="m")
    session.parent = first
    session.give("t1", "one")
    session.parent = second
    session.give("t2", "two")
    session.say("Both are read.")

    trace = read_trace(only(session.save(tmp_path / "a.jsonl"))["trace"]).trace

    assert [gave and gave["output"] for _, gave in trace.get_function_call_pairs()] == [
        *("one", "two")
    ]


def test_a_branch_that_the_user_went_back_from_is_left_out(tmp_path: Path) -> None:
    session = Session()
    start = session.ask("Fix it.")
    session.say(use("t1", "Edit"))
    session.give("t1", "no such text")
    session.say("I cannot.")
    session.ask("Try again.")
    session.parent = start
    session.say("It is fixed.")
    session.ask("Thanks.")
    session.say("Welcome.")

    items = only(session.save(tmp_path / "a.jsonl"))["trace"]["items"]

    texts = [item["content"][0]["text"] for item in items]
    assert texts == ["Fix it.", "It is fixed.", "Thanks.", "Welcome."]


def test_what_was_said_before_a_compaction_is_kept_and_its_summary_is_not(tmp_path: Path) -> None:
    session = short()
    session.lines.append(
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "c",
            "parentUuid": None,
            "content": "Conversation compacted",
        }
    )
    session.parent = "c"
    session.ask("A long summary.", isCompactSummary=True)
    session.ask("Caveat: local commands.", isMeta=True)
    session.ask("And now?")
    session.say("Nothing is left.")

    row = only(session.save(tmp_path / "a.jsonl"))

    texts = [item["content"][0]["text"] for item in row["trace"]["items"]]
    assert texts == ["Fix it.", "Done.", "And now?", "Nothing is left."]
    assert row["metadata"]["compactions"] == 1


def test_subagents_are_no_part_of_a_session(tmp_path: Path) -> None:
    session = Session()
    session.ask("Find it.")
    session.say(use("t1", "Task", prompt="Where?"))
    called = session.parent
    session.parent = None
    session.ask("Where?", isSidechain=True)
    session.say("There.", isSidechain=True)
    session.parent = called
    session.give("t1", "There.")
    session.say("It is there.")
    session.save(tmp_path / "a.jsonl")
    agent = Session()
    agent.ask("Where?", isSidechain=True)
    agent.say("There.", isSidechain=True)
    agent.save(tmp_path / "agent-1.jsonl")

    row = only(tmp_path)

    assert len(row["trace"]["items"]) == 4
    assert row["metadata"]["sidechain_messages"] == 2
    assert only(tmp_path / "agent-1.jsonl")["output"] == "There.", "its log is read if it is named"


@pytest.mark.parametrize(
    ("last", "error"),
    [
        pytest.param("prompt", "a request without an answer", id="a prompt"),
        pytest.param("call", "ends with a tool call", id="a call"),
        pytest.param("result", "ends with a tool result", id="a result"),
        pytest.param("failure", "the model call failed: API Error: 529", id="a failure"),
    ],
)
def test_a_session_without_an_answer_says_why(tmp_path: Path, last: str, error: str) -> None:
    session = short()
    session.ask("And then?")
    if last in {"call", "result"}:
        session.say(use("t1", "Read"))
    if last == "result":
        session.give("t1", "text")
    if last == "failure":
        parts = [{"type": "text", "text": "API Error: 529"}]
        message = {"model": "<synthetic>"}
        session.add("assistant", parts, message=message, isApiErrorMessage=True)

    row = only(session.save(tmp_path / "a.jsonl"))

    assert (row["trace"], row["output"]) == (None, "")
    assert row["error"].startswith(error)


def test_the_newest_session_is_first_and_times_and_limits_select(tmp_path: Path) -> None:
    for day in (1, 3, 2):
        short(f"2026-03-0{day}T09:00:0").save(tmp_path / "p" / f"s{day}.jsonl")

    def ids(**fields: Any) -> list[str]:
        return [row["sample_id"] for row in source(tmp_path, **fields).rows()]

    assert ids() == ["s3", "s2", "s1"]
    assert ids(limit=2) == ["s3", "s2"]
    assert ids(session_id="s1") == ["s1"]
    assert ids(from_time="2026-03-02") == ["s3", "s2"]
    assert ids(to_time="2026-03-02T09:00:00Z") == ["s1"]
    assert ids(from_time="2026-03-02T10:00:00+01:00", to_time="2026-03-03") == ["s2"]
    digests = {source(tmp_path, **one).digest for one in ({}, {"limit": 2}, {"session_id": "s1"})}
    assert len(digests) == 3
    newest = source(tmp_path, limit=1).digest
    short("2026-02-01T09:00:0").save(tmp_path / "p" / "older.jsonl")
    assert source(tmp_path, limit=1).digest == newest, "the rows are the same"


def test_without_a_path_the_logs_of_this_user_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short(answer="at home").save(tmp_path / ".claude" / "projects" / "p" / "a.jsonl")
    short(answer="moved").save(tmp_path / "moved" / "projects" / "p" / "a.jsonl")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)

    assert [row["output"] for row in source().rows()] == ["at home"]
    assert [row["output"] for row in source(Path("~/moved")).rows()] == ["moved"]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    assert [row["output"] for row in source().rows()] == ["moved"]


def test_lines_of_other_kinds_and_sessions_without_a_prompt_are_passed_over(tmp_path: Path) -> None:
    session = short()
    session.lines[1:1] = [
        {"type": "progress", "message": "any text", "uuid": 7},
        {"type": "file-history-snapshot", "snapshot": {}},
        {},
    ]
    session.save(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl").write_text(
        '{"type": "summary", "summary": "Nothing", "leafUuid": "x"}\n'
    )
    (tmp_path / "c.jsonl").write_text("\n")

    assert only(tmp_path)["sample_id"] == "a"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("{", "a.jsonl:3:2: not JSON", id="cut"),
        pytest.param("[1]", "a.jsonl:3: ", id="no object"),
        pytest.param('{"type": "user", "message": 7}', "expected a log line", id="a number"),
        pytest.param('{"type": "user", "message": {"content": 7}}', "a.jsonl:3: ", id="content"),
    ],
)
def test_a_line_that_is_no_line_of_a_log_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = short().save(tmp_path / "a.jsonl")
    path.write_text(path.read_text() + line + "\n")

    with pytest.raises(BadDataset) as caught:
        list(source(path).rows())

    assert said in caught.value.message
    assert caught.value.hint


def test_a_log_that_is_too_large_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_code, "MOST_BYTES", 100)

    with pytest.raises(BadDataset, match="more than"):
        list(source(short().save(tmp_path / "a.jsonl")).rows())


def test_a_place_without_sessions_is_an_error_that_says_where(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="gone: no such file or directory"):
        list(source(tmp_path / "gone").rows())
    with pytest.raises(BadDataset, match="contains no Claude Code sessions"):
        list(source(tmp_path).rows())
    short().save(tmp_path / "a.jsonl")
    with pytest.raises(BadDataset, match="contains no session `b`"):
        list(source(tmp_path, session_id="b").rows())
    with pytest.raises(BadDataset, match="no rows"):
        list(source(tmp_path, from_time="2030-01-01").rows())


@pytest.mark.parametrize("fields", [{"limit": 0}, {"from_time": "soon"}, {"project": "x"}])
def test_what_a_source_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ClaudeCode.model_validate({"type": "claude_code", **fields})
