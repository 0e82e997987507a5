"""`inspect_ai`: the samples of Inspect AI logs, with their conversations as traces.

    source:
      type: inspect_ai
      file_path: logs/2026-03-01T09-00-00_orders_4kQ.eval     # or .json
      # directory_path: logs                                  # every log in it

    sample_id        the sample's id; `ID_epoch_2` where samples were run more than once, and with
                     the log's path before it (`PATH/ID`) where a directory is read
    epoch            from 1
    input            the text that was asked: of several messages, the last of the user's
    target           as the log has it: a text, or a list of them
    choices          of a question with choices; null else
    metadata         the sample's own
    trace            the conversation, for `pass_through_solver`; null where the sample broke, or
                     nothing was answered
    output           the answer's text, as Inspect's scorers saw it; where that is not what was said
                     last, the trace has it as a last message
    error            what broke the sample, or that there is no answer; null else
    limit            the limit that ended it (`token`, `time` …); null where none did
    model            what was evaluated
    inspect_scores   what Inspect's scorers said: {"match": {"value": "C", "answer": …}}
    inspect_status   of the whole log: `success`, `error`, `cancelled`, `started`

Rows come in the order of the evaluated dataset. How a log is read stands in `inspect_log`, what
becomes of its messages in `recorded`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from evalwright.components import Location
from evalwright.datasets.folder import list_files
from evalwright.datasets.inspect_log import Logged, LogSample, open_log
from evalwright.datasets.reading import FileRows, Reader
from evalwright.datasets.recorded import Item, items_of, last_text, trace_of
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import show_path

COLUMNS = (
    *("sample_id", "epoch", "input", "target", "choices", "metadata", "trace", "output"),
    *("error", "limit", "model", "inspect_scores", "inspect_status"),
)
_ENDINGS = (".eval", ".json")
_JSON_LOG = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d.*_.+_.+\.json")
"""As Inspect names its logs: a directory of them may hold other JSON files."""
_ATTACHED = re.compile(r"attachment://([0-9A-Za-z]+)")
_SCORED = ("value", "answer", "explanation", "metadata")


class InspectRows:
    """The rows of one log."""

    header: tuple[str, ...] | None = COLUMNS

    def __init__(self, path: Path, prefix: str = "") -> None:
        self._path, self._prefix = path, prefix

    def rows(self) -> Iterator[dict[str, Any]]:
        """One a sample and epoch."""
        for logged in open_log(self._path).samples():
            sample = logged.sample
            id_ = f"{sample.id}_epoch_{sample.epoch}" if logged.epochs > 1 else f"{sample.id}"
            try:
                yield {"sample_id": self._prefix + id_, **_row(logged, self._path.name)}
            except ValueError as error:
                raise BadDataset(f"{show_path(self._path)}: sample {id_}: {error}") from error


class InspectFolder:
    """The rows of every log in a directory."""

    header: tuple[str, ...] | None = COLUMNS

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def digest(self) -> str:
        """Of the names and the contents."""
        digest = blake2b(digest_size=16)
        for name, log in self._logs.items():
            digest.update(f"{name}\0{log.digest}\n".encode(errors="replace"))
        return f"inspect_ai:{digest.hexdigest()}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Log by log, in the order of their paths."""
        for log in self._logs.values():
            yield from log.rows()

    @cached_property
    def _logs(self) -> dict[str, FileRows]:
        if not self._directory.is_dir():
            raise Unreadable(f"{show_path(self._directory)}: no such directory")
        names = [one for one in list_files(self._directory) if _is_log(one)]
        if not names:
            raise BadDataset(
                f"{show_path(self._directory)}: no log of Inspect AI in it",
                hint="logs are `.eval` files, or `.json` files whose names begin with a time",
            )
        return {name: rows_of(self._directory / name, f"{_stem(name)}/") for name in names}


def rows_of(path: Path, prefix: str = "") -> FileRows:
    """The rows of a log, whose file must not change meanwhile."""
    return FileRows(
        lambda: path, path.suffix.lower(), make=lambda found: InspectRows(found, prefix)
    )


