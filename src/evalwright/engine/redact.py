"""Secrets leave replies, errors, outcomes and results here, before anything can keep them.

A server may echo the key it was sent, in an error or in an answer.

Does not:   clean other exceptions than `ModelError`: a client maps what it can foresee to that
            one, and whoever writes failures down cleans once more.
"""

from typing import Any

from msgspec import structs

from evalwright.engine.models.wrapper import ModelWrapper
from evalwright.engine.results import FinalResult
from evalwright.errors import ModelError
from evalwright.metrics.scores import Measure
from evalwright.ports import Model
from evalwright.secrets import Redactor
from evalwright.types import Completion, Failure, Outcome, Part, Request, Score, Trace

_NUMBERS = frozenset({int, float})


def redact_outcome(outcome: Outcome, redactor: Redactor) -> Outcome:
    """The same outcome without any secret in what was named, asked, said, judged or broken."""
    return structs.replace(
        outcome,
        sample_id=redactor.clean(outcome.sample_id),
        sample=redact_json(outcome.sample, redactor) if outcome.sample else {},
        trace=outcome.trace and _redact_trace(outcome.trace, redactor),
        scores={name: _redact_score(score, redactor) for name, score in outcome.scores.items()},
        failure=outcome.failure and _redact_failure(outcome.failure, redactor),
        parts=tuple(_redact_part(part, redactor) for part in outcome.parts),
        whole={name: _redact_score(score, redactor) for name, score in outcome.whole.items()},
    )


def redact_result(finished: FinalResult, redactor: Redactor) -> FinalResult:
    """The same result without any secret in its names, reasons and failures."""
    return structs.replace(
        finished,
        figures=[
            structs.replace(value, measure=_redact_measure(value.measure, redactor))
            for value in finished.figures
        ],
        broken=[
            structs.replace(broken, failure=_redact_failure(broken.failure, redactor))
            for broken in finished.broken
        ],
        agreements=[
            structs.replace(agreement, score=redactor.clean(agreement.score))
            for agreement in finished.agreements
        ],
        flaky=[
            structs.replace(
                sample,
                sample_id=redactor.clean(sample.sample_id),
                score=redactor.clean(sample.score),
                values=tuple((redactor.clean(value), runs) for value, runs in sample.values),
            )
            for sample in finished.flaky
        ],
    )


def _redact_measure(measure: Measure, redactor: Redactor) -> Measure:
    return structs.replace(
        measure, name=redactor.clean(measure.name), reason=redactor.clean(measure.reason)
    )


def _redact_part(part: Part, redactor: Redactor) -> Part:
    return Part(
        sample=redact_json(part.sample, redactor),
        trace=part.trace and _redact_trace(part.trace, redactor),
        scores={name: _redact_score(score, redactor) for name, score in part.scores.items()},
        actions=part.actions,
    )


def _redact_trace(trace: Trace, redactor: Redactor) -> Trace:
    return structs.replace(
        trace,
        input=redactor.clean(trace.input),
        output=redactor.clean(trace.output),
        post_processed=redactor.clean(trace.post_processed),
        conversation=redact_json(trace.conversation, redactor) if trace.conversation else {},
    )


def _redact_score(score: Score, redactor: Redactor) -> Score:
    return structs.replace(
        score,
        values=redact_json(score.values, redactor),
        reason=redactor.clean(score.reason),
        metadata=redact_json(score.metadata, redactor),
    )


def redact_json(value: Any, redactor: Redactor) -> Any:
    """JSON without any secret in its keys and values, to its bottom."""
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, dict):
        return {
            redact_json(key, redactor): redact_json(item, redactor) for key, item in value.items()
        }
    if isinstance(value, list | tuple) and not _NUMBERS.issuperset(map(type, value)):
        return [redact_json(item, redactor) for item in value]
    return value  # a number, or a vector of thousands


def _redact_failure(failure: Failure, redactor: Redactor) -> Failure:
    return structs.replace(
        failure, message=redactor.clean(failure.message), hint=redactor.clean(failure.hint)
    )


class RedactingModel(ModelWrapper):
    """Answers without the secrets."""

    def __init__(self, model: Model, redactor: Redactor) -> None:
        super().__init__(model)
        self._redactor, self._clean = redactor, redactor.clean

    async def complete(self, request: Request) -> Completion:
        """Answer, or fail, in clean words."""
        try:
            completion = await self._ask(request)
        except ModelError as error:
            error.args = (self._clean(str(error)),)
            error.hint = self._clean(error.hint)
            error.__cause__ = error.__context__ = None  # a traceback would print their words too
            raise
        text = self._clean(completion.text)
        if text is not completion.text:
            completion = structs.replace(completion, text=text)
        if completion.output is not None:
            completion = structs.replace(
                completion, output=redact_json(completion.output, self._redactor)
            )
        if completion.bodies is not None:
            sent, came = completion.bodies
            completion = structs.replace(completion, bodies=(self._clean(sent), self._clean(came)))
        return completion
