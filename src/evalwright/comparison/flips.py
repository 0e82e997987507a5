"""The samples whose scores changed, with the outputs of both sides."""

import math
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import NamedTuple

from evalwright.comparison.pairing import MetricKey, PairedTerms, Pairing, SampleScores
from evalwright.comparison.report import ComparisonRow, Flip
from evalwright.comparison.sides import Side
from evalwright.ports import Store
from evalwright.types import Json, Outcome

_TARGET_KEYS = ("answer_gt", "target", "targets", "expected", "ground_truth")
"""Where scorers say what an answer was compared with."""


class FlippedSample(NamedTuple):
    """A sample that flipped, with both sides of it."""

    flip: Flip
    a: SampleScores
    b: SampleScores


def find_flips(
    row: ComparisonRow, pairing: Pairing, paired: PairedTerms, *, limit: int
) -> list[FlippedSample]:
    """Return the samples that changed most, without their outputs: those that got worse first."""
    metric: MetricKey = (row.scorer, row.metric)
    changes: list[float] = (paired.b[:, 0] - paired.a[:, 0]).tolist() if paired.samples else []
    places = [place for place, change in enumerate(changes) if change]
    ranked = nlargest(
        limit,
        places,
        key=lambda place: (abs(changes[place]), _is_worse(changes[place], row), -place),
    )
    total = math.fsum(changes)
    flips = []
    for place in sorted(ranked, key=lambda place: not _is_worse(changes[place], row)):
        sample_a, sample_b = paired.samples[place]
        flip = Flip(
            task=row.task,
            sample_id=sample_b.sample_id,
            model_a=row.model_a,
            model_b=row.model_b,
            scorer=row.scorer,
            metric=row.metric,
            a=float(paired.a[place, 0]),
            b=float(paired.b[place, 0]),
            kind="worse" if _is_worse(changes[place], row) else "better",
            share=changes[place] / total if total else 0.0,
            is_flaky=_is_flaky(sample_a, metric) or _is_flaky(sample_b, metric),
            run_a=pairing.a.side.run.run.id,
            run_b=pairing.b.side.run.run.id,
        )
        flips.append(FlippedSample(flip, sample_a, sample_b))
    return flips


def _is_worse(change: float, row: ComparisonRow) -> bool:
    return (change < 0) != row.lower_is_better


def _is_flaky(sample: SampleScores, metric: MetricKey) -> bool:
    low, high = sample.spread.get(metric, (0.0, 0.0))
    return low != high


class OutputReader:
    """Reads the outputs of single samples from a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, side: Side, sample: SampleScores, scorer: str) -> tuple[str, str]:
        """Return the output of the sample's first trial, and the target if a scorer names it."""
        for outcome in self._outcomes(side, sample):
            return read_output(outcome), read_target(outcome, scorer)
        return "", ""

    def _outcomes(self, side: Side, sample: SampleScores) -> Iterator[Outcome]:
        outcomes = self._store.outcomes(
            side.run.run.id,
            task=side.task.name,
            model=side.model,
            sample_id=sample.sample_id,
        )
        return (outcome for outcome in outcomes if outcome.ordinal == sample.ordinal)


def read_output(outcome: Outcome) -> str:
    """Return what was scored: the post-processed output of records, else the answer."""
    if outcome.trace is None:
        return ""
    return outcome.trace.post_processed or outcome.trace.output


def read_target(outcome: Outcome, scorer: str) -> str:
    """Return what the answer was compared with; empty if the scorer does not say it."""
    score = outcome.scores.get(scorer)
    metadata = score.metadata if score else {}
    for name in _TARGET_KEYS:
        if name in metadata:
            return _as_text(metadata[name])
    return ""


def _as_text(value: Json) -> str:
    if isinstance(value, list | tuple):
        parts: Sequence[Json] = value
        return " | ".join(map(str, parts))
    return str(value)
