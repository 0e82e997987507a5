"""Export the outcomes of a run: nested for JSON lines, flat for CSV and Parquet.

What is not known is null: a sample that failed before its answer has no input, no usage, no
latency. A score that is NaN or infinite is null too. Memory does not grow with the run.

    jsonl     one JSON object per line, an outcome each; UTF-8, and no newline inside a line
    json      a JSON list of the same objects
    csv       a header, then one row per outcome or part of one, as in RFC 4180; a newline stays
              inside quotes, what is not known is an empty cell, metadata is JSON
    parquet   the columns of `csv`, typed and compressed; needs the extra `parquet`

A cell of `csv` that a spreadsheet would take for a formula begins with a `'`: a text that starts
with `=`, `+`, `-`, `@`, a tab or a carriage return and is not a number.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from evalwright.errors import UsageError
from evalwright.types import Failure, Outcome, Score, TaskSpec, Usage

Read = Callable[[], Iterator[Outcome]]
"""Begins to read the outcomes of a run; may be called again."""

ROWS_PER_GROUP = 5_000
CHARACTERS_PER_GROUP = 4 << 20
_FORMULA = re.compile(r"(?![-+]?[0-9]+(?:\.[0-9]+)?\Z)[=+\-@\t\r]").match
_TO_QUOTE = re.compile('[",\r\n]').search


class FailureSummary(Struct, frozen=True, gc=False):
    """What broke, and where."""

    stage: str
    type: str
    message: str
    hint: str


class UsageCells(Struct, frozen=True, gc=False):
    """What one answer took. `cost` is null where no price is known."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost: float | None


class ExportedPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the samples that a postprocessor made of one."""

    sample: dict[str, Any]
    scores: dict[str, dict[str, Any]]
    excluded_by: list[str] = []
    """The action rules that took it out of the metrics."""


class OutcomeRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One outcome. Its fields are the keys of a line of JSON; the last two are a project's."""

    task: str
    model: str
    sample_id: str
    trial: int
    """From 0."""
    status: Literal["completed", "failed"]
    input: str | None
    output: str | None
    post_processed: str | None
    scores: dict[str, dict[str, Any]]
    """The values of each scorer."""
    metadata: dict[str, dict[str, Any]]
    """What a scorer has to say beside its values."""
    failure: FailureSummary | None
    usage: UsageCells | None
    latency_s: float | None
    reasons: dict[str, str]
    """Why a scorer gave no full marks, by scorer."""
    sample: dict[str, Any] = {}
    """The row, or the record."""
    excluded_by: list[str] = []
    """The action rules that took the sample out of the metrics."""
    parts: list[ExportedPart] = []
    """What a postprocessor made of the sample."""


def outcome_row(outcome: Outcome) -> OutcomeRow:
    """Return the row of an outcome."""
    trace, failure, scores = outcome.trace, outcome.failure, outcome.scores
    return OutcomeRow(
        task=outcome.task,
        model=outcome.model,
        sample_id=outcome.sample_id,
        trial=outcome.trial,
        status="failed" if failure else "completed",
        input=trace.input if trace else None,
        output=trace.output if trace else None,
        post_processed=trace.post_processed if trace else None,
        scores=_score_values(scores),
        metadata={
            scorer: dict(score.metadata) for scorer, score in scores.items() if score.metadata
        },
        failure=summarize_failure(failure),
        usage=_usage_cells(trace.usage) if trace else None,
        latency_s=trace.latency_s if trace else None,
        reasons={scorer: score.reason for scorer, score in scores.items() if score.reason},
        sample=outcome.sample,
        excluded_by=[action.rule_key for action in outcome.actions],
        parts=[
            ExportedPart(
                sample=part.sample,
                scores=_score_values(part.scores),
                excluded_by=[action.rule_key for action in part.actions],
            )
            for part in outcome.parts
        ],
    )


def summarize_failure(failure: Failure | None) -> FailureSummary | None:
    """Return what people and exports are shown of a failure, if there is one."""
    if failure is None:
        return None
    return FailureSummary(failure.stage, failure.type, failure.message, failure.hint)


def _usage_cells(usage: Usage) -> UsageCells:
    tokens = usage.prompt_tokens, usage.completion_tokens, usage.total_tokens
    return UsageCells(usage.requests, *tokens, usage.cost)


