"""Calibration and perplexity of one model's answers; None where nothing was measured.

With `calibrate` a temperature is fitted on one half of the answers and judged on the other: on the
half that it was fitted on, it would look better than it is. Which record is in which half depends
on the seed and on its place in the files, never on the order in which answers landed; all trials
of a record are in the same half.
A perplexity beyond what a float holds is None too: JSON has no infinity.
"""

import math
from array import array

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from evalwright.report.calibration_rows import CalibrationFigures, CalibrationRow, ScaledRow
from evalwright.report.fold import Column
from evalwright.report.report import PerplexityRow
from evalwright.stats.calibration import (
    brier,
    brier_interval,
    calibration,
    ece,
    ece_interval,
    reliability_bins,
)
from evalwright.stats.grouped_mean import grouped_mean_interval
from evalwright.stats.perplexity import perplexity
from evalwright.stats.temperature import Temperature, fit_temperature, tempered

FEWEST = 2
"""Answers in each half, below which no temperature is fitted."""

_EVEN, _NEARLY = 0.5, 1e-9

_ENDS = {
    "lowest": "the temperature is the lowest that is tried: surer confidences fit better still, "
    "as when all answers are right",
    "highest": "the temperature is the highest that is tried: confidences do not tell right from "
    "wrong, or lie on the wrong side of 50 %, and all are brought to 50 %",
}


class Answers(Struct, kw_only=True):
    """The answers of a model that came with a confidence, and that are right or wrong."""

    confidences: "array[float]" = field(default_factory=lambda: array("d"))
    verdicts: "array[int]" = field(default_factory=lambda: array("b"))
    places: "array[int]" = field(default_factory=lambda: array("q"))
    """Of the record or sample of each: trials of one belong together."""
    outcomes: int = 0
    """All answers and failures, these among them."""


class _Judged(Struct, frozen=True):
    """The same as arrays, in the order of their places."""

    p: NDArray[np.float64]
    right: NDArray[np.bool_]
    places: NDArray[np.int64]

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """Which of them belong together; None where none do, and much is faster."""
        return None if np.all(np.diff(self.places) > 0) else self.places

    def where(self, which: NDArray[np.bool_]) -> "_Judged":
        """Some of them."""
        return _Judged(self.p[which], self.right[which], self.places[which])


def answers_in(column: Column) -> Answers:
    """Those of a column of task records."""
    return Answers(
        confidences=column.confidences,
        verdicts=column.verdicts,
        places=column.places,
        outcomes=column.outcomes,
    )


def calibration_of(
    answers: Answers, *, bins: int, seed: int = 0, calibrate: bool = False
) -> CalibrationRow:
    """Over every answer that came with a confidence and was judged right or wrong."""
    judged = _judged(answers)
    found = calibration(judged.p, judged.right, bins=bins)
    row = CalibrationRow(
        ece=None,
        brier=None,
        reliability=None,
        resolution=None,
        uncertainty=None,
        bins=found.bins,
        populated_bins=found.populated_bins,
        covered=judged.p.size,
        n=answers.outcomes,
        scaled=_scaled(judged, bins=bins, seed=seed) if calibrate else None,
    )
    if not row.covered:
        return row
    return structs.replace(
        row,
        reliability=found.parts.reliability,
        resolution=found.parts.resolution,
        uncertainty=found.parts.uncertainty,
        **structs.asdict(_figures(judged, bins=bins, seed=seed)),
    )


def _judged(answers: Answers) -> _Judged:
    p, right = np.asarray(answers.confidences), np.asarray(answers.verdicts, dtype=np.bool_)
    places = np.asarray(answers.places, dtype=np.int64)
    if np.all(np.diff(places) > 0):  # as rows come from a store
        return _Judged(p, right, places)
    order = np.lexsort((right, p, places))
    return _Judged(p[order], right[order], places[order])


def _figures(judged: _Judged, *, bins: int, seed: int) -> CalibrationFigures:
    p, right, groups = judged.p, judged.right, judged.groups
    error, score = ece(p, right, bins=bins), brier(p, right)
    of_error = ece_interval(p, right, bins=bins, groups=groups, seed=seed)
    of_score = brier_interval(p, right, groups=groups, seed=seed)
    return CalibrationFigures(
        ece=error,
        ece_low=of_error.low if of_error else error,
        ece_high=of_error.high if of_error else error,
        brier=score,
        brier_low=of_score.low if of_score else score,
        brier_high=of_score.high if of_score else score,
    )


def _scaled(judged: _Judged, *, bins: int, seed: int) -> ScaledRow:
    first = _first_half(judged.places, seed=seed)
    fitted, held_out = judged.where(first), judged.where(~first)
    sizes = fitted.p.size, held_out.p.size
    reason = ""
    if min(sizes) < FEWEST:
        reason = (
            f"a temperature needs {FEWEST} answers with a confidence in each half, "
            f"of different records; here are {sizes[0]} and {sizes[1]}"
        )
    elif np.allclose(fitted.p, _EVEN, rtol=0, atol=_NEARLY):
        reason = "every confidence that it would be fitted on is 50 %, which no temperature moves"
    if reason:
        return ScaledRow(reason=reason, fitted_on=sizes[0], n=sizes[1])
    found = fit_temperature(fitted.p, fitted.right, groups=fitted.groups)
    return _judged_at(found, held_out, fitted_on=sizes[0], bins=bins, seed=seed)


def _judged_at(
    found: Temperature, held_out: _Judged, *, fitted_on: int, bins: int, seed: int
) -> ScaledRow:
    after = _Judged(tempered(held_out.p, found.value), held_out.right, held_out.places)
    raw, scaled = (_figures(one, bins=bins, seed=seed) for one in (held_out, after))
    diagram = reliability_bins(after.p, after.right, bins=bins)
    better = (after.p - after.right) ** 2 - (held_out.p - held_out.right) ** 2
    paired = grouped_mean_interval((better + 1) / 2, held_out.groups, seed=seed)
    return ScaledRow(
        reason=_ENDS.get(found.end, ""),
        fitted_on=fitted_on,
        n=held_out.p.size,
        temperature=found.value,
        temperature_low=found.low,
        temperature_high=found.high,
        raw=raw,
        scaled=scaled,
        brier_difference=scaled.brier - raw.brier,
        brier_difference_low=2 * paired.low - 1 if paired else None,
        brier_difference_high=2 * paired.high - 1 if paired else None,
        bins=diagram,
        populated_bins=sum(1 for one in diagram if one.count),
    )


def _first_half(places: NDArray[np.int64], *, seed: int) -> NDArray[np.bool_]:
    """Which answers a temperature is fitted on: those of half the records, drawn by a hash.

    A hash of the place and not a generator's draws: the same for every model that has answered the
    same records, and for every version of numpy.
    """
    records = np.unique(places)
    drawn = records[np.argsort(_hashed(records, seed), kind="stable")]
    half: NDArray[np.bool_] = np.isin(places, drawn[: len(records) // 2])
    return half


def _hashed(places: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: neighbours are far apart. Steele et al. (2014), OOPSLA."""
    mixed: NDArray[np.uint64] = places.astype(np.uint64) + np.uint64(1)
    for salt in (seed, 0):
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def perplexity_of(column: Column) -> PerplexityRow:
    """Of the answers whose log-probabilities the model gave."""
    value = perplexity(math.fsum(column.nlls), column.nll_tokens)
    return PerplexityRow(
        perplexity=value if math.isfinite(value) else None,
        tokens=column.nll_tokens,
        covered=len(column.nlls),
        n=column.outcomes,
    )
