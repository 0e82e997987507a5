"""How sure models are, and how right: figures, reliability diagrams, and what a temperature does.

A diagram has one line a bin that holds answers, and is 80 columns wide at most:

    confidence 0                  0.5                 1   sure  right  answers
     0.50-0.60 ████████████████████▌·◆·················   0.55   0.51       37

The bar is as long as the share of right answers, the mark lies at the mean confidence: a mark to
the right of its bar says that the model is too sure. Neither needs a colour.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from evalwright.report.calibration_rows import CalibrationFigures, CalibrationRow, ScaledRow
from evalwright.report.report import Report
from evalwright.report.tables import Table, counted, shortened
from evalwright.stats.calibration import Bin

_WIDTH = 40
"""Of a bar that is all right: a cell is a fortieth."""
_EIGHTHS = "·▏▎▍▌▋▊▉"
_FULL, _MARK = "█", "◆"
_LEGEND = f" bar: share of the answers that is right; {_MARK}: mean confidence"
_MOST_WITH_TWO_DIGITS = 100
_PAGE = 78


def calibration_tables(report: Report) -> list[Table]:
    """Nothing for models that said nothing of how sure they are."""
    sure = {model: row for model, row in report.calibration.items() if row.covered}
    return [_figures(sure), _temperatures(sure)]


def _figures(rows: dict[str, CalibrationRow]) -> Table:
    return Table(
        "Calibration",
        ("model", "ECE", "95 % interval", "Brier", "95 % interval", "bins", "answers"),
        [
            (
                shortened(model),
                _number(row.ece),
                _interval(row.ece_low, row.ece_high),
                _number(row.brier),
                _interval(row.brier_low, row.brier_high),
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
    yield f" {shortened(model)}"
    yield from drawn(row.bins)
    yield (
        f" Brier {_number(row.brier)} ≈ reliability {_number(row.reliability)} "
        f"- resolution {_number(row.resolution)} + uncertainty {_number(row.uncertainty)}"
    )


def drawn(bins: Sequence[Bin]) -> Iterator[str]:
    """The diagram: its head, and a line for each bin that holds answers."""
    digits = 2 if len(bins) <= _MOST_WITH_TWO_DIGITS else 3
    scale = f"{'0':<{_WIDTH // 2 - 1}}{'0.5':<{_WIDTH // 2}}1"
    yield f"  {'confidence':<{2 * digits + 6}} {scale}   sure  right  answers"
    for one in bins:
        if one.confidence is not None and one.accuracy is not None:
            place = f"{one.low:.{digits}f}-{one.high:.{digits}f}"
            yield (
                f"  {place:>{2 * digits + 6}} {_bar(one.accuracy, one.confidence)}"
                f"   {one.confidence:.2f}   {one.accuracy:.2f} {one.count:>8}"
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
        (_LEGEND, *(line for model, row in fitted.items() for line in _at_t(model, row))),
    )


def _before_and_after(model: str, row: ScaledRow) -> Iterator[tuple[str, ...]]:
    if row.temperature is None or row.raw is None or row.scaled is None:
        yield (shortened(model), "not fitted", *("–",) * 4)
        return
    yield (shortened(model), "raw", *_shown(row.raw))
    yield ("", f"T = {_figure(row.temperature)}", *_shown(row.scaled))


def _shown(figures: CalibrationFigures) -> tuple[str, str, str, str]:
    return (
        _number(figures.ece),
        _interval(figures.ece_low, figures.ece_high),
        _number(figures.brier),
        _interval(figures.brier_low, figures.brier_high),
    )


def _at_t(model: str, row: ScaledRow) -> Iterator[str]:
    yield ""
    if row.temperature is None:
        yield from _wrapped(f"{shortened(model)}: {row.reason}")
        return
    yield (
        f" {shortened(model)} at T = {_figure(row.temperature)} "
        f"[{_figure(row.temperature_low)}, {_figure(row.temperature_high)}]"
    )
    yield from drawn(row.bins)
    low, high = row.brier_difference_low, row.brier_difference_high
    if row.brier_difference is not None and low is not None and high is not None:
        yield (
            f" change of the Brier score, paired: {row.brier_difference:+.3f} "
            f"[{low:+.3f}, {high:+.3f}]{_meaning(low, high)}"
        )
    yield f" fitted on {counted(row.fitted_on, 'answer')}, judged on {counted(row.n, 'other')}"
    yield from _wrapped(row.reason)


def _wrapped(text: str) -> Iterator[str]:
    yield from wrap(text, _PAGE, initial_indent=" ", subsequent_indent=" ")


def _meaning(low: float, high: float) -> str:
    if high < 0:
        return ", better"
    return ", worse" if low > 0 else ", which may be chance"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"
