"""How sure models are, and how right: figures, reliability diagrams, and what a temperature does.

A diagram has one line per bin that holds answers, and is 80 columns wide at most:

    confidence 0                  0.5                 1   sure  right  answers
     0.50-0.60 ████████████████████▌·◆·················   0.55   0.51       37

The bar is as long as the share of right answers, the mark lies at the mean confidence: a mark to
the right of its bar says that the model is too sure. Neither needs a colour.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from evalwright.report.report import CalibrationFigures, CalibrationRow, Report, ScaledRow
from evalwright.report.tables import (
    NOTHING,
    Table,
    count_noun,
    format_interval,
    format_number,
    shorten,
)
from evalwright.stats.calibration import Bin

_WIDTH = 40
"""Of a bar that is all right: a cell is a fortieth."""
_EIGHTHS = "·▏▎▍▌▋▊▉"
_FULL, _MARK = "█", "◆"
_LEGEND = f" bar: share of the answers that is right; {_MARK}: mean confidence"
_MOST_WITH_TWO_DIGITS = 100
_PAGE = 78


def calibration_tables(report: Report) -> list[Table]:
    """Return the tables of models that said how sure they are."""
    rows = {model: row for model, row in report.calibration.items() if row.covered}
    return [_figures(rows), _temperatures(rows)]


def _figures(rows: dict[str, CalibrationRow]) -> Table:
    return Table(
        "Calibration",
        ("model", "ECE", "95 % interval", "Brier", "95 % interval", "bins", "answers"),
        [
            (
                shorten(model),
                format_number(row.ece),
                format_interval(row.ece_low, row.ece_high),
                format_number(row.brier),
                format_interval(row.brier_low, row.brier_high),
                f"{row.populated_bins}/{len(row.bins)}",
                f"{row.covered}/{row.n}",
            )
            for model, row in rows.items()
        ],
        frozenset(range(1, 7)),
        "over the answers that came with a confidence; lower ECE and Brier are better; "
        "with few answers a bin, ECE comes out too high",
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


def _temperatures(rows: dict[str, CalibrationRow]) -> Table:
    fitted = {model: row.scaled for model, row in rows.items() if row.scaled}
    return Table(
        "Temperature scaling",
        ("model", "", "ECE", "95 % interval", "Brier", "95 % interval"),
        [line for model, row in fitted.items() for line in _before_and_after(model, row)],
        frozenset(range(2, 6)),
        "above 1: the model was too sure; fitted on one half of the records, judged on the other, "
        "which all figures here are of",
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


def _figure_cells(figures: CalibrationFigures) -> tuple[str, str, str, str]:
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
    yield f" fitted on {fitted}, judged on {judged}"
    yield from _wrap(row.reason)


def _wrap(text: str) -> Iterator[str]:
    yield from wrap(text, _PAGE, initial_indent=" ", subsequent_indent=" ")


def _describe_change(low: float, high: float) -> str:
    if high < 0:
        return ", better"
    return ", worse" if low > 0 else ", which may be chance"


def _short_number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3g}"
