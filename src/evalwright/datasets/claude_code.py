"""`claude_code`: sessions recorded by Claude Code on this machine, one per row.

    source:
      type: claude_code
      path: sessions               # a folder of logs, or one .jsonl file
      from_time: 2026-03-01
      limit: 50

The default `path` is `~/.claude/projects`, or `$CLAUDE_CONFIG_DIR/projects` if that variable is
set. Sessions are sorted from newest to oldest. Every row has these columns:

    sample_id    the session id, which is also the file name
    input        the user's last prompt
    output       the text of the answer, starting after the last prompt
    trace        the conversation with its tool calls, for `pass_through_solver`; null without an
                 answer
    error        why the answer is missing; otherwise null
    model        the last model that answered
    metadata     `project` (the folder of the log), `cwd`, `git_branch`, `version`, `summary` (the
                 session title), `sidechain_messages`, `compactions`
    tags         an empty list
    created_at   the time of the first message

The trace omits messages from subagents, branches that the user abandoned, and messages that Claude
Code added itself. It also omits compaction summaries, because it contains the messages that they
summarize. Subagent logs (`agent-*.jsonl`) are read only if `path` names one. Sessions without a
prompt are skipped. The maximum size of a log is 256 MiB.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from hashlib import blake2b
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct
from pydantic import BeforeValidator, Field

from evalwright.components import Location
from evalwright.datasets.faults import UnreadableLine, UnreadableLines
from evalwright.datasets.json_files import explain_line
from evalwright.datasets.reading import FileRows, FirstRows, LazyRows, Reader
from evalwright.datasets.recorded import COLUMNS, Item, convert_messages, make_row
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.datasets.times import Instant, is_between, to_seconds
from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import read_lines, show_path
from evalwright.objects import text_of

MOST_BYTES = 256 * 1024 * 1024
_SYNTHETIC = "<synthetic>"
"""Model name of messages that Claude Code itself wrote."""
_SUBAGENT = "agent-"
_HEAD_LINES = 200
"""Number of lines that are searched for the first timestamp of a log."""
_HINT = "Claude Code logs are `.jsonl` files in `~/.claude/projects/FOLDER`"
_BAD_LOG_HINT = "move the log away, or name others with `session_id` or `path`"


class _LogMessage(Struct, frozen=True):
    role: str = ""
    content: str | list[Any] | None = None
    id: str | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class _LogLine(Struct, frozen=True, rename="camel"):
    """The fields that are read from a line. Some line types have only a few of them."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    subtype: str | None = None
    timestamp: str | None = None
    message: _LogMessage | None = None
    summary: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None

    @property
    def is_message(self) -> bool:
        """Whether the line is a message from a person, a model or a tool."""
        return self.type in {"user", "assistant"} and self.message is not None

    @property
    def is_prompt(self) -> bool:
        """Whether the line is a message from a person."""
        return self.is_message and self.type == "user" and not self.tool_results

    @property
    def tool_results(self) -> list[Any]:
        """The tool results in the line."""
        content = self.message.content if self.message else None
        return [
            part
            for part in (content if isinstance(content, list) else ())
            if isinstance(part, Mapping) and part.get("type") == "tool_result"
        ]


class _LineHead(Struct, frozen=True, rename="camel"):
    """Fields that all line types have. Their content is checked where it is used."""

    type: Any = ""
    uuid: Any = None
    parent_uuid: Any = None


_DECODE = msgspec.json.Decoder(_LogLine).decode
_DECODE_HEAD = msgspec.json.Decoder(_LineHead).decode
_USED_TYPES = {"user", "assistant", "system", "summary"}


class _SessionFile(NamedTuple):
    name: str
    """Path relative to the folder."""
    path: Path
    began: str
    """First timestamp in the log; empty if there is none."""


class _SessionFolder:
    header: tuple[str, ...] | None = COLUMNS

    def __init__(self, source: "ClaudeCode") -> None:
        self._source = source

    @cached_property
    def digest(self) -> str:
        digest = blake2b(digest_size=16)
        for name, log in self._logs.items():
            digest.update(f"{name}\0{log.digest}\n".encode(errors="replace"))
        return f"claude_code:{digest.hexdigest()}"

    def rows(self) -> Iterator[dict[str, Any]]:
        for log in self._logs.values():
            yield from log.rows()

    @cached_property
    def _logs(self) -> dict[str, FileRows]:
        source = self._source
        files = [
            file
            for file in source.list_sessions()
            if is_between(file.began, source.from_time, source.to_time)
        ]
        files.sort(key=itemgetter(0))
        files.sort(key=lambda file: file.began, reverse=True)
        return {file.name: _open_log(file) for file in files}


def _expand_home(value: Any) -> Any:
    return os.path.expanduser(value) if str(value).startswith("~") else value  # noqa: PTH111 - the value is a string


