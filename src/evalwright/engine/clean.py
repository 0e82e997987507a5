"""Secrets out of an outcome, before it is kept anywhere."""

from typing import TYPE_CHECKING, Any

from msgspec import structs

from evalwright.secrets import Redactor
from evalwright.types import Failure, Outcome, Part, Score, Trace

if TYPE_CHECKING:
    from evalwright.engine.finish import Finished
    from evalwright.metrics.measure import Measure


def cleaned(outcome: Outcome, redactor: Redactor) -> Outcome:
    """The same outcome without any secret in what was named, asked, said, judged or broken."""
    return structs.replace(
        outcome,
        sample_id=redactor.clean(outcome.sample_id),
        sample=cleaned_value(outcome.sample, redactor) if outcome.sample else {},
        trace=outcome.trace and _trace(outcome.trace, redactor),
        scores={name: _score(score, redactor) for name, score in outcome.scores.items()},
        failure=outcome.failure and _failure(outcome.failure, redactor),
        parts=tuple(_part(part, redactor) for part in outcome.parts),
        whole={name: _score(score, redactor) for name, score in outcome.whole.items()},
    )


def cleaned_end(finished: "Finished", redactor: Redactor) -> "Finished":
    """The same without any secret in what is said of figures, or broke."""
    return structs.replace(
        finished,
        figures=[
            structs.replace(one, measure=_measure(one.measure, redactor))
            for one in finished.figures
        ],
        broken=[
            structs.replace(one, failure=_failure(one.failure, redactor)) for one in finished.broken
        ],
        agreements=[
            structs.replace(one, score=redactor.clean(one.score)) for one in finished.agreements
        ],
        flaky=[
            structs.replace(
                one,
                sample_id=redactor.clean(one.sample_id),
                score=redactor.clean(one.score),
                values=tuple((redactor.clean(value), runs) for value, runs in one.values),
            )
            for one in finished.flaky
        ],
    )


def _measure(measure: "Measure", redactor: Redactor) -> "Measure":
    return structs.replace(
        measure, name=redactor.clean(measure.name), reason=redactor.clean(measure.reason)
    )


def _part(part: Part, redactor: Redactor) -> Part:
    return Part(
        sample=cleaned_value(part.sample, redactor),
        trace=part.trace and _trace(part.trace, redactor),
        scores={name: _score(score, redactor) for name, score in part.scores.items()},
        actions=part.actions,
    )


def _trace(trace: Trace, redactor: Redactor) -> Trace:
    return structs.replace(
        trace,
        input=redactor.clean(trace.input),
        output=redactor.clean(trace.output),
        post_processed=redactor.clean(trace.post_processed),
        conversation=cleaned_value(trace.conversation, redactor) if trace.conversation else {},
    )


def _score(score: Score, redactor: Redactor) -> Score:
    return structs.replace(
        score,
        values=cleaned_value(score.values, redactor),
        reason=redactor.clean(score.reason),
        metadata=cleaned_value(score.metadata, redactor),
    )


def cleaned_value(value: Any, redactor: Redactor) -> Any:
    """JSON without any secret in it, however deep."""
    if isinstance(value, str):
        return redactor.clean(value)
    if isinstance(value, dict):
        return {
            cleaned_value(name, redactor): cleaned_value(one, redactor)
            for name, one in value.items()
        }
    return (
        [cleaned_value(one, redactor) for one in value]
        if isinstance(value, list | tuple)
        else value
    )


def _failure(failure: Failure, redactor: Redactor) -> Failure:
    return structs.replace(
        failure, message=redactor.clean(failure.message), hint=redactor.clean(failure.hint)
    )
