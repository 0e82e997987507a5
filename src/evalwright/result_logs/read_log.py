"""Read a result log: check the whole file first, then read its outcomes.

A log of any size needs only the memory of its largest sample, and a few bytes per sample and score
if intervals must be computed. `BadLog` contains the file, line and path of the first few errors.

`status`, `errors` and `execution.execution_status` determine how a task ended. The metrics of a
stopped task are computed from its finished samples. They are shown, but a run that reads the log
also counts as stopped, so no gate passes.
"""

import hashlib
import json
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

import msgspec
from msgspec import Struct

from evalwright.engine.results import FinalResult, TaskFailure
from evalwright.engine.usage import add_usage, split_usage
from evalwright.errors import BadLog, Unreadable
from evalwright.plan.specifications import LOG_EXTENSION
from evalwright.result_logs.log_metrics import (
    LoggedMetric,
    ScoreColumns,
    add_intervals,
    describe_contradictions,
    metrics_from_json,
)
from evalwright.result_logs.log_outcomes import (
    MalformedLog,
    failures_from_json,
    outcomes_from_json,
    read_extension,
    require_list,
    usage_from_json,
)
from evalwright.types import Failure, Outcome, Usage, without_self_report

FORMAT_VERSION = "v1"
STOPPED = "stopped"
"""Error type in logs written by evalwright for stopped tasks."""
INSPECT_HINT = (
    "an Inspect AI log is a dataset: `source: {{type: inspect_ai, file_path: {}}}`, for a task "
    "with a `pass_through_solver`"
)
_MOST_SHOWN = 5
_NOT_A_LOG = "a result log has `format_version`, `evidence` and `specification`"
_SUCCEEDED = {"", "success", "succeeded", "finished", "completed"}
_FAILED = {"failure", "failed", "error", "finished_with_failures"}

Value = TypeVar("Value")


class ResultLog(Struct, frozen=True, kw_only=True):
    """The results of one task and model. The whole file has been checked."""

    path: str
    digest: str
    app_version: str
    specification: dict[str, Any]
    execution: dict[str, Any]
    metrics: list[LoggedMetric]
    broken: list[TaskFailure]
    finished: FinalResult
    """Result without the metrics: from the log if evalwright wrote it, otherwise from the
    samples."""
    columns: ScoreColumns
    samples: int
    landed: int
    """Number of outcomes: the trials of all samples."""
    trials: int
    """Maximum number of trials per sample, over all runs."""
    runs: int = 1
    notes: tuple[str, ...] = ()
    unattributed_usage: dict[str, Usage] = {}
    """Usage of models for which the log has only totals."""

    @property
    def has_unequal_trials(self) -> bool:
        """Whether some samples have more trials than others."""
        return self.landed != self.samples * self.trials

    @property
    def model(self) -> str:
        """The evaluated model; empty if there is none."""
        return text_field(self.specification, "model_key")

    def outcomes(self, task: str, model: str) -> Iterator[Outcome]:
        """Yield one outcome per trial, in the order of the samples."""
        with _open(self.path) as file:
            for ordinal, sample in _samples(JsonStream(file, self.path)):
                try:
                    yield from outcomes_from_json(sample, ordinal, task=task, model=model)
                except MalformedLog as error:  # it was valid when it was checked
                    raise BadLog(
                        f"{self.path}: the file changed while it was being read: {error}"
                    ) from error

    async def end(self, model: str, *, seed: int) -> FinalResult:
        """Return the metrics and counts of the task, with this model name."""
        end = self.finished
        scored = self.samples - end.left_out
        values = await add_intervals(self.metrics, self.columns, total=scored, seed=seed)
        unanswered, others = dict(end.unanswered), dict(end.others)
        for name, usage in self.unattributed_usage.items():
            if name == self.model:
                add_usage(unanswered, {model: usage})
            else:
                add_usage(others, {name: usage})
        contradictions = describe_contradictions(self.metrics, values, self.columns)
        return msgspec.structs.replace(
            end,
            figures=values,
            broken=self.broken,
            unanswered=unanswered,
            others=others,
            notes={**end.notes, **dict.fromkeys(contradictions, 1)},
        )


def text_field(mapping: Mapping[str, Any], name: str) -> str:
    """Return a string in a specification; empty if it is missing."""
    value = mapping.get(name)
    return value if isinstance(value, str) else ""


