"""`inspect_ai`: samples from Inspect AI logs, with their conversations as traces.

    source:
      type: inspect_ai
      path: logs/2026-03-01T09-00-00_orders_4kQ.eval     # or .json, or a folder of logs
      limit: 100                                         # default: all rows

Instead of `path`, you can write `file_path` for a log or `directory_path` for a folder.

    sample_id        the sample id; `ID_epoch_2` if samples were run more than once; `PATH/ID`, with
                     the path of the log, if a folder is read
    epoch            the epoch, from 1
    input            the text of the last user message
    target           the target from the log: a string or a list of strings
    choices          the choices of a multiple-choice question; otherwise null
    metadata         the sample's metadata
    trace            the conversation, for `pass_through_solver`; null if the sample failed or
                     has no answer
    output           the text of the answer that Inspect scored; if it is not the last message, it
                     is added to the trace
    error            why the sample failed or has no answer; otherwise null
    limit            the limit that ended the sample (`token`, `time` …); otherwise null
    model            the evaluated model
    inspect_scores   the scores from Inspect: {"match": {"value": "C", "answer": …}}
    inspect_status   the status of the whole log: `success`, `error`, `cancelled`, `started`

Rows are in the order of the evaluated dataset. If a run is incomplete, its finished samples are
read. A `.eval` log is read one sample at a time. A `.json` log is read as a whole and must not
exceed 256 MiB. A damaged, truncated or invalid log raises `BadDataset` with the position.
"""

import fnmatch
import json
import re
import sys
import zlib
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

import msgspec
from msgspec import Struct
from pydantic import Field, model_validator

from evalwright.components import Location
from evalwright.datasets.folder import list_files, read_bytes
from evalwright.datasets.reading import FileRows, FirstRows, LazyRows, Reader
from evalwright.datasets.recorded import Item, convert_messages, last_text, make_trace
from evalwright.datasets.source import SourceSpec, Surroundings
from evalwright.errors import BadDataset, Unreadable
from evalwright.lines import show_path

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

T = TypeVar("T")
MOST_BYTES = 256 * 1024 * 1024
"""Maximum size in bytes of a JSON log, or of one sample in a `.eval` log."""
_CONVERT = "convert it to a log that is read sample by sample: `inspect log convert --to eval`"
_CUT = "is it a complete Inspect AI log? A log that is still being written is incomplete"
_DAMAGED = (zipfile.BadZipFile, zlib.error, ZstdError, EOFError, NotImplementedError, RuntimeError)
"""Exceptions for a zip file with wrong or missing bytes, unknown compression or a password."""
COLUMNS = (
    *("sample_id", "epoch", "input", "target", "choices", "metadata", "trace", "output"),
    *("error", "limit", "model", "inspect_scores", "inspect_status"),
)
_JSON_LOG = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d.*_.+_.+\.json")
"""File names of Inspect logs. A folder may also contain other JSON files."""
_ATTACHMENT = re.compile(r"attachment://([0-9A-Za-z]+)")
_SCORE_KEYS = ("value", "answer", "explanation", "metadata")


class _LogDataset(Struct, frozen=True):
    sample_ids: list[int | str] | None = None


class _LogSpec(Struct, frozen=True):
    model: str = ""
    dataset: _LogDataset = _LogDataset()


class _LogHeader(Struct, frozen=True):
    eval: _LogSpec
    status: str = "started"
    """`success`, `error` or `cancelled`; `started` if the run did not finish."""


class _LogSample(Struct, frozen=True):
    """The fields that are read from a sample. Their content is checked where it is used."""

    id: int | str
    epoch: int = 1
    input: str | list[Any] = ""
    target: Any = None
    choices: Any = None
    metadata: dict[str, Any] | None = None
    messages: list[Any] | None = None
    output: dict[str, Any] | None = None
    scores: dict[str, Any] | None = None
    score: dict[str, Any] | None = None
    """Old name of `scores`."""
    error: Any = None
    limit: Any = None
    attachments: dict[str, str] | None = None
    """Long texts and images, by the names that messages use for them."""
    model_usage: dict[str, Any] | None = None
    uuid: str | None = None
    started_at: str | None = None
    total_time: float | None = None