def _score_values(scores: dict[str, Score]) -> dict[str, dict[str, Any]]:
    return {
        scorer: {name: _finite_or_none(value) for name, value in score.values.items()}
        for scorer, score in scores.items()
    }


class ExportColumn(NamedTuple):
    """A column of a table, and the type of what is in it."""

    name: str
    kind: type[str | int | float]


def _columns(kind: type[str | int | float], *names: str) -> tuple[ExportColumn, ...]:
    return tuple(ExportColumn(name, kind) for name in names)


_OUTCOME_COLUMNS = (*_columns(str, "task", "model", "sample_id"), *_columns(int, "trial"))
_ANSWER_COLUMNS = _columns(str, "status", "input", "output", "post_processed")
_USAGE_COUNTS = ("requests", "prompt_tokens", "completion_tokens", "total_tokens")
_OTHER_COLUMNS = (
    *_columns(str, "metadata", *(f"failure.{name}" for name in FailureSummary.__struct_fields__)),
    *_columns(int, *(f"usage.{name}" for name in _USAGE_COUNTS)),
    *_columns(float, "usage.cost", "latency_s"),
)

_RECORD_COLUMNS = ("category", "prompt", "targets", "metadata")
_RECORD_KEYS = frozenset(TaskSpec.__struct_fields__)

Cells = tuple[str | int | float | None, ...]
"""A row of a table."""


class TableLayout:
    """The columns of a table of outcomes.

    Which scores there are is known only when every outcome was seen, so a table is read twice.
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        kinds: dict[tuple[str, str], type[str | float]] = {}
        reasons: dict[str, None] = {}
        has_rules = has_samples = has_parts = has_rows = False
        for outcome in outcomes:
            has_parts = has_parts or bool(outcome.parts)
            for _, part in _split(outcome):
                has_samples = has_samples or bool(part.sample)
                has_rows = has_rows or not _RECORD_KEYS.issuperset(part.sample)
                reasons.update((name, None) for name, score in part.scores.items() if score.reason)
                has_rules = has_rules or bool(part.actions)
                for scorer, score in part.scores.items():
                    for name, value in score.values.items():
                        is_text = not isinstance(value, int | float | None)
                        kinds[scorer, name] = str if is_text else kinds.get((scorer, name), float)
        self._scores = tuple(kinds.items())
        self._reasons = tuple(reasons)
        self._has_parts = has_parts
        self._record_keys = _RECORD_COLUMNS if has_samples and not has_rows else ()
        self._project_columns = (
            *(_columns(str, "sample") if has_rows else ()),
            *(_columns(str, "excluded_by") if has_rules else ()),
        )
        self.columns = (
            *_OUTCOME_COLUMNS,
            *(_columns(int, "part") if has_parts else ()),
            *_ANSWER_COLUMNS,
            *(ExportColumn(f"{scorer}.{name}", kind) for (scorer, name), kind in self._scores),
            *_OTHER_COLUMNS,
            *_columns(str, *(f"{scorer}.reason" for scorer in self._reasons)),
            *_columns(str, *(f"sample.{key}" for key in self._record_keys)),
            *self._project_columns,
        )

    def rows(self, outcome: Outcome) -> Iterator[Cells]:
        """Yield a row for the outcome, or for each of its parts."""
        for number, part in _split(outcome):
            yield self._cells(part, number)

    def _cells(self, outcome: Outcome, part: int | None) -> Cells:
        row = outcome_row(outcome)
        failure = row.failure
        usage = None if part else row.usage  # with the first part only, so that it counts once
        return (
            _text(row.task),
            _text(row.model),
            _text(row.sample_id),
            row.trial,
            *((part,) if self._has_parts else ()),
            row.status,
            _text(row.input),
            _text(row.output),
            _text(row.post_processed),
            *(
                _score_cell(row.scores.get(scorer, {}).get(name), kind)
                for (scorer, name), kind in self._scores
            ),
            to_json(row.metadata).decode() if row.metadata else None,
            *(map(_text, structs.astuple(failure)) if failure else (None,) * 4),
            *(structs.astuple(usage) if usage else (None,) * 5),
            None if part else row.latency_s,
            *(_text(row.reasons.get(scorer)) for scorer in self._reasons),
            *(_text_or_json(row.sample.get(key)) for key in self._record_keys),
            *(to_json(getattr(row, column.name)).decode() for column in self._project_columns),
        )


def _split(outcome: Outcome) -> Iterator[tuple[int | None, Outcome]]:
    """Yield the outcome; where a postprocessor made parts of it, each of them with its number."""
    if not outcome.parts:
        yield None, outcome
    for number, part in enumerate(outcome.parts):
        fields = {"sample": part.sample, "scores": part.scores, "actions": part.actions}
        yield number, structs.replace(outcome, parts=(), **fields)


_encode = msgspec.json.Encoder().encode


def to_json(value: Any) -> bytes:
    """Write JSON in one line. What UTF-8 cannot hold (half a surrogate pair) is escaped."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        import json

        return json.dumps(_without_nan(msgspec.to_builtins(value))).encode()


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return _finite_or_none(value)


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _score_cell(value: Any, kind: type[str | float]) -> str | float | None:
    if value is None or kind is float:
        return None if value is None else float(value)
    return _text_or_json(value)