def _is_log(name: str) -> bool:
    file = name.rpartition("/")[2]
    return file.lower().endswith(".eval") or _JSON_LOG.fullmatch(file) is not None


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def _row(logged: Logged, file: str) -> dict[str, Any]:
    sample, header = logged.sample, logged.header
    asked = _asked(sample)
    items = items_of(_attached(sample.messages, sample)) if sample.messages else asked
    answer = _answer(sample)
    if not sample.messages and answer:
        items = [*asked, *items_of([{"role": "assistant", "content": answer}])]
    error = _error(sample)
    if error is None and not answer and not _spoken(items):
        limit = f", and says it ended by a limit: {ended}" if (ended := _limit(sample)) else ""
        error = f"Inspect recorded no answer{limit}"
    other = _is_other(answer, items, sample)
    if other:  # scorers look at what was said last
        items = [*items, *items_of([{"role": "assistant", "content": answer}])]
    trace = trace_of(
        items,
        output=answer if other else None,
        trace_id=sample.uuid,
        source_type="inspect_ai",
        source_uri=file,
        model=header.eval.model or None,
        created_at=sample.started_at,
        total_time=sample.total_time,
        total_tokens=_tokens(sample),
        message_count=len(sample.messages or ()) or None,
    )
    return {
        "epoch": sample.epoch,
        "input": last_text(asked, "user") or last_text(asked, "system"),
        "target": sample.target,
        "choices": sample.choices,
        "metadata": sample.metadata or {},
        "trace": trace if error is None else None,
        "output": answer,
        "error": error,
        "limit": _limit(sample),
        "model": header.eval.model,
        "inspect_scores": _scores(sample),
        "inspect_status": header.status,
    }


def _asked(sample: LogSample) -> list[Item]:
    given = _attached(sample.input, sample)
    return items_of([{"role": "user", "content": given}] if isinstance(given, str) else given)


def _answer(sample: LogSample) -> str:
    """The completion: a solver may have set another than what was said last."""
    output = sample.output or {}
    found = _attached(output.get("completion"), sample)
    if isinstance(found, str) and found:
        return found
    choices = output.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return ""
    message = _attached(choices[0].get("message"), sample)
    return last_text(items_of([message]), "assistant") if isinstance(message, Mapping) else ""


def _is_other(answer: str, items: list[Item], sample: LogSample) -> bool:
    """Whether what was scored is not what was said last; where nothing was set, it is."""
    return bool((sample.output or {}).get("choices")) and answer != last_text(items, "assistant")


def _error(sample: LogSample) -> str | None:
    if sample.error is None:
        return None
    told = sample.error.get("message") if isinstance(sample.error, Mapping) else sample.error
    return f"Inspect recorded an error: {told}"


def _spoken(items: list[Item]) -> bool:
    """Whether the evaluated model has said or called anything after what was asked last."""
    last = max((place for place, one in enumerate(items) if one.get("role") == "user"), default=-1)
    return any(
        one.get("role") == "assistant" or one["type"] == "function_call"
        for one in items[last + 1 :]
    )


def _limit(sample: LogSample) -> Any:
    return sample.limit.get("type") if isinstance(sample.limit, dict) else sample.limit


def _tokens(sample: LogSample) -> int | None:
    told = (sample.model_usage or {}).values()
    used = [one.get("total_tokens") for one in told if isinstance(one, Mapping)]
    return sum(one for one in used if isinstance(one, int)) if used else None


def _scores(sample: LogSample) -> dict[str, Any]:
    scores = sample.scores or ({"score": sample.score} if sample.score else {})
    return {
        name: {key: one[key] for key in _SCORED if one.get(key) is not None}
        for name, one in scores.items()
        if isinstance(one, Mapping)
    }


def _attached(value: Any, sample: LogSample) -> Any:
    """The same, with what was stored apart in its place."""
    kept = sample.attachments
    if not kept:
        return value
    if isinstance(value, str):
        return _ATTACHED.sub(lambda found: kept.get(found[1], found[0]), value)
    if isinstance(value, list):
        return [_attached(one, sample) for one in value]
    if isinstance(value, dict):
        return {key: _attached(one, sample) for key, one in value.items()}
    return value


class InspectAi(SourceSpec):
    """The samples of logs of Inspect AI."""

    type: Literal["inspect_ai"]
    file_path: Location | None = None
    """A log, `.eval` or `.json`, relative to the document."""
    directory_path: Location | None = None
    """A directory with logs, and the directories in it, relative to the document."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file_path is None) == (self.directory_path is None):
            got = "neither" if self.file_path is None else "both"
            raise ValueError(f"expected `file_path` or `directory_path`, got {got}")
        if self.file_path and not self.file_path.written.lower().endswith(_ENDINGS):
            written = self.file_path.written
            raise ValueError(f"expected a .eval or .json log as `file_path`, got `{written}`")
        return self

    def reader(self, surroundings: Surroundings) -> Reader:
        """The logs, which are looked at when the first row is asked for."""
        del surroundings
        if self.directory_path is not None:
            return InspectFolder(self.directory_path.path)
        return rows_of(self._path)

    def label(self) -> str:
        """Its path."""
        return str(self._path)

    @property
    def _path(self) -> Path:
        found = self.file_path or self.directory_path
        return found.path if found else Path()
