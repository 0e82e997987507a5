"""A check of a judge, for people: lines of plain text."""

from collections.abc import Iterator, Sequence

from evalwright.report.judges import (
    Agreement,
    Figure,
    JudgeCheck,
    ProbeRow,
    RepeatsRow,
    shown,
)
from evalwright.report.samples import visible
from evalwright.report.tables import counted, shortened

_MOST_LABELS = 12
_MOST_EXAMPLES = 5
_LONGEST_ID = 60
_NAMES = {
    "agreement": "agreement",
    "kappa": "Cohen's kappa",
    "exact": "the same score",
    "within_a_tenth": "within a tenth of the range",
    "mean_absolute_difference": "mean absolute difference, of the range",
    "mean_difference": "mean difference (judge less people), of the range",
    "quadratic_kappa": "quadratic-weighted kappa",
    "concordance": "concordance (Lin)",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
}
_COMPARED = {
    "labels": "labels",
    "is_correct": "right or wrong",
    "scores": "scores",
}


def check_lines(check: JudgeCheck) -> Iterator[str]:
    """All that was found."""
    judge = check.judge
    yield visible(f"{judge.name}: {judge.type}, judged by {judge.model}, run {check.run_id}")
    if check.agreement is not None:
        yield from _agreement(check.agreement)
    if check.repeats is not None:
        yield from _repeats(check.repeats)
    for probe in check.probes:
        yield from _probe(probe)
    for note in check.notes:
        yield visible(f"note: {note}")


def _agreement(found: Agreement) -> Iterator[str]:
    yield ""
    yield visible(
        f"against {counted(found.n, 'label')} of people ({found.source}), "
        f"compared: {_COMPARED[found.compared]}"
    )
    yield from _figures(found.figures)
    if found.labels:
        yield ""
        yield from _aligned(_label_cells(found), right=range(1, 7))
        yield ""
        yield from _aligned(_confusion_cells(found), right=range(1, 99))
    if found.disagreements:
        yield ""
        yield "  the first that they see differently:"
        for one in found.disagreements[:_MOST_EXAMPLES]:
            said = f"people {_said(one.human)}, judge {_said(one.judge)}"
            yield visible(f"    {shortened(one.sample_id, _LONGEST_ID)}: {said}")


def _figures(figures: dict[str, Figure]) -> Iterator[str]:
    cells = [(_NAMES.get(name, name), _told(one)) for name, one in figures.items()]
    yield from _aligned(cells, right=())


def _told(figure: Figure) -> str:
    told = shown(figure)
    if figure.value is not None and figure.ci_low is None and figure.reason:
        return f"{told} ({figure.reason})"
    return told


def _label_cells(found: Agreement) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("label", "people", "judge", "both", "recall", "precision")]
    for one in found.labels[:_MOST_LABELS]:
        counts = (str(one.human), str(one.judge), str(one.both))
        rows.append((shortened(one.label), *counts, _brief(one.recall), _brief(one.precision)))
    if len(found.labels) > _MOST_LABELS:
        more = f"… and {len(found.labels) - _MOST_LABELS} more: see --json"
        rows.append((more, "", "", "", "", ""))
    return rows


def _brief(figure: Figure) -> str:
    return "–" if figure.value is None else shown(figure)


def _confusion_cells(found: Agreement) -> list[tuple[str, ...]]:
    judged = list(next(iter(found.confusion.values()), {}))[:_MOST_LABELS]
    rows: list[tuple[str, ...]] = [("people ↓, judge →", *map(shortened, judged))]
    for human, counts in list(found.confusion.items())[:_MOST_LABELS]:
        rows.append((shortened(human), *(str(counts[one]) for one in judged)))
    return rows


def _repeats(found: RepeatsRow) -> Iterator[str]:
    yield ""
    yield f"asked {found.times} times the same, {counted(found.n, 'sample')}"
    figures = {
        "all verdicts the same": found.all_equal,
        "two verdicts the same, on average": found.pairwise,
    }
    if found.spread is not None:
        figures["highest less lowest, of the range"] = found.spread
    yield from _figures(figures)
    if found.failed:
        yield visible(f"  without a verdict: {found.failed} ({found.reason})")


def _probe(found: ProbeRow) -> Iterator[str]:
    yield ""
    yield f"probe {found.probe}, {counted(found.n, 'sample')}"
    if found.n:
        yield from _figures({"verdicts that flip": found.flips})
        for direction, count in found.directions.items():
            yield visible(f"    {direction}: {count}")
        if found.change is not None:
            yield from _figures({"mean change, of the range": found.change})
        if found.examples:
            some = (shortened(one, _LONGEST_ID) for one in found.examples[:_MOST_EXAMPLES])
            yield f"  such as {', '.join(some)}"
    if found.failed:
        yield visible(f"  without a verdict: {found.failed} ({found.failure or found.reason})")
    if found.not_applicable:
        yield visible(f"  not applicable: {found.not_applicable} ({found.reason})")


def _said(verdict: str | float) -> str:
    return f"`{verdict}`" if isinstance(verdict, str) else f"{verdict:g}"


def _aligned(rows: Sequence[tuple[str, ...]], *, right: Sequence[int]) -> Iterator[str]:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    for row in rows:
        cells = (
            f"{cell:>{width}}" if index in right else f"{cell:<{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield visible(f"  {'  '.join(cells)}".rstrip())
