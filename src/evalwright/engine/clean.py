"""Secrets out of an outcome, before it is kept anywhere."""

from typing import Any

from msgspec import structs

from evalwright.secrets import Redactor
from evalwright.types import Failure, Outcome, Score, Trace


def cleaned(outcome: Outcome, redactor: Redactor) -> Outcome:
    """The same outcome without any secret in what was named, asked, said, judged or broken."""
    return structs.replace(
        outcome,
        sample_id=redactor.clean(outcome.sample_id),
        trace=outcome.trace and _trace(outcome.trace, redactor),
        scores={name: _score(score, redactor) for name, score in outcome.scores.items()},
        failure=outcome.failure and _failure(outcome.failure, redactor),
    )


def _trace(trace: Trace, redactor: Redactor) -> Trace:
    return structs.replace(
        trace,
        input=redactor.clean(trace.input),
        output=redactor.clean(trace.output),
        post_processed=redactor.clean(trace.post_processed),
    )


def _score(score: Score, redactor: Redactor) -> Score:
    return structs.replace(
        score, reason=redactor.clean(score.reason), metadata=_value(score.metadata, redactor)
    )


def _value(value: Any, redactor: Redactor) -> Any:
    """JSON, however deep."""
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, dict):
        return {_value(name, redactor): _value(one, redactor) for name, one in value.items()}
    return [_value(one, redactor) for one in value] if isinstance(value, list | tuple) else value


def _failure(failure: Failure, redactor: Redactor) -> Failure:
    return structs.replace(
        failure, message=redactor.clean(failure.message), hint=redactor.clean(failure.hint)
    )
