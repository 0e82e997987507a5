"""Scorers of all samples: asked once, when every sample is in; of several trials, once for each.

What they say is put into the outcomes, under a key of what they depend on, so that a second time
asks nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct, structs

from evalwright.engine.finishing import (
    Broken,
    Finished,
    Finishing,
    Landed,
    RunScorer,
    failure_of,
    unsolved,
)
from evalwright.engine.keys import key_of
from evalwright.errors import StageError, boundary
from evalwright.ports import Snippets
from evalwright.types import Outcome, Score

_HEARD_EVERY = 500
Place = tuple[int, int, int]
"""The ordinal of a sample, its trial, and the unit of it."""


class Late(Struct, frozen=True):
    """The scores of one scorer of all samples."""

    key: str
    scores: dict[Place, Score]


async def score_all(
    task: Finishing, landed: Landed, snippets: Snippets | None, finished: Finished
) -> dict[str, Late]:
    """Ask each scorer once a trial, unless every outcome of that has its score already."""
    late: dict[str, Late] = {}
    for name, scorer in task.run_scorers.items():
        key = key_of("all", name, str(scorer.version), scorer.settings)
        for trial in sorted(await _lacking(landed, name, key)):
            try:
                with boundary("score"):
                    scores = await _asked(scorer, task, landed, snippets, trial=trial)
            except StageError as error:
                which = f"trial {trial + 1}: " if task.trials and task.trials.total > 1 else ""
                failure = failure_of(error)
                failure = structs.replace(failure, message=f"{which}{failure.message}")
                finished.broken.append(
                    Broken(stage="score", what=name, failure=failure, scorer=name)
                )
                break  # what has broken for one trial would break for the others
            late.setdefault(name, Late(key, {})).scores.update(scores)
    return late


async def _lacking(landed: Landed, name: str, key: str) -> set[int]:
    """The trials of which some outcome has no score of this scorer."""
    return {
        one.trial
        async for one in streamed(landed)
        if one.score_keys.get(name) != key and not unsolved(one)
    }


async def streamed(landed: Landed) -> AsyncIterator[Outcome]:
    """The outcomes; now and then the loop goes round, so that Ctrl-C is heard."""
    for number, outcome in enumerate(landed.outcomes()):
        if number % _HEARD_EVERY == 0:
            await asyncio.sleep(0)
        yield outcome


async def _asked(
    scorer: RunScorer, task: Finishing, landed: Landed, snippets: Snippets | None, *, trial: int
) -> dict[Place, Score]:
    places: list[Place] = []
    rows: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    async for outcome in streamed(landed):
        if outcome.trial != trial or unsolved(outcome):
            continue
        for unit, one in enumerate(task.units(outcome)):
            places.append((outcome.ordinal, trial, unit))
            rows.append(one.sample)
            if one.trace is not None:
                outputs.append(one.trace.conversation)
    samples = task.together([ordinal for ordinal, _, _ in places]) if task.together else rows
    scores = await scorer.score_all(samples, outputs or None, snippets)
    if len(scores) != len(places):
        raise ValueError(f"expected one score a sample: {len(places)}, got {len(scores)}")
    return dict(zip(places, scores, strict=True))


def with_late(outcome: Outcome, task: Finishing, late: Mapping[str, Late]) -> Outcome:
    """The outcome with what the scorers of all samples have just said of it."""
    place = (outcome.ordinal, outcome.trial)
    if not late or unsolved(outcome):
        return outcome
    units = task.units(outcome)
    said = {
        name: one
        for name, one in late.items()
        if not units or (*place, 0) in one.scores  # an earlier asking may have this trial's
    }
    scores = [
        {**one.scores, **{name: said[name].scores[*place, unit] for name in said}}
        for unit, one in enumerate(units)
    ]
    keys = {name: one.key for name, one in said.items()}
    outcome = structs.replace(outcome, score_keys={**outcome.score_keys, **keys})
    if not outcome.parts:  # of some, nothing was made: that is known now, and not asked again
        return structs.replace(outcome, scores=scores[0]) if scores else outcome
    made = zip(outcome.parts, scores, strict=True)
    return structs.replace(
        outcome, parts=tuple(structs.replace(part, scores=scores) for part, scores in made)
    )