def stop_reason(log: Mapping[str, Any]) -> str:
    """Return why the task was stopped; empty if it finished."""
    for error in _list_or_empty(log.get("errors")):
        if isinstance(error, dict) and error.get("error_type") == STOPPED:
            return str(error.get("message") or "it was stopped")
    execution = log.get("execution")
    execution_status = execution.get("execution_status") if isinstance(execution, dict) else ""
    statuses = {"status": log.get("status"), "execution_status": execution_status}
    for name, status in statuses.items():
        if _normalize(status) not in _SUCCEEDED | _FAILED:
            return f"its log says `{name}: {_normalize(status)}`"
    return ""


def task_failures(log: Mapping[str, Any], evidence: Mapping[str, Any]) -> list[TaskFailure]:
    """Return the failures of the whole task; `MalformedLog` if the errors are not a list."""
    metric_errors = evidence.get("errors")
    failures = failures_from_json(metric_errors, "$.evidence.errors", default_stage="metric")
    errors = require_list(log.get("errors"), "$.errors")
    others = [error for error in errors if error not in _list_or_empty(metric_errors)]
    others_read = failures_from_json(others, "$.errors", default_stage="metric")
    failures += [failure for failure in others_read if failure.type != STOPPED]
    if not failures and _normalize(log.get("status")) in _FAILED and not stop_reason(log):
        message = "the log does not say why the task failed"
        failures.append(Failure(stage="metric", type="failure", message=message))
    return [TaskFailure(stage=failure.stage, what="", failure=failure) for failure in failures]