class _JsonLog(_LogHeader, frozen=True):
    samples: list[_LogSample] | None = None


class LoggedSample(NamedTuple):
    """A sample and the header of its log."""

    header: _LogHeader
    epochs: int
    """Maximum number of runs per sample."""
    sample: _LogSample


class _LogFolder:
    header: tuple[str, ...] | None = COLUMNS

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @cached_property
    def digest(self) -> str:
        digest = blake2b(digest_size=16)
        for name, log in self._logs.items():
            digest.update(f"{name}\0{log.digest}\n".encode(errors="replace"))
        return f"inspect_ai:{digest.hexdigest()}"

    def rows(self) -> Iterator[dict[str, Any]]:
        for log in self._logs.values():
            yield from log.rows()

    @cached_property
    def _logs(self) -> dict[str, FileRows]:
        if not self._directory.is_dir():
            raise Unreadable(f"{show_path(self._directory)}: no such directory")
        names = [name for name in list_files(self._directory) if _is_log(name)]
        if not names:
            raise BadDataset(
                f"{show_path(self._directory)}: contains no Inspect AI logs",
                hint="logs are `.eval` files, or `.json` files whose names start with a timestamp",
            )
        return {
            name: _open_log(self._directory / name, f"{name.rpartition('.')[0]}/") for name in names
        }


def _open_log(path: Path, prefix: str = "") -> FileRows:
    def make(path: Path) -> LazyRows:
        return LazyRows(partial(_read_rows, path, prefix), header=COLUMNS)

    return FileRows(lambda: path, path.suffix.lower(), make=make)


def _read_rows(path: Path, prefix: str) -> Iterator[dict[str, Any]]:
    for logged in read_samples(path):
        sample = logged.sample
        id_ = f"{sample.id}_epoch_{sample.epoch}" if logged.epochs > 1 else f"{sample.id}"
        try:
            yield {"sample_id": prefix + id_, **_make_row(logged, path.name)}
        except ValueError as error:
            raise BadDataset(f"{show_path(path)}: sample {id_}: {error}") from error


def _is_log(name: str) -> bool:
    file = name.rpartition("/")[2]
    return file.lower().endswith(".eval") or _JSON_LOG.fullmatch(file) is not None


def _make_row(logged: LoggedSample, file: str) -> dict[str, Any]:
    sample, header = logged.sample, logged.header
    question = _attach(sample.input, sample)
    if isinstance(question, str):
        question = [{"role": "user", "content": question}]
    asked = convert_messages(question)
    items = convert_messages(_attach(sample.messages, sample)) if sample.messages else asked
    answer = _find_answer(sample)
    answer_items = convert_messages([{"role": "assistant", "content": answer}])
    if not sample.messages and answer:
        items = [*asked, *answer_items]
    limit = sample.limit.get("type") if isinstance(sample.limit, dict) else sample.limit
    error = _find_error(sample, items, answer, limit)
    # A solver may have set an answer that differs from the last message.
    is_set = bool((sample.output or {}).get("choices"))
    differs = is_set and answer != last_text(items, "assistant")
    if differs:  # scorers read the last message
        items = [*items, *answer_items]
    trace = make_trace(
        items,
        output=answer if differs else None,
        trace_id=sample.uuid,
        source_type="inspect_ai",
        source_uri=file,
        model=header.eval.model or None,
        created_at=sample.started_at,
        total_time=sample.total_time,
        total_tokens=_count_tokens(sample),
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
        "limit": limit,
        "model": header.eval.model,
        "inspect_scores": _select_scores(sample),
        "inspect_status": header.status,
    }


