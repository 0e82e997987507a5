"""Tasks that were run several times: the spread of their figures, and how far the runs agree."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalwright.engine.finish import Figure, names_of
from evalwright.report.report import AgreementRow, FlakyRow, RepeatRow

if TYPE_CHECKING:
    from evalwright.report.evaluation import Ended

_LONGEST = 80
_TOO_LARGE = "no spread: the figures are too large to be squared"


def repeat_rows(one: "Ended") -> Iterator[RepeatRow]:
    """A row for each figure that was measured in every run."""
    figures = one.finished.figures
    for name, figure in zip(names_of(figures), figures, strict=True):
        if figure.runs:
            yield _row(one, name, figure)


def _row(one: "Ended", name: str, figure: Figure) -> RepeatRow:
    import numpy as np

    from evalwright.stats.any_mean import student_interval
    from evalwright.stats.deviation import deviation
    from evalwright.stats.interval import Interval
    from evalwright.stats.plain_mean import LARGEST, plain_mean

    known = np.asarray([value for value in figure.runs if value is not None], dtype=np.float64)
    whole = known.size == len(figure.runs)
    reason = "" if whole else figure.measure.reason
    small = bool(known.size) and float(np.abs(known).max()) <= LARGEST
    spread = deviation(known) if whole and small else None
    interval = student_interval(known) if spread else None
    if interval and figure.bounded:
        interval = Interval(max(0.0, interval.low), min(1.0, interval.high), interval.method)
    if whole and not interval:
        reason = "no interval: all runs gave the same" if small else _TOO_LARGE
    return RepeatRow(
        task=one.task,
        model=one.model,
        scorer=figure.scorer,
        metric=name,
        runs=len(figure.runs),
        mean=plain_mean(known.tolist()) if whole else None,
        std=spread,
        min=float(known.min()) if whole else None,
        max=float(known.max()) if whole else None,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        interval=interval.method if interval else None,
        values=list(figure.runs),
        reason=reason,
    )


def agreement_rows(one: "Ended", runs: int) -> Iterator[AgreementRow]:
    """A row for each score."""
    for found in one.finished.agreements:
        interval = found.interval
        yield AgreementRow(
            task=one.task,
            model=one.model,
            scorer=found.scorer,
            score=found.score,
            agreement=found.mean,
            ci_low=interval.low if interval else None,
            ci_high=interval.high if interval else None,
            interval=interval.method if interval else None,
            n=found.n,
            flaky=found.flaky,
            runs=runs,
        )


def flaky_rows(one: "Ended") -> Iterator[FlakyRow]:
    """The worst samples."""
    for found in one.finished.flaky:
        yield FlakyRow(
            task=one.task,
            model=one.model,
            sample_id=found.sample_id,
            scorer=found.scorer,
            score=found.score,
            agreement=found.agreement,
            values=[(_cut(value), runs) for value, runs in found.values],
        )


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