def _list_or_empty(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _normalize(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else ""


_CHUNK = 1 << 20
_LARGEST = 1 << 29
"""Maximum characters per value. An unclosed string is reported when it exceeds this size."""
_NEAR_THE_END = 16
"""Maximum number of characters that a token at the end of a chunk may still lack."""
_SPACE = " \t\r\n"

_decode = json.JSONDecoder().raw_decode


class JsonStream:
    """Reads a JSON file of any size once, value by value; errors have line and column.

        for name in stream.members():        an object: read each value before the next name
            if name == "samples":
                for number in stream.elements():
                    sample = stream.read_value()

    Memory holds one value and one chunk. Duplicate names in an object are not detected.
    """

    def __init__(self, file: TextIO, name: str, *, chunk: int = _CHUNK) -> None:
        self._file, self._name, self._chunk = file, name, chunk
        self._text, self._at = "", 0
        self._line = self._column = 1
        """Position of the first character in the buffer."""
        self._value_start = 0
        self._is_exhausted = False

    def peek(self) -> str:
        """Return the next character that is not whitespace; empty at the end."""
        while True:
            while self._at < len(self._text):
                character = self._text[self._at]
                if character not in _SPACE:
                    return character
                self._at += 1
            if not self._read_more():
                return ""

    def read_value(self) -> Any:
        """Read the next complete value."""
        self.peek()
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._may_be_cut(error) and self._read_more():
                    continue
                raise self.error(self._explain(error), at=error.pos) from error
            except RecursionError as error:
                raise self.error("nested too deeply") from error
            except ValueError as error:  # a number with thousands of digits
                raise self.error(f"invalid value: {error}") from error
            may_be_cut = isinstance(value, int | float) and end > len(self._text) - _NEAR_THE_END
            if may_be_cut and self._read_more():
                continue  # a number may have more digits
            self._value_start, self._at = self._at, end
            return value

    def members(self) -> Iterator[str]:
        """Yield the names of an object; the caller reads each value."""
        self._expect("{", "an object")
        is_first = True
        while self.peek() != "}":
            if not is_first:
                self._expect(",", "`,` or `}`")
                self.peek()
            is_first = False
            name = self.read_value()
            if not isinstance(name, str):
                raise self.error("expected a name in quotes")
            self._expect(":", "`:`")
            yield name
        self._at += 1

    def elements(self) -> Iterator[int]:
        """Yield the indexes of a list, from 0; the caller reads each value."""
        self._expect("[", "a list")
        number = 0
        while self.peek() != "]":
            if number:
                self._expect(",", "`,` or `]`")
            yield number
            number += 1
        self._at += 1

    def expect_end(self) -> None:
        """Raise if more text follows."""
        if self.peek():
            raise self.error("expected the end of the file")

    def locate_value(self) -> str:
        """Return the start of the last value: file, line and column."""
        return self._locate(self._value_start)

    def error(self, what: str, *, at: int | None = None) -> BadLog:
        """Return an error at the current position, or `at` a position in the buffer."""
        return BadLog(f"{self._locate(self._at if at is None else at)}: {what}")

    def _locate(self, at: int) -> str:
        line, column = self._position(at)
        return f"{self._name}:{line}:{column}"

    def _position(self, at: int) -> tuple[int, int]:
        before = self._text[:at]
        newlines = before.count("\n")
        column = at - before.rfind("\n") if newlines else self._column + at
        return self._line + newlines, column

    def _expect(self, character: str, called: str) -> None:
        actual = self.peek()
        if actual != character:
            got = f"got `{actual}`" if actual else "but the file is truncated"
            raise self.error(f"expected {called}, {got}")
        self._at += 1

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether reading more of the file may resolve the error."""
        is_near_the_end = error.pos >= len(self._text) - _NEAR_THE_END
        return is_near_the_end or error.msg.startswith("Unterminated string")

    def _explain(self, error: json.JSONDecodeError) -> str:
        if error.pos >= len(self._text) or error.msg.startswith("Unterminated string"):
            return "the file is truncated inside a value"
        return f"not JSON: {error.msg.lower()}"

    def _read_more(self) -> bool:
        """Double the buffer at least, so that a large value is decoded only a few times."""
        buffered = len(self._text) - self._at
        if buffered > _LARGEST:
            raise self.error(f"a value has more than {_LARGEST:,} characters")
        try:
            more = "" if self._is_exhausted else self._file.read(max(self._chunk, buffered))
        except UnicodeDecodeError as error:
            raise self.error("not UTF-8", at=len(self._text)) from error
        self._is_exhausted = not more
        if more:  # at the end of the file, positions in the buffer stay valid
            self._line, self._column = self._position(self._at)
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)


def read_log(path: str | Path) -> ResultLog:
    """Check a whole log; `BadLog` if it is invalid, `Unreadable` if it cannot be read."""
    with _open(path) as file:
        reader = _LogReader(JsonStream(file, str(path)), str(path))
        reader.read()
    return reader.log(_digest(path))


class _LogReader:
    def __init__(self, stream: JsonStream, path: str) -> None:
        self._stream, self._path = stream, path
        self._head: dict[str, Any] = {}
        """All fields except the evidence."""
        self._evidence: dict[str, Any] = {}
        """All fields of the evidence except the samples."""
        self._errors: list[str] = []
        self._finished = FinalResult()
        self._columns = ScoreColumns()
        self._samples, self._trials, self._landed = -1, 1, 0
        self._fewest_trials = 0
        self._answer_usage = Usage()

    def read(self) -> None:
        """Read and check everything."""
        stream = self._stream
        if stream.peek() != "{":
            raise stream.error(f"not a result log; {_NOT_A_LOG}")
        for name in stream.members():
            if name == "evidence":
                self._read_evidence()
                continue
            value = self._head[name] = stream.read_value()
            if name == "format_version" and value != FORMAT_VERSION:
                raise stream.error(f"expected `format_version` {FORMAT_VERSION!r}, got {value!r}")
        stream.expect_end()
        if "format_version" not in self._head or self._samples < 0:
            is_inspect = {"eval", "samples"} <= {*self._head}
            raise BadLog(
                f"{self._path}: not a result log; {_NOT_A_LOG}, with `evidence.samples`",
                hint=INSPECT_HINT.format(self._path) if is_inspect else "",
            )
        if self._errors:
            raise BadLog("; ".join(self._errors))

    def _read_evidence(self) -> None:
        for name in self._stream.members():
            if name != "samples":
                self._evidence[name] = self._stream.read_value()
            elif self._stream.peek() == "n":  # null: a task without samples
                self._stream.read_value()
                self._samples = 0
            else:
                self._read_samples()

    def _read_samples(self) -> None:
        self._samples = 0
        for ordinal in self._stream.elements():
            sample = self._stream.read_value()
            try:
                self._count(outcomes_from_json(sample, ordinal))
            except MalformedLog as error:
                self._errors.append(
                    f"{self._stream.locate_value()}: {error}"
                    f" - at `$.evidence.samples[{ordinal}]{error.path}`"
                )
            self._samples = ordinal + 1
            if len(self._errors) >= _MOST_SHOWN:
                raise BadLog("; ".join(self._errors), hint="there may be more")

    def _count(self, outcomes: list[Outcome]) -> None:
        self._trials = max(self._trials, len(outcomes))
        self._fewest_trials = min(self._fewest_trials or len(outcomes), len(outcomes))
        self._landed += len(outcomes)
        finished, first = self._finished, outcomes[0]
        finished.scored += 1
        finished.left_out += bool(first.actions)
        for action in first.actions:
            finished.excluded[action.rule_key] = finished.excluded.get(action.rule_key, 0) + 1
        for outcome in outcomes:
            if outcome.trace is not None:
                self._answer_usage = self._answer_usage + outcome.trace.usage
            unanswered, others = split_usage(outcome)
            add_usage(finished.unanswered, unanswered)
            add_usage(finished.others, others)
        if first.actions or self._has_intervals:
            return
        # With several trials, the scores that metrics are computed from are on the sample.
        scores = first.whole if len(outcomes) > 1 else first.scores
        for key, score in without_self_report(scores).items():
            self._columns.add(key, score.values)

    @property
    def _has_intervals(self) -> bool:
        """Whether metrics with intervals were read; then the samples' numbers are not needed."""
        metrics = self._evidence.get("metrics")
        return isinstance(metrics, list) and all(
            isinstance(metric, dict) and LOG_EXTENSION in metric for metric in metrics
        )

    def log(self, digest: str) -> ResultLog:
        """Return the log."""
        head, evidence = self._head, self._evidence
        listed = evidence.get("runs")
        runs = len(listed) if isinstance(listed, list) and listed else 1
        return ResultLog(
            path=self._path,
            digest=digest,
            app_version=str(head.get("app_version") or "an unknown version"),
            specification=_object_or_empty(head.get("specification")),
            execution=_object_or_empty(head.get("execution")),
            metrics=self._convert(
                "$.evidence.metrics", lambda: metrics_from_json(evidence.get("metrics"))
            ),
            broken=self._convert("", lambda: task_failures(head, evidence)),
            finished=self._read_final_result(),
            columns=self._columns,
            samples=self._samples,
            landed=self._landed,
            trials=self._trials,
            runs=runs if self._trials % runs == 0 else 1,
            notes=tuple(self._notes(runs)),
            unattributed_usage=self._find_unattributed_usage(),
        )

    def _notes(self, runs: int) -> Iterator[str]:
        if self._trials % runs:
            yield f"its log has {runs} runs, but not every run has all trials"
        if self._fewest_trials != self._trials and self._samples > 0:
            yield f"its samples have {self._fewest_trials} to {self._trials} trials"

    def _find_unattributed_usage(self) -> dict[str, Usage]:
        evaluated = text_field(_object_or_empty(self._head.get("specification")), "model_key")
        totals = self._evidence.get("model_token_usages")
        usages: dict[str, Usage] = {}
        if not isinstance(totals, list) or LOG_EXTENSION in self._evidence:
            return usages
        for row in totals:
            name = row.get("model_key") if isinstance(row, dict) else None
            is_evaluated = name == evaluated
            is_counted = (
                self._answer_usage.total_tokens if is_evaluated else name in self._finished.others
            )
            if isinstance(name, str) and name and not is_counted:
                usage = usage_from_json(row)
                if is_evaluated and self._answer_usage.requests:  # these are already counted
                    usage = msgspec.structs.replace(usage, requests=0)
                add_usage(usages, {name: usage})
        return usages

    def _read_final_result(self) -> FinalResult:
        finished, ours = self._finished, self._evidence.get(LOG_EXTENSION)
        if isinstance(ours, dict):
            fields = {**msgspec.to_builtins(finished), **ours}
            finished = self._convert("$", lambda: read_extension(fields, FinalResult, ".evidence"))
        stopped = finished.stopped or stop_reason(self._head)
        return msgspec.structs.replace(finished, stopped=stopped)

    def _convert(self, path: str, read: Callable[[], Value]) -> Value:
        try:
            return read()
        except MalformedLog as error:
            raise BadLog(f"{self._path}: {error} - at `{path}{error.path}`") from error


def _object_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _samples(stream: JsonStream) -> Iterator[tuple[int, Any]]:
    for name in stream.members():
        if name != "evidence":
            stream.read_value()
            continue
        for part in stream.members():
            if part != "samples" or stream.peek() == "n":
                stream.read_value()
                continue
            for ordinal in stream.elements():
                yield ordinal, stream.read_value()


def _open(path: str | Path) -> TextIO:
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode) and not Path(path).is_dir():
            raise Unreadable(
                f"{path}: not a file: a result log is read more than once",
                hint="write the output of the pipe to a file first",
            )
        return open(path, encoding="utf-8-sig")  # noqa: PTH123 - closed by the caller
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Unreadable(f"{path}: cannot be read: {why}") from error


def _digest(path: str | Path) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
