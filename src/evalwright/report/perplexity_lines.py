"""Perplexity for people: lines of plain text, none of which is ever cut."""

from collections.abc import Iterator, Sequence

from evalwright.report.judges import Figure
from evalwright.report.perplexity import ModelPerplexity, PerplexityReport
from evalwright.report.samples import visible
from evalwright.report.tables import counted

_FIGURES = ("perplexity", "bits_per_byte", "bits_per_character")


def perplexity_lines(report: PerplexityReport) -> Iterator[str]:
    """Figures, differences, the worst documents, failures, what a reader must know."""
    yield from _models(report)
    if report.pairwise:
        yield ""
        yield from _pairs(report)
    for model in report.models:
        if model.documents > 1:
            yield ""
            yield from _worst(model)
    for kind in report.failures:
        yield ""
        places = ", ".join(kind.sample_ids) + ("…" if kind.count > len(kind.sample_ids) else "")
        said = f"{kind.message}" + (", among other reasons" if kind.messages > 1 else "")
        failed = counted(kind.count, "document")
        yield visible(f"failed with {kind.model}: {failed} ({places}): {said}")
        if kind.hint:
            yield visible(f"  hint: {kind.hint}")
    yield ""
    for note in report.notes:
        yield visible(f"note: {note}")
    yield _last_line(report)


def _models(report: PerplexityReport) -> Iterator[str]:
    head = ["model"]
    for name in _FIGURES:
        head += [name.replace("_", " "), "95 % interval"]
    rows = [(*head, "tokens", "documents")]
    for one in report.models:
        cells = [one.model]
        for name in _FIGURES:
            figure: Figure = getattr(one, name)
            digits = 2 if name == "perplexity" else 4
            cells += [_number(figure.value, digits), _interval(figure, digits)]
        done = f"{one.documents:,}/{report.summary.documents:,}"
        rows.append((*cells, f"{one.tokens:,}", done))
    yield from _aligned(rows, right=range(1, len(rows[0])))
    for one in report.models:
        yield from _lacking(one)


def _lacking(model: ModelPerplexity) -> Iterator[str]:
    """Why a figure has no value, or no interval."""
    figures = {name.replace("_", " "): getattr(model, name) for name in _FIGURES}
    reasons = dict.fromkeys(one.reason for one in figures.values() if one.reason)
    for reason in reasons:
        names = [name for name, one in figures.items() if one.reason == reason]
        valued = all(figures[name].value is not None for name in names)
        what = "no interval" if valued else "no value"
        yield visible(f"  {model.model}: {what} of {', '.join(names)}: {reason}")


def _pairs(report: PerplexityReport) -> Iterator[str]:
    rows = [("bits per byte", "difference", "95 % interval", "documents", "verdict")]
    for one in report.pairwise:
        ends = (one.ci_low, one.ci_high)
        shown = "–" if None in ends else f"[{', '.join(f'{end:+.4f}' for end in ends)}]"
        difference = "–" if one.difference is None else f"{one.difference:+.4f}"
        verdict = "significant" if one.significant else "tied" if shown != "–" else "–"
        rows.append((f"{one.a} − {one.b}", difference, shown, f"{one.n:,}", verdict))
    yield from _aligned(rows, right=(1, 2, 3))


def _worst(model: ModelPerplexity) -> Iterator[str]:
    rows = [(f"most surprising to {model.model}", "perplexity", "bits per byte", "tokens")]
    for one in model.worst:
        figures = (_number(one.perplexity, 2), _number(one.bits_per_byte, 4))
        rows.append((one.document, *figures, f"{one.tokens:,}"))
    yield from _aligned(rows, right=(1, 2, 3))


def _last_line(report: PerplexityReport) -> str:
    summary = report.summary
    of = counted(summary.documents, "document")
    of += f" with {len(report.models)} models" if len(report.models) > 1 else ""
    parts = [f"{of}: {summary.completed:,} weighed"]
    if summary.reused:
        parts[0] += f" ({summary.reused:,} of them before)"
    if summary.failed:
        parts.append(f"{summary.failed:,} failed")
    if summary.left_out:
        parts.append(f"{summary.left_out:,} without text left out")
    parts.append(f"{summary.wall_seconds:.1f} s")
    return ", ".join(parts)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _interval(figure: Figure, digits: int) -> str:
    if figure.ci_low is None:
        return "–"
    return f"[{_number(figure.ci_low, digits)}, {_number(figure.ci_high, digits)}]"


def _aligned(rows: Sequence[tuple[str, ...]], *, right: Sequence[int]) -> Iterator[str]:
    rows = [tuple(map(visible, row)) for row in rows]
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for row in rows:
        cells = (
            f"{cell:>{width}}" if index in right else f"{cell:<{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
