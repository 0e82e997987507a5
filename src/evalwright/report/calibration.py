"""Calibration of one model's answers; None where nothing was measured.

An answer counts if it came with a confidence and is right or wrong. Of a finalized task it is as
the first scorer says that can (`string_equals`, `contains`, `function_call_coverage`, a classifying
judge and others; a Python scorer that returns `is_correct`) and that is no check of the samples
(`purpose: qa`). What rules took out of the metrics does not count, nor do the parts that a
postprocessor makes of an answer: the confidence is of the whole.
With `calibrate` a temperature is fitted on one half of the answers and judged on the other: on the
half that it was fitted on, it would look better than it is. Which record is in which half depends
on the seed and on its place in the files, never on the order in which answers landed; all trials
of a record are in the same half.

In the tables, a diagram has one line per bin that holds answers, and is 80 columns wide at most:

    confidence 0                  0.5                 1   sure  right  answers
     0.50-0.60 ████████████████████▌·◆·················   0.55   0.51       37

The bar is as long as the share of right answers, the mark lies at the mean confidence: a mark to
the right of its bar says that the model is too sure. Neither needs a colour.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from textwrap import wrap
from zlib import crc32

import numpy as np
from msgspec import Struct, field, structs
from numpy.typing import NDArray

from evalwright.report.report import (
    CalibrationFigures,
    CalibrationRow,
    Report,
    ReportBody,
    ScaledRow,
)
from evalwright.report.tables import (
    NOTHING,
    Table,
    count_noun,
    format_interval,
    format_number,
    shorten,
)
from evalwright.stats.calibration import (
    Bin,
    apply_temperature,
    brier_interval,
    ece_interval,
    fit_temperature,
    measure_calibration,
)
from evalwright.stats.rates import grouped_mean_interval
from evalwright.types import Outcome, find_self_report

_FEWEST = 2
"""Answers in each half, below which no temperature is fitted."""

_WIDTH = 40
"""Of a bar that is all right: a cell is a fortieth."""
_EIGHTHS = "·▏▎▍▌▋▊▉"
_FULL, _MARK = "█", "◆"
_LEGEND = f" bar: share of right answers; {_MARK}: mean confidence"
_MOST_WITH_TWO_DIGITS = 100
_PAGE = 78
_EVEN, _NEARLY = 0.5, 1e-9
_ORDINAL_BITS = 31

_ENDS = {
    "lowest": "the temperature is the lowest that is tried: higher confidences would fit even "
    "better, as when all answers are right",
    "highest": "the temperature is the highest that is tried: confidences do not separate right "
    "from wrong answers, or are on the wrong side of 50 %, so all are moved to 50 %",
}


class Answers(Struct, kw_only=True):
    """The answers of a model that came with a confidence, and that are right or wrong."""

    confidences: "array[float]" = field(default_factory=lambda: array("d"))
    verdicts: "array[int]" = field(default_factory=lambda: array("b"))
    places: "array[int]" = field(default_factory=lambda: array("q"))
    """Of the record or sample of each: trials of one belong together."""
    outcomes: int = 0
    """All answers and failures, these among them."""

    def add(self, confidence: float, place: int, *, is_right: bool) -> None:
        """Add one answer."""
        self.confidences.append(confidence)
        self.verdicts.append(is_right)
        self.places.append(place)

    def add_outcome(
        self, outcome: Outcome, checks: Collection[tuple[str, str]], *, has_self_reports: bool
    ) -> None:
        """Add the outcome of a finalized task, if it counts.

        `checks` are the scorers that check samples, each with its task.
        """
        verdict = _first_verdict(outcome, checks)
        confidence = outcome.trace.confidence if outcome.trace else None
        report = find_self_report(outcome.scores)
        if report is not None or has_self_reports:
            confidence = report.values.get("confidence") if report else None
        if verdict is not None and confidence is not None:
            place = crc32(outcome.task.encode()) << _ORDINAL_BITS | outcome.ordinal
            self.add(confidence, place, is_right=verdict)


def _first_verdict(outcome: Outcome, checks: Collection[tuple[str, str]]) -> bool | None:
    is_undecided = outcome.failure is not None and outcome.failure.stage == "action"
    if not outcome.actions and not is_undecided:
        for scorer, score in outcome.scores.items():
            if score.correct is not None and (outcome.task, scorer) not in checks:
                return score.correct
    return None


class _SortedAnswers(Struct, frozen=True):
    """The same as arrays, in the order of their places."""

    p: NDArray[np.float64]
    right: NDArray[np.bool_]
    places: NDArray[np.int64]

    @property
    def groups(self) -> NDArray[np.int64] | None:
        """Which of them belong together; None where none do, and much is faster."""
        return None if np.all(np.diff(self.places) > 0) else self.places

    def where(self, which: NDArray[np.bool_]) -> "_SortedAnswers":
        """Some of them."""
        return _SortedAnswers(self.p[which], self.right[which], self.places[which])


def recalibrate(
    report: ReportBody,
    outcomes: Iterable[Outcome],
    *,
    bins: int,
    seed: int = 0,
    calibrate: bool = False,
    has_self_reports: bool = False,
) -> dict[str, CalibrationRow]:
    """Return a row per model of a stored report, over the outcomes of its finalized tasks."""
    checks = {(row.task, row.scorer) for row in report.metrics if row.purpose == "qa"}
    answers = {model: Answers() for model in report.models}
    for outcome in outcomes:
        if known := answers.get(outcome.model):
            known.outcomes += 1
            known.add_outcome(outcome, checks, has_self_reports=has_self_reports)
    return {
        model: calibration_row(known, bins=bins, seed=seed, calibrate=calibrate)
        for model, known in answers.items()
    }


def calibration_row(
    answers: Answers, *, bins: int, seed: int = 0, calibrate: bool = False
) -> CalibrationRow:
    """Return the figures over the answers, with a temperature where one is asked for."""
    ordered = _sort_answers(answers)
    measured = measure_calibration(ordered.p, ordered.right, bins=bins)
    row = CalibrationRow(
        bins=measured.bins,
        populated_bins=measured.populated_bins,
        covered=ordered.p.size,
        n=answers.outcomes,
        scaled=_fit_on_half(ordered, bins=bins, seed=seed) if calibrate else None,
    )
    if not row.covered:
        return row
    return structs.replace(
        row,
        reliability=measured.parts.reliability,
        resolution=measured.parts.resolution,
        uncertainty=measured.parts.uncertainty,
        **structs.asdict(_figures(ordered, bins=bins, seed=seed)),
    )


def _sort_answers(answers: Answers) -> _SortedAnswers:
    p, right = np.asarray(answers.confidences), np.asarray(answers.verdicts, dtype=np.bool_)
    places = np.asarray(answers.places, dtype=np.int64)
    if np.all(np.diff(places) > 0):  # as rows come from a store
        return _SortedAnswers(p, right, places)
    order = np.lexsort((right, p, places))
    return _SortedAnswers(p[order], right[order], places[order])


def _figures(answers: _SortedAnswers, *, bins: int, seed: int) -> CalibrationFigures:
    p, right, groups = answers.p, answers.right, answers.groups
    measured = measure_calibration(p, right, bins=bins)
    error, score = measured.ece, measured.brier
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


def _fit_on_half(answers: _SortedAnswers, *, bins: int, seed: int) -> ScaledRow:
    first = _first_half(answers.places, seed=seed)
    fitted, held_out = answers.where(first), answers.where(~first)
    sizes = fitted.p.size, held_out.p.size
    reason = ""
    if min(sizes) < _FEWEST:
        reason = (
            f"a temperature needs {_FEWEST} answers with a confidence in each half, "
            f"of different records; there are {sizes[0]} and {sizes[1]}"
        )
    elif np.allclose(fitted.p, _EVEN, rtol=0, atol=_NEARLY):
        reason = "every confidence that it would be fitted on is 50 %, which no temperature changes"
    if reason:
        return ScaledRow(reason=reason, fitted_on=sizes[0], n=sizes[1])
    temperature = fit_temperature(fitted.p, fitted.right, groups=fitted.groups)
    moved = apply_temperature(held_out.p, temperature.value)
    after = _SortedAnswers(moved, held_out.right, held_out.places)
    raw, scaled = (_figures(half, bins=bins, seed=seed) for half in (held_out, after))
    measured = measure_calibration(after.p, after.right, bins=bins)
    better = (after.p - after.right) ** 2 - (held_out.p - held_out.right) ** 2
    paired = grouped_mean_interval((better + 1) / 2, held_out.groups, seed=seed)
    return ScaledRow(
        reason=_ENDS.get(temperature.end, ""),
        fitted_on=sizes[0],
        n=sizes[1],
        temperature=temperature.value,
        temperature_low=temperature.low,
        temperature_high=temperature.high,
        raw=raw,
        scaled=scaled,
        brier_difference=scaled.brier - raw.brier,
        brier_difference_low=2 * paired.low - 1 if paired else None,
        brier_difference_high=2 * paired.high - 1 if paired else None,
        bins=measured.bins,
        populated_bins=measured.populated_bins,
    )


def _first_half(places: NDArray[np.int64], *, seed: int) -> NDArray[np.bool_]:
    """Which answers a temperature is fitted on: those of half the records, drawn by a hash.

    A hash of the place and not a generator's draws: the same for every model that has answered the
    same records, and for every version of numpy.
    """
    records = np.unique(places)
    drawn = records[np.argsort(_hash_places(records, seed), kind="stable")]
    half: NDArray[np.bool_] = np.isin(places, drawn[: len(records) // 2])
    return half


def _hash_places(places: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: neighbours are far apart. Steele et al. (2014), OOPSLA."""
    mixed: NDArray[np.uint64] = places.astype(np.uint64) + np.uint64(1)
    for salt in (seed, 0):
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(31)
    return mixed


