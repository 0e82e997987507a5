"""One outcome as a page of text: what was asked, what came back, how it was judged, and why.

What a model or an author wrote cannot move the cursor, change colours or turn the direction of
the text: such characters are shown by their escapes. JSON has them as they were.
"""

from collections.abc import Iterator
from textwrap import indent
from typing import Any

from msgspec import structs

from evalwright.report.export import OutcomeRow, outcome_row, to_json
from evalwright.report.tables import dollars, visible
from evalwright.types import SELF_REPORT, Action, Outcome, Score, Trace, Usage


class ExplainedSample(OutcomeRow, frozen=True, kw_only=True):
    """An exported row, with the reasons of its scores."""

    reasons: dict[str, str]


def explain_outcome(outcome: Outcome) -> ExplainedSample:
    """Return what `evalwright show RUN SAMPLE --json` prints of an outcome."""
    reasons = {name: score.reason for name, score in outcome.scores.items() if score.reason}
    return ExplainedSample(**structs.asdict(outcome_row(outcome)), reasons=reasons)


def sample_lines(outcome: Outcome) -> Iterator[str]:
    """A page, with an empty line at its end."""
    failure, trace = outcome.failure, outcome.trace
    which = f"{outcome.sample_id}  {outcome.model}  trial {outcome.trial + 1}"
    yield visible(f"{which}  {'failed' if failure else 'completed'}  ({outcome.task})")
    if outcome.sample:
        yield from _said(
            "sample", "\n".join(f"{k}: {_brief(v)}" for k, v in outcome.sample.items())
        )
    if trace:
        yield from _said("input", trace.input)
        yield from _said("output", trace.output)
        yield from _post_processed(trace)
    yield from _judged(outcome)
    if failure:
        tries = f", after {failure.attempts} attempts" if failure.attempts > 1 else ""
        yield visible(f"  failure: {failure.stage}: {failure.type}: {failure.message}{tries}")
        if failure.hint:
            yield visible(f"    hint: {failure.hint}")
    if trace:
        yield f"  usage: {_usage(trace)}"
    for model, usage in outcome.others.items():
        yield visible(f"  asked beside it: {model}: {_taken(usage)}")
    yield ""


def _post_processed(trace: Trace) -> Iterator[str]:
    if trace.conversation:  # the task of a document has no rule for it
        return
    if trace.post_processed == trace.output:
        yield "  post-processed: the same"
    else:
        yield from _said("post-processed", trace.post_processed)


def _judged(outcome: Outcome) -> Iterator[str]:
    for scorer, score in outcome.scores.items():
        yield from _scored(scorer, score)
    for number, part in enumerate(outcome.parts):
        yield from _said(f"part {number}", _brief(part.sample))
        for scorer, score in part.scores.items():
            yield from _scored(scorer, score)
        yield from _excluded(part.actions)
    yield from _excluded(outcome.actions)


def _excluded(actions: tuple[Action, ...]) -> Iterator[str]:
    for action in actions:
        yield visible(f"  excluded from metrics by rule `{action.rule_key}`")


def _said(name: str, text: str) -> Iterator[str]:
    if not text:
        yield f"  {name}: empty"
        return
    yield f"  {name}:"
    yield indent(visible(text), "    ", lambda _: True)


def _scored(scorer: str, score: Score) -> Iterator[str]:
    for name, value in score.values.items():
        reason = f"  ({score.reason})" if score.reason else ""
        yield visible(f"  {scorer}.{name}: {_brief(value)}{reason}")
    for name, fact in score.metadata.items():
        if name != SELF_REPORT:
            yield visible(f"    {name}: {_fact(fact)}")


def _fact(fact: Any) -> Any:
    """Numbers by names are told as such: `A 0.91, B 0.09`."""
    if isinstance(fact, dict) and fact and all(isinstance(one, float) for one in fact.values()):
        return ", ".join(f"{name} {_brief(one)}" for name, one in fact.items())
    return fact


def _brief(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    return to_json(value).decode()


def _taken(usage: Usage) -> str:
    cost = "cost unknown" if usage.cost is None else dollars(usage.cost)
    return f"{usage.prompt_tokens} + {usage.completion_tokens} tokens, {cost}"


def _usage(trace: Trace) -> str:
    parts = [_taken(trace.usage), f"{trace.latency_s:.3f} s"]
    if trace.finish != "stop":
        parts.append(f"finish: {trace.finish}")
    if trace.confidence is not None:
        parts.append(f"confidence {trace.confidence:.2f}")
    return ", ".join(parts)