def _find_answer(sample: _LogSample) -> str:
    output = sample.output or {}
    completion = _attach(output.get("completion"), sample)
    if isinstance(completion, str) and completion:
        return completion
    choices = output.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        return ""
    message = _attach(choices[0].get("message"), sample)
    return (
        last_text(convert_messages([message]), "assistant") if isinstance(message, Mapping) else ""
    )


def _find_error(sample: _LogSample, items: list[Item], answer: str, limit: Any) -> str | None:
    if sample.error is not None:
        error = sample.error
        message = error.get("message") if isinstance(error, Mapping) else error
        return f"Inspect recorded an error: {message}"
    if answer or _has_reply(items):
        return None
    ended = f"; the sample reached a limit: {limit}" if limit else ""
    return f"Inspect recorded no answer{ended}"


def _has_reply(items: list[Item]) -> bool:
    """Whether a model message or a tool call follows the last user message."""
    for item in reversed(items):
        if item.get("role") == "user":
            return False
        if item.get("role") == "assistant" or item["type"] == "function_call":
            return True
    return False


def _count_tokens(sample: _LogSample) -> int | None:
    usages = (sample.model_usage or {}).values()
    counts = [usage.get("total_tokens") for usage in usages if isinstance(usage, Mapping)]
    return sum(count for count in counts if isinstance(count, int)) if counts else None


def _select_scores(sample: _LogSample) -> dict[str, Any]:
    scores = sample.scores or ({"score": sample.score} if sample.score else {})
    return {
        name: {key: score[key] for key in _SCORE_KEYS if score.get(key) is not None}
        for name, score in scores.items()
        if isinstance(score, Mapping)
    }


def _attach(value: Any, sample: _LogSample) -> Any:
    attachments = sample.attachments
    if not attachments:
        return value
    if isinstance(value, str):
        return _ATTACHMENT.sub(lambda match: attachments.get(match[1], match[0]), value)
    if isinstance(value, list):
        return [_attach(item, sample) for item in value]
    if isinstance(value, dict):
        return {key: _attach(item, sample) for key, item in value.items()}
    return value


class InspectAi(SourceSpec):
    """The samples in Inspect AI logs."""

    type: Literal["inspect_ai"]
    path: Location | None = None
    """Path of a log or a folder with logs, relative to the document."""
    file_path: Location | None = None
    """Path of a `.eval` or `.json` log, relative to the document."""
    directory_path: Location | None = None
    """Path of a folder with logs, relative to the document. It is searched recursively."""
    limit: int | None = Field(default=None, ge=1)
    """Maximum number of rows, starting with the first."""

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        names = ("path", "file_path", "directory_path")
        fields = [f"`{name}`" for name in names if getattr(self, name) is not None]
        if len(fields) != 1:
            got = " and ".join(fields) or "none"
            raise ValueError(f"expected `path`, `file_path` or `directory_path`, got {got}")
        if self.file_path and not self.file_path.written.lower().endswith((".eval", ".json")):
            written = self.file_path.written
            raise ValueError(f"expected a .eval or .json log as `file_path`, got `{written}`")
        return self

    def reader(self, surroundings: Surroundings) -> Reader:
        """Return a reader that opens the logs when the first row is read."""
        del surroundings
        is_folder = self.directory_path is not None or (self.path and self.path.path.is_dir())
        rows: Reader = _LogFolder(self._path) if is_folder else _open_log(self._path)
        return rows if self.limit is None else FirstRows(rows, self.limit)

    def label(self) -> str:
        """Return the path, for messages."""
        return str(self._path)

    @property
    def _path(self) -> Path:
        location = self.path or self.file_path or self.directory_path
        return location.path if location else Path()


def read_samples(path: Path) -> Iterator[LoggedSample]:
    """Yield the samples in dataset order, with the epochs of a sample together."""
    return _read_eval(path) if path.suffix.lower() == ".eval" else _read_json(path)