def calibration_tables(report: Report) -> list[Table]:
    """Return the tables of models that said how sure they are."""
    rows = {model: row for model, row in report.calibration.items() if row.covered}
    return [_figures_table(rows), _temperatures_table(rows)]


def _figures_table(rows: dict[str, CalibrationRow]) -> Table:
    return Table(
        "Calibration",
        ("model", "ECE", "95 % interval", "Brier", "95 % interval", "bins", "answers"),
        [
            (
                shorten(model),
                *_figure_cells(row),
                f"{row.populated_bins}/{len(row.bins)}",
                f"{row.covered}/{row.n}",
            )
            for model, row in rows.items()
        ],
        frozenset(range(1, 7)),
        "only answers with a confidence; lower ECE and Brier scores are better; "
        "with few answers per bin, ECE is too high",
        (_LEGEND, *(line for model, row in rows.items() for line in ("", *_diagram(model, row)))),
    )


def _diagram(model: str, row: CalibrationRow) -> Iterator[str]:
    yield f" {shorten(model)}"
    yield from draw_bins(row.bins)
    parts = row.brier, row.reliability, row.resolution, row.uncertainty
    brier, reliability, resolution, uncertainty = map(format_number, parts)
    yield (
        f" Brier {brier} ≈ reliability {reliability} "
        f"- resolution {resolution} + uncertainty {uncertainty}"
    )


