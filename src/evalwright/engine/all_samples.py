"""Scorers of all samples: called after the last sample, once per trial.

Their scores are added to the outcomes, under a key of what they depend on, so that finalizing again
calls nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct, structs

from evalwright.engine.results import (
    FinalResult,
    TaskFailure,
    TaskOutcomes,
    describe_failure,
    lacks_answer,
)
from evalwright.errors import StageError, boundary
from evalwright.plan.finalization import AllSamplesScorer, Finalization
from evalwright.plan.keys import key_of
from evalwright.ports import Snippets
from evalwright.types import Outcome, Score

_YIELD_EVERY = 500
UnitIndex = tuple[int, int, int]
"""The ordinal of a sample, its trial, and the unit in it."""


class AllSamplesScores(Struct, frozen=True):
    """The scores of one scorer of all samples."""

    key: str
    scores: dict[UnitIndex, Score]


async def score_all(
    task: Finalization, landed: TaskOutcomes, snippets: Snippets | None, finished: FinalResult
) -> dict[str, AllSamplesScores]:
    """Call each scorer once per trial, unless every outcome of the trial already has its score."""
    late: dict[str, AllSamplesScores] = {}
    for name, scorer in task.run_scorers.items():
        key = key_of("all", name, str(scorer.version), scorer.settings)
        for trial in sorted(await _trials_without_score(landed, name, key)):
            try:
                with boundary("score"):
                    scores = await _score_trial(scorer, task, landed, snippets, trial=trial)
            except StageError as error:
                which = f"trial {trial + 1}: " if task.trials and task.trials.total > 1 else ""
                failure = describe_failure(error)
                failure = structs.replace(failure, message=f"{which}{failure.message}")
                finished.broken.append(
                    TaskFailure(stage="score", what=name, failure=failure, scorer=name)
                )
                break  # what has broken for one trial would break for the others
            late.setdefault(name, AllSamplesScores(key, {})).scores.update(scores)
    return late


async def _trials_without_score(landed: TaskOutcomes, name: str, key: str) -> set[int]:
    return {
        outcome.trial
        async for outcome in stream_outcomes(landed)
        if outcome.score_keys.get(name) != key and not lacks_answer(outcome)
    }


async def stream_outcomes(landed: TaskOutcomes) -> AsyncIterator[Outcome]:
    """Yield the outcomes; yield to the event loop now and then, so that Ctrl-C works."""
    for number, outcome in enumerate(landed.outcomes()):
        if number % _YIELD_EVERY == 0:
            await asyncio.sleep(0)
        yield outcome


async def _score_trial(
    scorer: AllSamplesScorer,
    task: Finalization,
    landed: TaskOutcomes,
    snippets: Snippets | None,
    *,
    trial: int,
) -> dict[UnitIndex, Score]:
    places: list[UnitIndex] = []
    rows: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    async for outcome in stream_outcomes(landed):
        if outcome.trial != trial or lacks_answer(outcome):
            continue
        for unit, part in enumerate(task.units(outcome)):
            places.append((outcome.ordinal, trial, unit))
            rows.append(part.sample)
            if part.trace is not None:
                outputs.append(part.trace.conversation)
    samples = task.together([ordinal for ordinal, _, _ in places]) if task.together else rows
    scores = await scorer.score_all(samples, outputs or None, snippets)
    if len(scores) != len(places):
        raise ValueError(f"expected one score per sample: {len(places)}, got {len(scores)}")
    return dict(zip(places, scores, strict=True))


def add_scores(
    outcome: Outcome, task: Finalization, late: Mapping[str, AllSamplesScores]
) -> Outcome:
    """Return the outcome with the new scores of the scorers of all samples."""
    place = (outcome.ordinal, outcome.trial)
    if not late or lacks_answer(outcome):
        return outcome
    units = task.units(outcome)
    new = {  # an earlier invocation may have scored this trial
        name: scored for name, scored in late.items() if not units or (*place, 0) in scored.scores
    }
    scores = [
        {**part.scores, **{name: new[name].scores[*place, unit] for name in new}}
        for unit, part in enumerate(units)
    ]
    keys = {name: scored.key for name, scored in new.items()}
    outcome = structs.replace(outcome, score_keys={**outcome.score_keys, **keys})
    if not outcome.parts:  # of some, nothing was made: that is known now, and not asked again
        return structs.replace(outcome, scores=scores[0]) if scores else outcome
    pairs = zip(outcome.parts, scores, strict=True)
    return structs.replace(
        outcome, parts=tuple(structs.replace(part, scores=scores) for part, scores in pairs)
    )