def _text_or_json(value: Any) -> str | None:
    return _text(value) if isinstance(value, str | None) else to_json(value).decode()


def _text(text: str | None) -> str | None:
    """Write out half a surrogate pair: a table is UTF-8, which has none."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def write_jsonl(read: Read, out: BinaryIO) -> int:
    """Write every outcome; return how many there were."""
    count = 0
    for outcome in read():
        out.write(to_json(outcome_row(outcome)) + b"\n")
        count += 1
    return count


def write_json_list(read: Read, out: BinaryIO) -> int:
    """Write one JSON list of every outcome; return how many there were."""
    count = 0
    for outcome in read():
        out.write((b",\n" if count else b"[\n") + to_json(outcome_row(outcome)))
        count += 1
    out.write(b"\n]\n" if count else b"[]\n")
    return count


def write_csv(read: Read, out: BinaryIO, *, keep_formulas: bool = False) -> int:
    """Write every outcome; return how many there were."""
    write_row = partial(_csv_row, keep_formulas=keep_formulas)
    layout = TableLayout(read())
    count = 0
    out.write(write_row(column.name for column in layout.columns))
    for outcome in read():
        out.writelines(write_row(cells) for cells in layout.rows(outcome))
        count += 1
    return count


def _csv_row(cells: Iterable[str | float | None], *, keep_formulas: bool) -> bytes:
    # The writer of the standard library looks at one character after another: four times slower.
    if not keep_formulas:
        cells = map(_disarm, cells)
    return f"{','.join(map(_csv_cell, cells))}\r\n".encode()


def _disarm(value: str | float | None) -> str | float | None:
    return f"'{value}" if isinstance(value, str) and _FORMULA(value) else value


def _csv_cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    return '"{}"'.format(value.replace('"', '""')) if _TO_QUOTE(value) else value


def write_parquet(read: Read, out: BinaryIO) -> int:
    """Write every outcome, in row groups of bounded size; return how many there were."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            "parquet needs pyarrow, which is not installed: pip install 'evalwright[parquet]'"
        ) from error
    layout = TableLayout(read())
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64()}
    schema = pa.schema([(column.name, kinds[column.kind]) for column in layout.columns])
    count = 0
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for group, outcomes in _row_groups(layout, read):
            arrays = [
                pa.array(cells, type=field.type)
                for cells, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += outcomes
    return count


def _row_groups(layout: TableLayout, read: Read) -> Iterator[tuple[list[Cells], int]]:
    group: list[Cells] = []
    size = outcomes = 0
    for outcome in read():
        outcomes += 1
        for cells in layout.rows(outcome):
            group.append(cells)
            size += sum(len(cell) for cell in cells if isinstance(cell, str))
        if len(group) >= ROWS_PER_GROUP or size >= CHARACTERS_PER_GROUP:
            yield group, outcomes
            group, size, outcomes = [], 0, 0
    if group:
        yield group, outcomes


WRITERS = {
    "jsonl": write_jsonl,
    "json": write_json_list,
    "csv": write_csv,
    "parquet": write_parquet,
}