def draw_bins(bins: Sequence[Bin]) -> Iterator[str]:
    """Yield the head of a diagram, and a line per bin that holds answers."""
    digits = 2 if len(bins) <= _MOST_WITH_TWO_DIGITS else 3
    scale = f"{'0':<{_WIDTH // 2 - 1}}{'0.5':<{_WIDTH // 2}}1"
    yield f"  {'confidence':<{2 * digits + 6}} {scale}   sure  right  answers"
    for cell in bins:
        if cell.confidence is not None and cell.accuracy is not None:
            place = f"{cell.low:.{digits}f}-{cell.high:.{digits}f}"
            yield (
                f"  {place:>{2 * digits + 6}} {_bar(cell.accuracy, cell.confidence)}"
                f"   {cell.confidence:.2f}   {cell.accuracy:.2f} {cell.count:>8}"
            )


def _bar(accuracy: float, confidence: float) -> str:
    full, eighths = divmod(round(accuracy * _WIDTH * 8), 8)
    cells = [*_FULL * full, _EIGHTHS[eighths], *"·" * _WIDTH][:_WIDTH]
    cells[min(int(confidence * _WIDTH), _WIDTH - 1)] = _MARK
    return "".join(cells)


def _temperatures_table(rows: dict[str, CalibrationRow]) -> Table:
    fitted = {model: row.scaled for model, row in rows.items() if row.scaled}
    return Table(
        "Temperature scaling",
        ("model", "", "ECE", "95 % interval", "Brier", "95 % interval"),
        [line for model, row in fitted.items() for line in _before_and_after(model, row)],
        frozenset(range(2, 6)),
        "above 1: the model was too sure; fitted on one half of the records and tested on the "
        "other; all values here are for the test half",
        (
            _LEGEND,
            *(line for model, row in fitted.items() for line in _describe_temperature(model, row)),
        ),
    )


def _before_and_after(model: str, row: ScaledRow) -> Iterator[tuple[str, ...]]:
    if row.temperature is None or row.raw is None or row.scaled is None:
        yield (shorten(model), "not fitted", *(NOTHING,) * 4)
        return
    yield (shorten(model), "raw", *_figure_cells(row.raw))
    yield ("", f"T = {_short_number(row.temperature)}", *_figure_cells(row.scaled))


def _figure_cells(figures: CalibrationFigures | CalibrationRow) -> tuple[str, str, str, str]:
    return (
        format_number(figures.ece),
        format_interval(figures.ece_low, figures.ece_high),
        format_number(figures.brier),
        format_interval(figures.brier_low, figures.brier_high),
    )


def _describe_temperature(model: str, row: ScaledRow) -> Iterator[str]:
    yield ""
    if row.temperature is None:
        yield from _wrap(f"{shorten(model)}: {row.reason}")
        return
    yield (
        f" {shorten(model)} at T = {_short_number(row.temperature)} "
        f"[{_short_number(row.temperature_low)}, {_short_number(row.temperature_high)}]"
    )
    yield from draw_bins(row.bins)
    low, high = row.brier_difference_low, row.brier_difference_high
    if row.brier_difference is not None and low is not None and high is not None:
        yield (
            f" change of the Brier score, paired: {row.brier_difference:+.3f} "
            f"[{low:+.3f}, {high:+.3f}]{_describe_change(low, high)}"
        )
    fitted, judged = count_noun(row.fitted_on, "answer"), count_noun(row.n, "other")
    yield f" fitted on {fitted}, tested on {judged}"
    yield from _wrap(row.reason)


def _wrap(text: str) -> Iterator[str]:
    yield from wrap(text, _PAGE, initial_indent=" ", subsequent_indent=" ")


def _describe_change(low: float, high: float) -> str:
    if high < 0:
        return ", better"
    return ", worse" if low > 0 else ", which may be chance"


def _short_number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"
