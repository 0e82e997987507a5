"""What is left of a task when its last sample is in.

    scorers of all samples     once, over every sample that could be solved
    action rules               each sample once; what they mark is in no metric
    metrics                    each scorer's scores to its figures

Outcomes stream by, once for the scorers that want all of them and once for the rest, so memory
grows by a few bytes a sample and scorer, unless a scorer or a metric asks for everything. An
outcome that is changed is written again in the place of the old one, so a second time changes
nothing: what the store has is what was judged.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from msgspec import Struct, field, structs

from evalwright.engine.keys import key_of
from evalwright.engine.tally import merge
from evalwright.errors import StageError, boundary
from evalwright.metrics.measure import Measure
from evalwright.metrics.scores import Scores
from evalwright.ports import Snippets
from evalwright.types import Action, Failure, Outcome, Part, Score, Stage, Usage

_WRITTEN_AT_ONCE = 500
_HEARD_EVERY = 500
_UNSOLVED = {"configuration", "dataset", "solver"}
"""Stages after whose failure there is nothing to score."""
_NOT_ASKED = "not asked: samples are missing"


class RunScorer(Protocol):
    """A scorer that wants all samples at once."""

    version: ClassVar[int]

    @property
    def settings(self) -> str:
        """All that can move its scores."""
        ...

    async def score_all(
        self,
        samples: Sequence[dict[str, Any]] | Mapping[str, Sequence[dict[str, Any]]],
        solver_outputs: Sequence[dict[str, Any]] | None,
        snippets: Snippets | None,
    ) -> list[Score]:
        """One score a sample, in their order."""
        ...


class Rule(Protocol):
    """What may take a sample out of the metrics."""

    @property
    def key(self) -> str:
        """What reports call it."""
        ...

    @property
    def action(self) -> str:
        """What it does."""
        ...

    def applies(
        self,
        sample: dict[str, Any],
        conversation: dict[str, Any] | None,
        scores: Mapping[str, Mapping[str, Any]],
    ) -> bool:
        """Whether it does; raise where that cannot be said."""
        ...


class Metric(Protocol):
    """Scores to figures."""

    @property
    def type(self) -> str:
        """The kind of metric."""
        ...

    def fields(self) -> frozenset[str] | None:
        """The scores that it reads; None for everything."""
        ...

    async def measure(
        self, scores: Scores, *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """Its figures."""
        ...


class Measured(Struct, frozen=True, kw_only=True):
    """The metrics of one scorer."""

    purpose: str = "score"
    metrics: tuple[tuple[str, Metric], ...] = ()
    """Each with its key."""


class Finishing(Struct, frozen=True, kw_only=True):
    """All that is done with a task after its samples."""

    run_scorers: Mapping[str, RunScorer] = {}
    rules: Sequence[Rule] = ()
    measured: Mapping[str, Measured] = {}
    """By the key of the scorer."""
    together: Callable[[Sequence[int]], dict[str, list[dict[str, Any]]]] | None = None
    """The rows of samples, by their ordinals, of each of several datasets if there are several."""
    fans_out: bool = False
    """Whether a postprocessor says what is scored: a sample may be several then, or none."""

    def units(self, outcome: Outcome) -> Sequence[Outcome | Part]:
        """What is scored: what a postprocessor made of the sample, or the sample itself."""
        if outcome.parts or (self.fans_out and outcome.failure is None):
            return outcome.parts
        return (outcome,)


class Landed(Struct, frozen=True, kw_only=True):
    """The outcomes of one task with one model."""

    outcomes: Callable[[], Iterator[Outcome]]
    """In their order, as often as they are asked for."""
    write: Callable[[Sequence[Outcome]], None]
    """Puts outcomes into the place of the old ones."""
    complete: bool = True
    """Whether every sample has landed: a scorer of all samples is not asked about some."""


class Figure(Struct, frozen=True, kw_only=True):
    """One figure of a task."""

    scorer: str
    metric: str
    measure: Measure
    purpose: str = "score"
    type: str = ""
    failed: int = 0
    """Samples that this scorer could not judge."""


class Broken(Struct, frozen=True, kw_only=True):
    """Something that broke for the task, and for no sample of it."""

    stage: Stage
    what: str
    failure: Failure


class Finished(Struct, kw_only=True):
    """What came of it."""

    figures: list[Figure] = field(default_factory=list)
    excluded: dict[str, int] = field(default_factory=dict)
    """How many samples each rule took out."""
    left_out: int = 0
    """How many samples are in no metric, by any rule."""
    broken: list[Broken] = field(default_factory=list)
    scored: int = 0
    """Samples that could be scored: of each, what a postprocessor made of it."""
    fanned: bool = False
    """Whether some sample is scored in several parts."""
    others: dict[str, Usage] = field(default_factory=dict)
    """What other models took than the evaluated one, or it beside its answers."""


async def finish(
    task: Finishing, landed: Landed, snippets: Snippets | None, *, seed: int = 0
) -> Finished:
    """Judge what only all samples together can show."""
    finished = Finished(excluded={rule.key: 0 for rule in task.rules})
    late = await _score_all(task, landed, snippets, finished) if landed.complete else {}
    columns = {name: _columns(measured) for name, measured in task.measured.items()}
    changed: list[Outcome] = []
    async for stored in _streamed(landed):
        outcome, undecided = _marked(_with_late(stored, task, late), task, finished)
        finished.scored += len(task.units(outcome))
        finished.fanned = finished.fanned or len(outcome.parts) > 1
        merge(finished.others, outcome.others)
        if not undecided:
            _collect(task.units(outcome), columns)
        if outcome != stored:
            changed.append(outcome)
        if len(changed) >= _WRITTEN_AT_ONCE:
            landed.write(changed)
            changed = []
    if changed:
        landed.write(changed)
    unasked = frozenset() if landed.complete else frozenset(task.run_scorers)
    await _measure(task, columns, finished, snippets, seed=seed, unasked=unasked)
    return finished


class Late(Struct, frozen=True):
    """The scores of one scorer of all samples, by the ordinal of the sample and the unit of it."""

    key: str
    scores: Mapping[tuple[int, int], Score]


async def _score_all(
    task: Finishing, landed: Landed, snippets: Snippets | None, finished: Finished
) -> dict[str, Late]:
    """Ask each scorer once, unless every outcome has its score already."""
    late: dict[str, Late] = {}
    for name, scorer in task.run_scorers.items():
        key = key_of("all", name, str(scorer.version), scorer.settings)
        if await _have_all(landed, name, key):
            continue
        try:
            with boundary("score"):
                late[name] = Late(key, await _asked(scorer, task, landed, snippets))
        except StageError as error:
            finished.broken.append(Broken(stage="score", what=name, failure=_failure(error)))
    return late


async def _have_all(landed: Landed, name: str, key: str) -> bool:
    async for one in _streamed(landed):
        if one.score_keys.get(name) != key and not _unsolved(one):
            return False
    return True


def _unsolved(outcome: Outcome) -> bool:
    """Whether there is nothing to score; a task without a solver has no trace even so."""
    return outcome.failure is not None and outcome.failure.stage in _UNSOLVED


async def _streamed(landed: Landed) -> AsyncIterator[Outcome]:
    """The outcomes; now and then the loop goes round, so that Ctrl-C is heard."""
    for number, outcome in enumerate(landed.outcomes()):
        if number % _HEARD_EVERY == 0:
            await asyncio.sleep(0)
        yield outcome


async def _asked(
    scorer: RunScorer, task: Finishing, landed: Landed, snippets: Snippets | None
) -> dict[tuple[int, int], Score]:
    places: list[tuple[int, int]] = []
    rows: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    async for outcome in _streamed(landed):
        if _unsolved(outcome):
            continue
        for unit, one in enumerate(task.units(outcome)):
            places.append((outcome.ordinal, unit))
            rows.append(one.sample)
            if one.trace is not None:
                outputs.append(one.trace.conversation)
    samples = task.together([ordinal for ordinal, _ in places]) if task.together else rows
    scores = await scorer.score_all(samples, outputs or None, snippets)
    if len(scores) != len(places):
        raise ValueError(f"expected one score a sample: {len(places)}, got {len(scores)}")
    return dict(zip(places, scores, strict=True))


def _with_late(outcome: Outcome, task: Finishing, late: Mapping[str, Late]) -> Outcome:
    if not late or _unsolved(outcome):
        return outcome
    scores = [
        {**one.scores, **{name: late[name].scores[outcome.ordinal, unit] for name in late}}
        for unit, one in enumerate(task.units(outcome))
    ]
    keys = {name: one.key for name, one in late.items()}
    outcome = structs.replace(outcome, score_keys={**outcome.score_keys, **keys})
    if not outcome.parts:  # of some, nothing was made: that is known now, and not asked again
        return structs.replace(outcome, scores=scores[0]) if scores else outcome
    made = zip(outcome.parts, scores, strict=True)
    return structs.replace(
        outcome, parts=tuple(structs.replace(part, scores=scores) for part, scores in made)
    )


def _marked(outcome: Outcome, task: Finishing, finished: Finished) -> tuple[Outcome, bool]:
    """The outcome with the rules that apply to it or its parts, and whether one could not say."""
    stopped = outcome.failure is not None and outcome.failure.stage == "action"
    if not task.rules or _unsolved(outcome):
        return outcome, stopped
    failure = None if stopped else outcome.failure
    undecided = False
    found: list[tuple[Action, ...]] = []
    for one in task.units(outcome):
        actions, broken = _ruled(one, task.rules)
        failure = failure or broken
        undecided = undecided or broken is not None
        found.append(actions)
        finished.left_out += bool(actions)
        for action in actions:
            finished.excluded[action.rule_key] += 1
    if not outcome.parts:
        actions = found[0] if found else ()
        return structs.replace(outcome, actions=actions, failure=failure), undecided
    made = zip(outcome.parts, found, strict=True)
    parts = tuple(structs.replace(part, actions=actions) for part, actions in made)
    return structs.replace(outcome, parts=parts, failure=failure), undecided


def _ruled(one: Outcome | Part, rules: Sequence[Rule]) -> tuple[tuple[Action, ...], Failure | None]:
    """The rules that apply, and the first that could not say."""
    conversation = one.trace.conversation if one.trace else None
    scores = {name: score.values for name, score in one.scores.items()}
    actions: list[Action] = []
    failure: Failure | None = None
    for rule in rules:
        try:
            with boundary("action"):
                if rule.applies(one.sample, conversation, scores):
                    actions.append(Action(action=rule.action, rule_key=rule.key))
        except StageError as error:
            failure = failure or _failure(error, rule.key)
    return tuple(actions), failure


def _columns(measured: Measured) -> Scores:
    wanted: set[str] = set()
    for _, metric in measured.metrics:
        fields = metric.fields()
        if fields is None:
            return Scores(None)
        wanted |= fields
    return Scores(wanted)


def _collect(units: Iterable[Outcome | Part], columns: Mapping[str, Scores]) -> None:
    for one in units:
        for name, score in one.scores.items() if not one.actions else ():
            if name in columns:
                columns[name].add(score.values, score.metadata)


async def _measure(
    task: Finishing,
    columns: Mapping[str, Scores],
    finished: Finished,
    snippets: Snippets | None,
    *,
    seed: int,
    unasked: frozenset[str],
) -> None:
    counted = finished.scored - finished.left_out
    for name, measured in task.measured.items():
        scores = columns[name]
        failed = 0 if name in unasked else max(0, counted - scores.n)
        for key, metric in measured.metrics:
            try:
                with boundary("metric"):
                    measures = (
                        [Measure(key, None, None, 0, _NOT_ASKED)]
                        if name in unasked
                        else await metric.measure(scores, seed=seed, snippets=snippets)
                    )
            except StageError as error:
                what = f"{name}.{key}"
                failure = _failure(error, what)
                finished.broken.append(Broken(stage="metric", what=what, failure=failure))
                measures = [Measure(key, None, None, 0, str(error))]
            if finished.fanned:
                measures = [_without_interval(one) for one in measures]
            finished.figures += [
                Figure(
                    scorer=name,
                    metric=key,
                    measure=one,
                    purpose=measured.purpose,
                    type=metric.type,
                    failed=failed,
                )
                for one in measures
            ]


def _without_interval(measure: Measure) -> Measure:
    """Parts of one sample go together: as many independent samples they would look too sure."""
    reason = "no interval: several parts of one sample are not independent"
    return structs.replace(measure, interval=None, reason=measure.reason or reason)


def _failure(error: StageError, what: str = "") -> Failure:
    message = f"`{what}`: {error}" if what else str(error)
    return Failure(stage=error.stage, type=error.type, message=message, hint=error.hint)


def names_of(figures: Iterable[Figure]) -> list[str]:
    """A name for each figure of a scorer: its own where that is unique, else with the metric's."""
    listed = list(figures)
    own = Counter((one.scorer, one.measure.name) for one in listed)
    return [
        one.measure.name
        if own[one.scorer, one.measure.name] == 1
        else f"{one.metric}_{one.measure.name}"
        for one in listed
    ]