def _read_eval(path: Path) -> Iterator[LoggedSample]:
    with _open_archive(path) as archive:
        header = _read_header(path, archive)
        order = _order_ids(header)
        # If a sample was written twice, its name occurs twice; the last version is read.
        files = fnmatch.filter(archive.namelist(), "samples/*.json")
        names = {name: _place(name, order) for name in files}
        if not names:
            raise _no_samples_error(path)
        epochs = max(epoch for _, epoch, _ in names.values())
        for name in sorted(names, key=names.__getitem__):
            yield LoggedSample(header, epochs, _read_member(path, archive, name, _LogSample))


def _read_json(path: Path) -> Iterator[LoggedSample]:
    raw = read_bytes(path, most=MOST_BYTES, hint=_CONVERT)
    log = _decode(raw, _JsonLog, show_path(path))
    if not log.samples:
        raise _no_samples_error(path)
    order = _order_ids(log)
    epochs = max(sample.epoch for sample in log.samples)
    for sample in sorted(
        log.samples, key=lambda sample: (order.get(str(sample.id), len(order)), sample.epoch)
    ):
        yield LoggedSample(log, epochs, sample)


def _open_archive(path: Path) -> "zipfile.ZipFile":
    try:
        return zipfile.ZipFile(path)
    except _DAMAGED as error:
        raise BadDataset(
            f"{show_path(path)}: not an Inspect AI log: {_message(error)}", hint=_CUT
        ) from error
    except OSError as error:
        raise Unreadable(f"{show_path(path)}: {error.strerror or error}") from error


def _read_header(path: Path, archive: "zipfile.ZipFile") -> _LogHeader:
    """Return the header; for an unfinished run, the header written at its start."""
    names = set(archive.namelist())
    for name in ("header.json", "_journal/start.json"):
        if name in names:
            return _read_member(path, archive, name, _LogHeader)
    raise BadDataset(
        f"{show_path(path)}: a zip file without `header.json`", hint="expected an Inspect AI log"
    )


def _read_member(path: Path, archive: "zipfile.ZipFile", name: str, kind: type[T]) -> T:
    where = f"{show_path(path)}: {name}"
    if archive.getinfo(name).file_size > MOST_BYTES:
        raise BadDataset(f"{where}: more than {MOST_BYTES >> 20} MiB")
    try:
        raw = archive.read(name)
    except _DAMAGED as error:
        raise BadDataset(f"{where}: damaged: {_message(error)}") from error
    except OSError as error:
        raise Unreadable(f"{where}: {error.strerror or error}") from error
    return _decode(raw, kind, where)


def _order_ids(header: _LogHeader) -> dict[str, int]:
    ids = header.eval.dataset.sample_ids or ()
    return {str(sample_id): place for place, sample_id in enumerate(ids)}


def _place(name: str, order: dict[str, int]) -> tuple[int, int, str]:
    id_, _, epoch = name.removeprefix("samples/").removesuffix(".json").rpartition("_epoch_")
    number = int(epoch) if epoch.isdecimal() else 0
    return order.get(id_, len(order)), number, name


def _decode(raw: bytes, kind: type[T], where: str) -> T:
    """Decode JSON; NaN and infinities, which Inspect writes, become null."""
    try:
        try:
            return msgspec.json.decode(raw, type=kind)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError as error:
            if "truncated" in str(error):
                raise BadDataset(
                    f"{where}: truncated: its JSON is incomplete", hint=_CUT
                ) from error
            plain = json.loads(raw, parse_constant=lambda _: None)
            return msgspec.json.decode(json.dumps(plain).encode(), type=kind)
    except (ValueError, RecursionError) as error:
        raise BadDataset(
            f"{where}: {_message(error)}", hint="expected an Inspect AI log, version 2"
        ) from error


def _message(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


def _no_samples_error(path: Path) -> BadDataset:
    return BadDataset(
        f"{show_path(path)}: the log has no samples",
        hint="it was written with `--no-log-samples`, or the run has no samples yet",
    )
