"""What stands in a log of a sample: its trials, their scores, what broke.

    {"sample_id", "sample": {"data"}, "solver", "scores", "action_records", "errors",
     "trials": [{"index", "sample_id", "sample", "solver": {"output"}, "scores", "errors"}]}

Solver outputs stand with the trials alone: once is enough. The scores of a sample are those that
its metrics are made of: of several trials, what its aggregators make of them; of several runs, the
average of that.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from evalwright.engine.finishing import Trials
from evalwright.engine.repeats import averaged
from evalwright.engine.trials import together
from evalwright.solvers.asking import answer_in, asked_in
from evalwright.types import Failure, Finish, Outcome, Part, Score, Trace, Usage

OURS = "evalwright"
"""The key of what the format has no place for."""
DIRECT = "direct_ios"


class ScorerFacts(Struct, frozen=True, kw_only=True):
    """What a log says of a scorer beside its key."""

    name: str = ""
    purpose: str = "score"


class TaskFacts(Struct, frozen=True, kw_only=True):
    """What must be known of a task to write its samples."""

    scorers: Mapping[str, ScorerFacts] = {}
    """By their keys."""
    trials: Trials = Trials()


class ScoreExtra(Struct, frozen=True, omit_defaults=True):
    """Of a score."""

    correct: bool | None = None
    reason: str = ""


class TrialExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a trial. What can be told from the solver's output is left out."""

    input: str | None = None
    output: str | None = None
    post_processed: str | None = None
    usage: Usage | None = None
    latency_s: float = 0.0
    finish: Finish = "stop"
    nll: float | None = None
    nll_tokens: int = 0
    confidence: float | None = None
    attempts: int = 1
    group: str = ""
    others: dict[str, Usage] = {}
    scores: dict[str, ScoreExtra] = {}
    parts: tuple[Part, ...] = ()


def sample_evidence(outcomes: Sequence[Outcome], facts: TaskFacts) -> dict[str, Any]:
    """Of one sample: all its trials, in their order."""
    first, scorers = outcomes[0], facts.scorers
    return {
        "sample_id": first.sample_id,
        "sample": {"data": first.sample},
        "solver": None,
        "scores": _scores(first.whole or _of_sample(outcomes, facts.trials), scorers),
        "action_records": [msgspec.to_builtins(one) for one in first.actions],
        "errors": [error_of(one.failure) for one in outcomes if one.failure],
        "trials": [_trial(one, scorers) for one in outcomes],
    }


def error_of(failure: Failure) -> dict[str, Any]:
    """An error, as the format writes it."""
    return {
        "error_type": failure.type,
        "message": failure.message,
        "hint": failure.hint or None,
        "stage": failure.stage,
    }


def _trial(outcome: Outcome, scorers: Mapping[str, ScorerFacts]) -> dict[str, Any]:
    trace = outcome.trace
    return {
        "index": outcome.trial,
        "sample_id": outcome.sample_id,
        "sample": {"data": outcome.sample},
        "solver": {"output": solver_output(trace.conversation)} if trace else None,
        "scores": _scores(outcome.scores, scorers),
        "errors": [error_of(outcome.failure)] if outcome.failure else [],
        OURS: msgspec.to_builtins(_extra(outcome), str_keys=True),
    }


def solver_output(conversation: Mapping[str, Any]) -> dict[str, Any]:
    """A solved sample: its trace, what the model gave back, what went over the wire."""
    known = {"raw_outputs", DIRECT, "solver_outputs"}
    made = {
        "trace": {name: value for name, value in conversation.items() if name not in known},
        "raw_outputs": conversation.get("raw_outputs", []),
        DIRECT: conversation.get(DIRECT, []),
    }
    if "solver_outputs" in conversation:
        made["solver_outputs"] = conversation["solver_outputs"]
    return made


def texts_of(conversation: dict[str, Any]) -> tuple[str, str]:
    """What was asked and what was answered, as a person reads it."""
    whole = {"items": [], "raw_outputs": [], **conversation}
    return asked_in(whole), answer_in(whole)


def _extra(outcome: Outcome) -> TrialExtra:
    trace = outcome.trace
    told: dict[str, Any] = {
        "attempts": outcome.failure.attempts if outcome.failure else 1,
        "group": outcome.group,
        "others": outcome.others,
        "scores": {
            name: ScoreExtra(score.correct, score.reason)
            for name, score in outcome.scores.items()
            if score.correct is not None or score.reason
        },
        "parts": outcome.parts,
    }
    return TrialExtra(**told) if trace is None else TrialExtra(**told, **_of_trace(trace))


def _of_trace(trace: Trace) -> dict[str, Any]:
    asked, answer = texts_of(trace.conversation)
    return {
        "input": None if trace.input == asked else trace.input,
        "output": None if trace.output == answer else trace.output,
        "post_processed": None if trace.post_processed == trace.output else trace.post_processed,
        "usage": trace.usage,
        "latency_s": trace.latency_s,
        "finish": trace.finish,
        "nll": trace.nll,
        "nll_tokens": trace.nll_tokens,
        "confidence": trace.confidence,
    }


def _scores(
    scores: Mapping[str, Score], scorers: Mapping[str, ScorerFacts]
) -> list[dict[str, Any]]:
    made = []
    for key, score in scores.items():
        facts = scorers.get(key, ScorerFacts())
        metadata = {name: value for name, value in score.metadata.items() if name != DIRECT}
        made.append(
            {
                "scorer_key": key,
                "scorer_purpose": facts.purpose,
                "scorer_name": facts.name or key,
                "values": score.values,
                "metadata": metadata,
                DIRECT: score.metadata.get(DIRECT, []),
            }
        )
    return made


def _of_sample(outcomes: Sequence[Outcome], trials: Trials) -> dict[str, Score]:
    """The scores of a sample; of several trials, those that each trial has, brought together."""
    if trials.total == 1 and not trials.aggregates:
        return outcomes[0].scores
    made: dict[str, Score] = {}
    for key in outcomes[0].scores if len(outcomes) == trials.total else ():
        each = [one.scores[key].values for one in outcomes if key in one.scores]
        if len(each) == trials.total:
            runs = [
                together(each[start : start + trials.trials], trials.aggregates).values
                for start in range(0, trials.total, trials.trials)
            ]
            metadata = outcomes[0].scores[key].metadata if trials.total == 1 else {}
            values = runs[0] if len(runs) == 1 else averaged(runs)
            made[key] = Score(values=values, metadata=metadata)
    return made