class ClaudeCode(SourceSpec):
    """Recorded sessions of Claude Code."""

    type: Literal["claude_code"]
    path: Annotated[Location | None, BeforeValidator(_expand_home)] = None
    """Path of a log or a folder, relative to the document. A folder is searched recursively. `~` is
    the home folder."""
    session_id: str | None = None
    """Id of the only session to read."""
    from_time: Instant | None = None
    """Earliest start time of a session. Times without a time zone are UTC."""
    to_time: Instant | None = None
    """Time before which a session must have started."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of sessions, starting with the newest."""

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that searches for the logs when the first row is read."""
        del surroundings
        sessions = _SessionFolder(self)
        return sessions if self.limit is None else FirstRows(sessions, self.limit)

    def label(self) -> str:
        """Return the path, for messages."""
        return str(self.path.path) if self.path else "~/.claude/projects"

    def list_sessions(self) -> list[_SessionFile]:
        """Return the selected logs; `BadDataset` if there are none."""
        root = self.path.path if self.path else _find_projects()
        logs = [root] if root.is_file() else _list_logs(root)
        if self.session_id is not None:
            logs = [path for path in logs if path.stem == self.session_id]
            if not logs:
                raise BadDataset(f"{show_path(root)}: contains no session `{self.session_id}`")
        return [
            _SessionFile(
                path.name if path == root else path.relative_to(root).as_posix(),
                path,
                _find_start(path),
            )
            for path in logs
        ]


def _list_logs(root: Path) -> list[Path]:
    if not root.is_dir():
        raise Unreadable(f"{show_path(root)}: no such file or directory", hint=_HINT)
    try:
        paths = sorted(root.rglob("*.jsonl"))
    except OSError as error:
        raise Unreadable(f"{show_path(root)}: {error.strerror or error}") from error
    logs = [path for path in paths if path.is_file() and not path.name.startswith(_SUBAGENT)]
    if not logs:
        raise BadDataset(f"{show_path(root)}: contains no Claude Code sessions", hint=_HINT)
    return logs


def _find_projects() -> Path:
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else Path.home() / ".claude") / "projects"


def _find_start(path: Path) -> str:
    """Return the first timestamp in a log."""
    for line in islice(read_lines(str(path)), _HEAD_LINES):
        try:
            decoded = _decode_line(line)
        except ValueError:  # reported when the log is read
            continue
        if decoded.timestamp and decoded.is_message:
            return decoded.timestamp
    return ""


def _open_log(file: _SessionFile) -> FileRows:
    def make(path: Path) -> LazyRows:
        return LazyRows(partial(_read_session, path, file.name), header=COLUMNS)

    return FileRows(lambda: file.path, "claude_code", make=make)


def _read_session(path: Path, name: str) -> Iterator[dict[str, Any]]:
    if path.stat().st_size > MOST_BYTES:
        raise BadDataset(f"{show_path(path)}: more than {MOST_BYTES >> 20} MiB", hint=_BAD_LOG_HINT)
    lines = list(_read_log(path))
    main = (
        [line for line in lines if not line.is_sidechain]
        if _has_main_conversation(lines)
        else lines
    )
    current = _drop_rewound_branches(main)
    messages = [line for line in current if _is_in_conversation(line)]
    if not any(line.is_prompt for line in messages):
        return
    try:
        items = [item for reply in _join_replies(messages) for item in convert_messages(reply)]
        items = [item for item in items if not _is_empty_answer(item)]
    except ValueError as error:
        raise BadDataset(f"{show_path(path)}: {error}", hint=_BAD_LOG_HINT) from error
    times = [line.timestamp for line in messages if line.timestamp]
    models = [line.message.model for line in messages if line.message and line.message.model]
    metadata = {
        "project": path.parent.name,
        "cwd": _last(line.cwd for line in main),
        "git_branch": _last(line.git_branch for line in main),
        "version": _last(line.version for line in main),
        "summary": _last(line.summary for line in main if line.type == "summary"),
        "sidechain_messages": sum(line.is_message for line in lines)
        - sum(line.is_message for line in main),
        "compactions": sum(line.subtype == "compact_boundary" for line in main),
    }
    yield make_row(
        items,
        sample_id=path.stem,
        source_type="claude_code",
        source_uri=name,
        error=_find_error(current),
        metadata=metadata,
        agent="claude-code",
        model=models[-1] if models else None,
        created_at=times[0] if times else None,
        total_time=to_seconds(times[0], times[-1]) if times else None,
        total_tokens=_count_tokens(messages),
        message_count=len(messages),
    )


def _read_log(path: Path) -> Iterator[_LogLine]:
    faults = UnreadableLines(str(path))
    number = 0
    for number, line in enumerate(read_lines(str(path)), start=1):
        try:
            yield _decode_line(line)
        except msgspec.ValidationError as error:
            detail = f"expected a log line: {error}"
            faults.add(UnreadableLine(number, None, detail, _BAD_LOG_HINT))
        except (ValueError, RecursionError):  # includes blank lines
            fault = explain_line(number, line)
            faults.add(fault and fault._replace(hint=fault.hint or _BAD_LOG_HINT))
    if faults.count:
        raise faults.error(number)


def _decode_line(line: bytes) -> _LogLine:
    try:
        return _DECODE(line)
    except msgspec.ValidationError:
        head = _DECODE_HEAD(line)
        if not isinstance(head.type, str) or head.type in _USED_TYPES:
            raise
        own, parent = (
            id_ if isinstance(id_, str) else None for id_ in (head.uuid, head.parent_uuid)
        )
        return _LogLine(uuid=own, parent_uuid=parent)


def _has_main_conversation(lines: Iterable[_LogLine]) -> bool:
    return any(line.is_message and not line.is_sidechain for line in lines)


def _is_in_conversation(line: _LogLine) -> bool:
    """Whether a message is part of the conversation. Claude Code adds other messages."""
    if not line.is_message or line.is_meta or line.is_compact_summary:
        return False
    is_synthetic = line.message is not None and line.message.model == _SYNTHETIC
    return not is_synthetic and not line.is_api_error_message


def _drop_rewound_branches(lines: list[_LogLine]) -> list[_LogLine]:
    """Return the lines without the branches that the user abandoned.

    Each line refers to its parent. If several lines have the same parent, the branch with the last
    message of the session is kept. Results of parallel tool calls and parts of one reply are not
    branches.
    """
    by_id = {line.uuid: line for line in lines if line.uuid}
    parents = {
        id_: line.parent_uuid
        for id_, line in by_id.items()
        if line.parent_uuid in by_id and line.parent_uuid != id_
    }
    roots: dict[str, str] = {}
    for id_ in by_id:  # a line comes after its parent
        roots[id_] = roots.get(parents.get(id_) or "", id_)
    leaves = {roots[id_]: id_ for id_, line in by_id.items() if line.is_message}
    active = {id_ for leaf in leaves.values() for id_ in _walk_up(leaf, parents)}
    continued = {parents.get(id_) for id_ in active}
    dropped: set[str | None] = set()
    for id_, line in by_id.items():
        parent = parents.get(id_)
        is_beside = parent in continued and id_ not in active
        if parent in dropped or (parent and is_beside and _starts_branch(line, by_id[parent])):
            dropped.add(id_)
    return [line for line in lines if not line.uuid or line.uuid not in dropped]


def _walk_up(leaf: str, parents: Mapping[str, str | None]) -> Iterator[str]:
    seen: set[str] = set()
    id_: str | None = leaf
    while id_ and id_ not in seen:
        seen.add(id_)
        yield id_
        id_ = parents.get(id_)


def _starts_branch(line: _LogLine, parent: _LogLine) -> bool:
    if line.type == "assistant":
        reply = line.message.id if line.message else None
        return reply is None or not parent.message or parent.message.id != reply
    return line.is_prompt


def _is_empty_answer(item: Item) -> bool:
    return item.get("role") == "assistant" and not text_of(item.get("content"))


def _join_replies(lines: Iterable[_LogLine]) -> Iterator[list[dict[str, Any]]]:
    """Yield messages; consecutive lines with parts of one reply are joined."""
    for (kind, _), group in groupby(lines, key=_find_reply):
        if kind == "assistant":
            parts = [part for line in group for part in _list_parts(line)]
            yield [{"role": "assistant", "content": parts}]
        else:
            yield [message for line in group for message in _split_user(line)]


def _find_reply(line: _LogLine) -> tuple[str, str | None]:
    is_reply = line.type == "assistant" and line.message is not None and line.message.id
    return line.type, line.message.id if is_reply and line.message else line.uuid


def _split_user(line: _LogLine) -> Iterator[dict[str, Any]]:
    results = line.tool_results
    for result in results:
        yield {
            "role": "tool",
            "tool_call_id": result.get("tool_use_id"),
            "content": result.get("content"),
            "error": "the tool failed" if result.get("is_error") else None,
        }
    if rest := [part for part in _list_parts(line) if part not in results]:
        yield {"role": "user", "content": rest}


def _list_parts(line: _LogLine) -> list[Any]:
    content = line.message.content if line.message else None
    return content if isinstance(content, list) else [content] if content else []


def _find_error(lines: Iterable[_LogLine]) -> str | None:
    """Return Claude Code's error message if the last model call failed."""
    last = _last(line for line in lines if line.is_message and not line.is_meta)
    if last is None or not last.is_api_error_message or last.message is None:
        return None
    return f"the model call failed: {text_of(last.message.content)}"


def _count_tokens(lines: Iterable[_LogLine]) -> int | None:
    """Return the token count of all replies. The lines of one reply repeat the same usage."""
    usages = {
        line.message.id or line.uuid: line.message.usage
        for line in lines
        if line.message and line.message.usage
    }
    counts = [
        value
        for usage in usages.values()
        for name, value in usage.items()
        if name.endswith("_tokens") and isinstance(value, int)
    ]
    return sum(counts) if counts else None


def _last(values: Iterable[Any]) -> Any:
    last = None
    for value in values:
        last = last if value is None else value
    return last
