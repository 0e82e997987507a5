"""What is exported of an outcome: nested for JSON, flat for tables.

What is not known is null: a sample that failed before its answer has no input, no usage, no
latency. A score that is NaN or infinite is null too.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, structs

from evalwright.types import Failure, Outcome, Score, Trace

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


class ExportedPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the samples that a postprocessor made of one."""

    sample: dict[str, Any]
    scores: dict[str, dict[str, Any]]
    excluded_by: list[str] = []
    """The action rules that took it out of the metrics."""


class Exported(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One outcome. Its fields are the keys of a line of JSON; the last three are a project's."""

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
    failure: FailureCells | None
    usage: UsageCells | None
    latency_s: float | None
    sample: dict[str, Any] = {}
    """The row."""
    excluded_by: list[str] = []
    """The action rules that took the sample out of the metrics."""
    parts: list[ExportedPart] = []
    """What a postprocessor made of the sample."""


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
        scores=_scores(scores),
        metadata={scorer: score.metadata for scorer, score in scores.items() if score.metadata},
        failure=_failure(failure) if failure else None,
        usage=_usage(trace) if trace else None,
        latency_s=trace.latency_s if trace else None,
        sample=outcome.sample,
        excluded_by=[one.rule_key for one in outcome.actions],
        parts=[
            ExportedPart(
                sample=part.sample,
                scores=_scores(part.scores),
                excluded_by=[one.rule_key for one in part.actions],
            )
            for part in outcome.parts
        ],
    )


def _scores(scores: dict[str, Score]) -> dict[str, dict[str, Any]]:
    return {
        scorer: {name: _known(value) for name, value in score.values.items()}
        for scorer, score in scores.items()
    }


class Column(NamedTuple):
    """A column of a table, and the type of what is in it."""

    name: str
    kind: type[str | int | float]


_WHICH = (
    Column("task", str),
    Column("model", str),
    Column("sample_id", str),
    Column("trial", int),
)
_BEFORE_SCORES = (
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

Cells = tuple[str | int | float | None, ...]
"""A row of a table."""
Name = tuple[str, str]
"""Of a score: its scorer, and which of its values."""


class Layout:
    """The columns of a table of outcomes.

    Which scores there are is known only when every outcome was seen, so a table is read twice.
    """

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        kinds: dict[Name, type[str | float]] = {}
        rules = samples = parts = False
        for outcome in outcomes:
            parts = parts or bool(outcome.parts)
            for _, one in _split(outcome):
                samples = samples or bool(one.sample)
                rules = rules or bool(one.actions)
                for scorer, score in one.scores.items():
                    for name, value in score.values.items():
                        text = not isinstance(value, int | float | None)
                        kinds[scorer, name] = str if text else kinds.get((scorer, name), float)
        self._scores = tuple(kinds.items())
        self._parts = parts
        self._of_a_project = (
            *((Column("sample", str),) if samples else ()),
            *((Column("excluded_by", str),) if rules else ()),
        )
        self.columns = (
            *_WHICH,
            *((Column("part", int),) if parts else ()),
            *_BEFORE_SCORES,
            *(Column(f"{scorer}.{name}", kind) for (scorer, name), kind in self._scores),
            *_AFTER_SCORES,
            *self._of_a_project,
        )

    def rows(self, outcome: Outcome) -> Iterator[Cells]:
        """Of an outcome: one, or one for each of its parts."""
        for part, one in _split(outcome):
            yield self._cells(one, part)

    def _cells(self, outcome: Outcome, part: int | None) -> Cells:
        """One for each column; None where nothing is known.

        What the answer took stands with the first part, so that it is not counted again.
        """
        row = exported(outcome)
        failure, usage = row.failure, None if part else row.usage
        return (
            _text(row.task),
            _text(row.model),
            _text(row.sample_id),
            row.trial,
            *((part,) if self._parts else ()),
            row.status,
            _text(row.input),
            _text(row.output),
            _text(row.post_processed),
            *(
                _cell(row.scores.get(scorer, {}).get(name), kind)
                for (scorer, name), kind in self._scores
            ),
            to_json(row.metadata).decode() if row.metadata else None,
            *((failure.stage, _text(failure.type)) if failure else (None, None)),
            *((_text(failure.message), _text(failure.hint)) if failure else (None, None)),
            *(
                (usage.requests, usage.prompt_tokens, usage.completion_tokens)
                if usage
                else (None,) * 3
            ),
            *((usage.total_tokens, usage.cost) if usage else (None, None)),
            None if part else row.latency_s,
            *(to_json(getattr(row, column.name)).decode() for column in self._of_a_project),
        )


def _split(outcome: Outcome) -> Iterator[tuple[int | None, Outcome]]:
    """The outcome; where a postprocessor made parts of it, one for each, with its number."""
    if not outcome.parts:
        yield None, outcome
    for number, part in enumerate(outcome.parts):
        made = {"sample": part.sample, "scores": part.scores, "actions": part.actions}
        yield number, structs.replace(outcome, parts=(), **made)


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
        return _known(thing)
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


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any, kind: type[str | float]) -> str | float | None:
    """In a column of texts, whatever is no text is JSON."""
    if value is None or kind is float:
        return None if value is None else float(value)
    return _text(value) if isinstance(value, str) else to_json(value).decode()


def _text(text: str | None) -> str | None:
    """The same, with half a surrogate pair written out: a table is UTF-8, which has none."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()
