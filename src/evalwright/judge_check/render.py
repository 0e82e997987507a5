"""The result of a judge check as lines of plain text."""

from collections.abc import Iterator

from evalwright.report.judges import (
    Agreement,
    Figure,
    JudgeCheck,
    ProbeRow,
    RepeatsRow,
    format_figure,
)
from evalwright.report.tables import align_rows, count_noun, shorten, visible

_MAX_LABELS = 12
_MAX_EXAMPLES = 5
_MAX_ID = 60
_FIGURE_NAMES = {
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
_COMPARED_NAMES = {"labels": "labels", "is_correct": "right or wrong", "scores": "scores"}


def render_check(check: JudgeCheck) -> Iterator[str]:
    """Render the whole check."""
    judge = check.judge
    yield visible(f"{judge.name}: {judge.type}, judged by {judge.model}, run {check.run_id}")
    if check.agreement is not None:
        yield from _render_agreement(check.agreement)
    if check.repeats is not None:
        yield from _render_repeats(check.repeats)
    for probe in check.probes:
        yield from _render_probe(probe)
    for note in check.notes:
        yield visible(f"note: {note}")


def _render_agreement(agreement: Agreement) -> Iterator[str]:
    yield ""
    yield visible(
        f"against {count_noun(agreement.n, 'label')} of people ({agreement.source}), "
        f"compared: {_COMPARED_NAMES[agreement.compared]}"
    )
    yield from _render_figures(agreement.figures)
    if agreement.labels:
        for table in (_build_label_table(agreement), _build_confusion_table(agreement)):
            yield ""
            yield from align_rows(table, right=range(1, len(table[0])), indent="  ")
    if agreement.disagreements:
        yield ""
        yield "  the first that they see differently:"
        for pair in agreement.disagreements[:_MAX_EXAMPLES]:
            verdicts = f"people {_format_verdict(pair.human)}, judge {_format_verdict(pair.judge)}"
            yield visible(f"    {shorten(pair.sample_id, _MAX_ID)}: {verdicts}")


def _render_figures(figures: dict[str, Figure]) -> Iterator[str]:
    rows = []
    for name, figure in figures.items():
        text = format_figure(figure)
        if figure.value is not None and figure.ci_low is None and figure.reason:
            text = f"{text} ({figure.reason})"
        rows.append((_FIGURE_NAMES.get(name, name), text))
    yield from align_rows(rows, indent="  ")


def _build_label_table(agreement: Agreement) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("label", "people", "judge", "both", "recall", "precision")]
    for row in agreement.labels[:_MAX_LABELS]:
        shares = (
            "–" if share.value is None else format_figure(share)
            for share in (row.recall, row.precision)
        )
        rows.append((shorten(row.label), str(row.human), str(row.judge), str(row.both), *shares))
    if len(agreement.labels) > _MAX_LABELS:
        more = f"… and {len(agreement.labels) - _MAX_LABELS} more: see --json"
        rows.append((more, "", "", "", "", ""))
    return rows


def _build_confusion_table(agreement: Agreement) -> list[tuple[str, ...]]:
    judge_labels = list(next(iter(agreement.confusion.values()), {}))[:_MAX_LABELS]
    rows: list[tuple[str, ...]] = [("people ↓, judge →", *map(shorten, judge_labels))]
    for human_label, counts in list(agreement.confusion.items())[:_MAX_LABELS]:
        rows.append((shorten(human_label), *(str(counts[label]) for label in judge_labels)))
    return rows


def _render_repeats(repeats: RepeatsRow) -> Iterator[str]:
    yield ""
    yield f"asked {repeats.times} times the same, {count_noun(repeats.n, 'sample')}"
    figures = {
        "all verdicts the same": repeats.all_equal,
        "two verdicts the same, on average": repeats.pairwise,
    }
    if repeats.spread is not None:
        figures["highest less lowest, of the range"] = repeats.spread
    yield from _render_figures(figures)
    if repeats.failed:
        yield visible(f"  without a verdict: {repeats.failed} ({repeats.reason})")


def _render_probe(probe: ProbeRow) -> Iterator[str]:
    yield ""
    yield f"probe {probe.probe}, {count_noun(probe.n, 'sample')}"
    if probe.n:
        yield from _render_figures({"verdicts that flip": probe.flips})
        for direction, count in probe.directions.items():
            yield visible(f"    {direction}: {count}")
        if probe.change is not None:
            yield from _render_figures({"mean change, of the range": probe.change})
        if probe.examples:
            ids = (shorten(sample_id, _MAX_ID) for sample_id in probe.examples[:_MAX_EXAMPLES])
            yield f"  such as {', '.join(ids)}"
    if probe.failed:
        yield visible(f"  without a verdict: {probe.failed} ({probe.failure or probe.reason})")
    if probe.not_applicable:
        yield visible(f"  not applicable: {probe.not_applicable} ({probe.reason})")


def _format_verdict(verdict: str | float) -> str:
    return f"`{verdict}`" if isinstance(verdict, str) else f"{verdict:g}"
