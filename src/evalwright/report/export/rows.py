"""What is exported of an outcome: nested for JSON, flat for tables.

What is not known is null: a sample that failed before its answer has no input, no usage, no
latency. A score that is not a number is null too.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from evalwright.types import Failure, Outcome, Trace

Read = Callable[[], Iterator[Outcome]]
"""Begins to read the outcomes of a run; may be called again."""


class FailureCells(Struct, frozen=True, gc=False):
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


class Exported(Struct, frozen=True, kw_only=True):
    """One outcome. Its fields are the keys of a line of JSON."""

    task: str
    model: str
    sample_id: str
    trial: int
    """From 0."""
    status: Literal["completed", "failed"]
    input: str | None
    output: str | None
    post_processed: str | None
    scores: dict[str, dict[str, float | None]]
    """The values of each scorer."""
    metadata: dict[str, dict[str, Any]]
    """What a scorer has to say beside its values."""
    failure: FailureCells | None
    usage: UsageCells | None
    latency_s: float | None


def exported(outcome: Outcome) -> Exported:
    """The row of an outcome."""
    trace, failure, scores = outcome.trace, outcome.failure, outcome.scores
    return Exported(
        task=outcome.task,
        model=outcome.model,
        sample_id=outcome.sample_id,
        trial=outcome.trial,
        status="failed" if failure else "completed",
        input=trace.input if trace else None,
        output=trace.output if trace else None,
        post_processed=trace.post_processed if trace else None,
        scores={
            scorer: {name: _number(value) for name, value in score.values.items()}
            for scorer, score in scores.items()
        },
        metadata={scorer: score.metadata for scorer, score in scores.items() if score.metadata},
        failure=_failure(failure) if failure else None,
        usage=_usage(trace) if trace else None,
        latency_s=trace.latency_s if trace else None,
    )


class Column(NamedTuple):
    """A column of a table, and the type of what is in it."""

    name: str
    kind: type[str | int | float]


_BEFORE_SCORES = (
    Column("task", str),
    Column("model", str),
    Column("sample_id", str),
    Column("trial", int),
    Column("status", str),
    Column("input", str),
    Column("output", str),
    Column("post_processed", str),
)
_AFTER_SCORES = (
    Column("metadata", str),
    Column("failure.stage", str),
    Column("failure.type", str),
    Column("failure.message", str),
    Column("failure.hint", str),
    Column("usage.requests", int),
    Column("usage.prompt_tokens", int),
    Column("usage.completion_tokens", int),
    Column("usage.total_tokens", int),
    Column("usage.cost", float),
    Column("latency_s", float),
)

Name = tuple[str, str]
"""Of a score: its scorer, and which of its values."""


class Layout:
    """The columns of a table of outcomes.

    Which scores there are is known only when every outcome was seen, so a table is read twice.
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        names: dict[Name, None] = {}
        for outcome in outcomes:
            for scorer, score in outcome.scores.items():
                names.update(dict.fromkeys((scorer, name) for name in score.values))
        self._scores = tuple(names)
        self.columns = (
            *_BEFORE_SCORES,
            *(Column(f"{scorer}.{name}", float) for scorer, name in self._scores),
            *_AFTER_SCORES,
        )

    def cells(self, outcome: Outcome) -> tuple[str | int | float | None, ...]:
        """One for each column; None where nothing is known."""
        row = exported(outcome)
        failure, usage = row.failure, row.usage
        return (
            _text(row.task),
            _text(row.model),
            _text(row.sample_id),
            row.trial,
            row.status,
            _text(row.input),
            _text(row.output),
            _text(row.post_processed),
            *(row.scores.get(scorer, {}).get(name) for scorer, name in self._scores),
            to_json(row.metadata).decode() if row.metadata else None,
            *((failure.stage, _text(failure.type)) if failure else (None, None)),
            *((_text(failure.message), _text(failure.hint)) if failure else (None, None)),
            *(
                (usage.requests, usage.prompt_tokens, usage.completion_tokens)
                if usage
                else (None,) * 3
            ),
            *((usage.total_tokens, usage.cost) if usage else (None, None)),
            row.latency_s,
        )


_encode = msgspec.json.Encoder().encode


def to_json(thing: Any) -> bytes:
    """As JSON, in one line. What UTF-8 cannot hold (half a surrogate pair) is escaped."""
    try:
        return _encode(thing)
    except UnicodeEncodeError:
        import json

        return json.dumps(_without_nan(msgspec.to_builtins(thing))).encode()


def _without_nan(thing: Any) -> Any:
    if isinstance(thing, float):
        return _number(thing)
    if isinstance(thing, dict):
        return {name: _without_nan(value) for name, value in thing.items()}
    return [_without_nan(value) for value in thing] if isinstance(thing, list) else thing


def _usage(trace: Trace) -> UsageCells:
    usage = trace.usage
    return UsageCells(
        usage.requests,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.total_tokens,
        usage.cost,
    )


def _failure(failure: Failure) -> FailureCells:
    return FailureCells(failure.stage, failure.type, failure.message, failure.hint)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(text: str | None) -> str | None:
    """The same, with half a surrogate pair written out: a table is UTF-8, which has none."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()
