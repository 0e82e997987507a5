"""Read the scores of two sides and pair them by the content of the sample.

Two runs of tasks with the same samples are paired by the sample's place, because equal digests mean
equal samples in the same order. Otherwise, rows are paired by their content, and task records by
their id, which is unique in a file. If rows were edited, so that none is equal, rows with an id of
their own are paired by that id, and a warning says so.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from evalwright.comparison.sides import Matchup, Side
from evalwright.engine.results import lacks_answer
from evalwright.errors import UsageError
from evalwright.metrics.terms import SampleTerms
from evalwright.plan.outline import MetricOutline
from evalwright.plan.records import StoredRecords
from evalwright.ports import Store
from evalwright.stats.arrays import Floats, np
from evalwright.types import Outcome, without_self_report

PairedBy = Literal["place", "content", "id"]
MetricKey = tuple[str, str]
"""Scorer and metric."""
CATEGORY = "category"


class SampleScores(Struct, kw_only=True):
    """What one side has for one sample."""

    sample_id: str
    ordinal: int
    key: str = ""
    """By which it is paired."""
    trials: int = 0
    is_out: bool = False
    """Whether a trial failed, or a rule excluded it."""
    sums: dict[MetricKey, tuple[int, tuple[float, ...]]] = field(default_factory=dict)
    """The number of trials with a value, and the sum of the terms."""
    spread: dict[MetricKey, tuple[float, float]] = field(default_factory=dict)
    """The smallest and the largest first term over the trials."""
    group: str = ""
    cluster: str = ""

    def terms(self, metric: MetricKey, trials: int) -> tuple[float, ...] | None:
        """Return the means over the trials; None if a trial is missing."""
        count, sums = self.sums.get(metric, (0, ()))
        if self.is_out or count < trials:
            return None
        return sums if count == 1 else tuple(number / count for number in sums)


class SideScores(Struct, kw_only=True):
    """The scores of one side, by the key that samples are paired by."""

    side: Side
    samples: dict[str, SampleScores]
    metrics: dict[MetricKey, MetricOutline]
    has_parts: bool = False


class Pairing(Struct, kw_only=True):
    """Two sides with their shared samples."""

    a: SideScores
    b: SideScores
    paired_by: PairedBy
    shared: list[str]

    @property
    def trials(self) -> tuple[int, int]:
        """The number of trials per sample of each side."""
        return self.a.side.task.tries, self.b.side.task.tries


class Selection(Struct, frozen=True):
    """What a comparison needs from each sample besides its scores."""

    by: str = ""
    cluster: str = ""

    @property
    def needs_samples(self) -> bool:
        """Whether the sample itself must be read."""
        return any(path and path != CATEGORY for path in (self.by, self.cluster))


class ScoreReader:
    """Reads the scores of sides, each side once."""

    def __init__(self, store: Store, selection: Selection) -> None:
        self._store, self._selection = store, selection
        self._read: dict[tuple[str, str, str, str], SideScores] = {}

    def pair(self, matchup: Matchup) -> Pairing:
        """Return both sides with the samples that they share."""
        a, b = matchup
        mode: PairedBy = "place"
        if not _has_same_samples(a, b):
            mode = "id" if not (a.task.finalized and b.task.finalized) else "content"
        pairing = self._pair(a, b, mode)
        if not pairing.shared and mode == "content":
            pairing = self._pair(a, b, "id")
        if not pairing.shared:
            raise UsageError(
                f"{a.task.name}: the runs share no samples: {a.run.name} has "
                f"{len(pairing.a.samples)}, {b.run.name} has {len(pairing.b.samples)}, and no two "
                "have the same content or id"
            )
        return pairing

    def _pair(self, a: Side, b: Side, mode: PairedBy) -> Pairing:
        scores_a, scores_b = self._scores(a, mode), self._scores(b, mode)
        shared = [key for key in scores_a.samples if key in scores_b.samples]
        return Pairing(a=scores_a, b=scores_b, paired_by=mode, shared=shared)

    def _scores(self, side: Side, mode: PairedBy) -> SideScores:
        known = (side.run.run.id, side.task.name, side.model, mode)
        if known not in self._read:
            self._read[known] = self._read_scores(side, mode)
        return self._read[known]

    def _read_scores(self, side: Side, mode: PairedBy) -> SideScores:
        if side.task.finalized or self._selection.needs_samples:
            return self._read_outcomes(side, mode)
        return self._read_rows(side, mode)

    def _read_rows(self, side: Side, mode: PairedBy) -> SideScores:
        """Read records from their scalars, which is several times as fast as from outcomes."""
        metrics = outlined_metrics(side)
        (metric,) = metrics
        scores = SideScores(side=side, samples={}, metrics=metrics)
        by, cluster = (path == CATEGORY for path in (self._selection.by, self._selection.cluster))
        for row in self._store.rows(side.run.run.id):
            if row.task != side.task.name or row.model != side.model:
                continue
            key = str(row.ordinal) if mode == "place" else row.sample_id
            sample = scores.samples.get(key)
            if sample is None:
                sample = scores.samples[key] = SampleScores(
                    sample_id=row.sample_id, ordinal=row.ordinal, key=key
                )
                sample.group, sample.cluster = row.group * by, row.group * cluster
            failed = row.failure_type is not None and row.correct is None
            sample.is_out = sample.is_out or failed
            sample.trials += 1
            if row.score is not None:
                _add_terms(sample, metric, (row.score,))
        return scores

    def _read_outcomes(self, side: Side, mode: PairedBy) -> SideScores:
        scores = SideScores(side=side, samples={}, metrics=outlined_metrics(side))
        places: dict[int, str] = {}
        repeated: dict[str, int] = {}
        for outcome in self._outcomes(side):
            key = places.get(outcome.ordinal)
            if key is None:
                key = _sample_key(outcome, mode)
                if mode == "content":  # equal rows are paired in their order
                    repeated[key] = count = repeated.get(key, 0) + 1
                    key = f"{key} {count}"
                places[outcome.ordinal] = key
                scores.samples[key] = SampleScores(
                    sample_id=outcome.sample_id,
                    ordinal=outcome.ordinal,
                    key=key,
                    group=self._describe(outcome, self._selection.by),
                    cluster=self._describe(outcome, self._selection.cluster),
                )
            _add_outcome(scores, scores.samples[key], outcome)
        return scores

    def _outcomes(self, side: Side) -> Iterator[Outcome]:
        outcomes = self._store.outcomes(side.run.run.id, task=side.task.name, model=side.model)
        if side.task.finalized or not self._selection.needs_samples:
            return outcomes
        return StoredRecords(side.run.manifest).attach(outcomes)

    @staticmethod
    def _describe(outcome: Outcome, path: str) -> str:
        if not path:
            return ""
        if path == CATEGORY and outcome.group:
            return outcome.group
        return find_value(outcome.sample, path)


def find_value(sample: Mapping[str, Any], path: str) -> str:
    """Return the value at a dotted path of a sample as text; empty if there is none."""
    value: Any = sample
    for name in path.removeprefix("sample.").split("."):
        if not isinstance(value, Mapping) or name not in value:
            return ""
        value = value[name]
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _has_same_samples(a: Side, b: Side) -> bool:
    if a.run.run.id == b.run.run.id and a.task.name == b.task.name:
        return True
    if a.task.finalized != b.task.finalized:
        return False
    digest_a, digest_b = (
        task.samples_digest if task.finalized else task.digest for task in (a.task, b.task)
    )
    return bool(digest_a) and digest_a == digest_b and a.task.records == b.task.records


def _sample_key(outcome: Outcome, mode: PairedBy) -> str:
    if mode == "place":
        return str(outcome.ordinal)
    if mode == "id":
        is_place = outcome.sample_id == str(outcome.ordinal)
        return f"#{outcome.solve_key}" if is_place else outcome.sample_id
    packed = msgspec.json.encode(outcome.sample, order="sorted", enc_hook=str)
    return blake2b(packed, digest_size=16).hexdigest()


def outlined_metrics(side: Side) -> dict[MetricKey, MetricOutline]:
    """Return the metrics of a task by scorer and name, with those of earlier versions."""
    outlines = side.task.metrics
    if not outlines and side.task.primary:
        primary = side.task.primary
        terms = SampleTerms(fields=(primary.field,))
        outlines = (MetricOutline(scorer=primary.scorer, metric=primary.metric, terms=terms),)
    return {(outline.scorer, outline.metric): outline for outline in outlines}


def _add_outcome(scores: SideScores, sample: SampleScores, outcome: Outcome) -> None:
    sample.trials += 1
    sample.is_out = sample.is_out or bool(outcome.actions) or lacks_answer(outcome)
    scores.has_parts = scores.has_parts or bool(outcome.parts)
    judged = without_self_report(outcome.scores)
    for name, score in judged.items():
        if (name, "") in scores.metrics:
            _add_default_metrics(scores, name, score.values)
    for key, outline in scores.metrics.items():
        scorer = judged.get(key[0])
        if scorer is None or outline.terms is None:
            continue
        if (terms := outline.terms.read(scorer.values)) is not None:
            _add_terms(sample, key, terms)


def _add_default_metrics(scores: SideScores, scorer: str, values: Mapping[str, Any]) -> None:
    """Add the mean of each number of a scorer whose scores only a run shows."""
    for name, value in values.items():
        key = (scorer, f"{name}_mean")
        if isinstance(value, int | float) and key not in scores.metrics:
            scores.metrics[key] = MetricOutline(
                scorer=scorer, metric=key[1], terms=SampleTerms(fields=(name,))
            )


def _add_terms(sample: SampleScores, key: MetricKey, terms: tuple[float, ...]) -> None:
    count, sums = sample.sums.get(key, (0, ()))
    if not count:
        sample.sums[key] = (1, terms)
        return
    if count == 1:
        sample.spread[key] = (sums[0], sums[0])
    low, high = sample.spread[key]
    sample.spread[key] = (min(low, terms[0]), max(high, terms[0]))
    added = tuple(was + number for was, number in zip(sums, terms, strict=True))
    sample.sums[key] = (count + 1, added)


class PairedTerms(Struct, kw_only=True):
    """The numbers of both sides for one metric, one row per sample that both completed."""

    samples: list[tuple[SampleScores, SampleScores]]
    a: Floats
    b: Floats
    incomplete_a: int
    incomplete_b: int


def paired_terms(pairing: Pairing, metric: MetricKey, group: str | None = None) -> PairedTerms:
    """Return the numbers of one metric for the shared samples, of a group or of all."""
    trials_a, trials_b = pairing.trials
    samples, rows_a, rows_b = [], [], []
    incomplete = [0, 0]
    for key in pairing.shared:
        sample_a, sample_b = pairing.a.samples[key], pairing.b.samples[key]
        if group is not None and sample_a.group != group:
            continue
        terms_a = sample_a.terms(metric, _count_trials(sample_a, trials_a, pairing.a))
        terms_b = sample_b.terms(metric, _count_trials(sample_b, trials_b, pairing.b))
        incomplete[0] += terms_a is None
        incomplete[1] += terms_b is None
        if terms_a is not None and terms_b is not None:
            samples.append((sample_a, sample_b))
            rows_a.append(terms_a)
            rows_b.append(terms_b)
    return PairedTerms(
        samples=samples,
        a=_array(rows_a),
        b=_array(rows_b),
        incomplete_a=incomplete[0],
        incomplete_b=incomplete[1],
    )


def _array(rows: Sequence[tuple[float, ...]]) -> Floats:
    width = len(rows[0]) if rows else 0
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), width)


def _count_trials(sample: SampleScores, trials: int, scores: SideScores) -> int:
    """Return how many trials the sample needs; as many as it has if samples differ."""
    task = scores.side.task
    return max(1, sample.trials) if task.trial_counts or task.landed else trials
