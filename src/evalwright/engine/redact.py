"""Remove secrets from replies, errors, outcomes, results and plans before anything is stored.

A server may echo the key it was sent, in an error or in an answer.

Does not:   clean exceptions other than `ModelError`: a client maps what it can foresee to that
            one, and failures are cleaned once more when they are stored.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from evalwright.engine.models.base import ModelWrapper
from evalwright.engine.results import (
    FinalResult,
    FlakySample,
    MetricValue,
    RunAgreement,
    TaskFailure,
)
from evalwright.errors import ModelError, UsageError
from evalwright.metrics.scores import Measure
from evalwright.plan.manifest import Command
from evalwright.plan.outline import PlanOutline, TaskOutline
from evalwright.ports import Model
from evalwright.secrets import Redactor, Secret, secrets_in
from evalwright.types import Completion, Failure, Issue, Outcome, Part, Request, Score, Trace

Value = TypeVar("Value")
_LARGE_BYTES = 2**16
"""Most of a larger value is a vector, which is skipped when the texts are looked at."""
_OUTCOMES_AT_ONCE = 16
_NUMBERS = frozenset({int, float})
_FIELDS: dict[type[Struct], tuple[str, ...]] = {
    Outcome: ("sample_id", "sample", "trace", "scores", "failure", "parts", "whole"),
    Part: ("sample", "trace", "scores"),
    Trace: ("input", "output", "post_processed", "conversation"),
    Score: ("values", "reason", "metadata"),
    Failure: ("message", "hint"),
    FinalResult: ("figures", "broken", "agreements", "flaky"),
    MetricValue: ("measure",),
    Measure: ("name", "reason"),
    TaskFailure: ("failure",),
    RunAgreement: ("score",),
    FlakySample: ("sample_id", "score", "values"),
    PlanOutline: ("tasks",),
    TaskOutline: ("values", "issues"),
    Issue: ("field", "task_id", "detail", "hint"),
    Command: ("models", "settings", "config", "env"),
}
"""The fields that may quote an author, a model or a server."""
_TRACE_FIELDS = attrgetter(*_FIELDS[Trace])
_OUTCOME_FIELDS = attrgetter(*(name for name in _FIELDS[Outcome] if name != "trace"))


def redact(value: Value, redactor: Redactor) -> Value:
    """Return the value without secrets in its texts, keys and items, at any depth."""
    if not redactor or not _may_hold_secret(value, redactor):
        return value
    redacted: Value = _redact(value, redactor)
    return redacted


def redact_outcomes(outcomes: Sequence[Outcome], redactor: Redactor) -> list[Outcome]:
    """Return the outcomes without secrets. Many at once cost less than each on its own."""
    if not redactor:
        return list(outcomes)
    redacted = list[Outcome]()
    for start in range(0, len(outcomes), _OUTCOMES_AT_ONCE):
        chunk = outcomes[start : start + _OUTCOMES_AT_ONCE]
        if _may_hold_secret(chunk, redactor):
            redacted += [redact(outcome, redactor) for outcome in chunk]
        else:
            redacted += chunk
    return redacted


def _may_hold_secret(value: Any, redactor: Redactor) -> bool:
    """Look at the whole value at once, which costs less than its texts one by one."""
    try:
        data = msgspec.json.encode(_select_fields(value), enc_hook=repr)
    except (TypeError, ValueError, RecursionError):
        return True  # JSON cannot say it
    return len(data) > _LARGE_BYTES or redactor.may_occur(data)


def _select_fields(value: Any) -> Any:
    if isinstance(value, Outcome):
        trace = None if value.trace is None else _TRACE_FIELDS(value.trace)
        return trace, _OUTCOME_FIELDS(value)
    if fields := _FIELDS.get(type(value)):
        return [_select_fields(getattr(value, name)) for name in fields]
    if isinstance(value, list | tuple) and value and isinstance(value[0], Outcome):
        return [_select_fields(outcome) for outcome in value]
    if isinstance(value, dict) and value and type(next(iter(value.values()))) in _FIELDS:
        return [*value, *map(_select_fields, value.values())]
    return value


def _redact(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, dict):
        return {
            _redact_key(key, item, redactor): _redact(item, redactor) for key, item in value.items()
        }
    if isinstance(value, list | tuple) and not _NUMBERS.issuperset(map(type, value)):
        items = [_redact(item, redactor) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if fields := _FIELDS.get(type(value)):
        changes = {name: _redact(getattr(value, name), redactor) for name in fields}
        return structs.replace(value, **changes)
    return value  # a number, or a vector of thousands


def _redact_key(key: Any, item: Any, redactor: Redactor) -> Any:
    """Keep scorer names: other tables refer to them."""
    return key if isinstance(item, Score) else _redact(key, redactor)


def make_redactor(more: Iterable[Secret] = ()) -> Redactor:
    """Return a redactor for the secrets of this process and of a project."""
    return Redactor([*secrets_in(os.environ), *(secret.reveal() for secret in more)])


def refuse_secrets(
    names: Iterable[str], parameters: Mapping[str, Any], more: Iterable[Secret] = ()
) -> None:
    """Refuse a path, a model or a parameter that holds a secret: it would be stored."""
    redactor = make_redactor(more)
    encoded = msgspec.json.encode(parameters, enc_hook=repr).decode()
    if any(redactor.clean(text) != text for text in (*names, encoded)):
        raise UsageError(
            "a path, a model or a parameter contains a secret from the environment, and would be "
            "stored with the run",
            hint="set a key in its environment variable: it is sent in a header",
        )


class RedactingModel(ModelWrapper):
    """Removes secrets from answers."""

    def __init__(self, model: Model, redactor: Redactor) -> None:
        super().__init__(model)
        self._redactor, self._clean = redactor, redactor.clean

    async def complete(self, request: Request) -> Completion:
        """Answer or fail, without secrets."""
        try:
            completion = await self._ask(request)
        except ModelError as error:
            error.args = (self._clean(error.message),)
            error.hint = self._clean(error.hint)
            error.__cause__ = error.__context__ = None  # a traceback would print their words too
            raise
        text = self._clean(completion.text)
        if text is not completion.text:
            completion = structs.replace(completion, text=text)
        if completion.output is not None:
            completion = structs.replace(
                completion, output=redact(completion.output, self._redactor)
            )
        if completion.bodies is not None:
            sent, came = completion.bodies
            completion = structs.replace(completion, bodies=(self._clean(sent), self._clean(came)))
        return completion
