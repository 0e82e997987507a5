"""Render the result of a judge check as text and tables."""

from collections.abc import Iterator, Sequence

from evalwright.report.judges import (
    Agreement,
    CorrectedScore,
    Figure,
    JudgeCheck,
    ProbeRow,
    RepeatsRow,
    SampleToLabel,
    UnreadableReplies,
    format_figure,
)
from evalwright.report.tables import NOTHING, Block, Facts, Table, count_noun, shorten
from evalwright.text.visible import visible

_MAX_LABELS = 12
_MAX_EXAMPLES = 5
_MAX_ID = 60
_FIGURE_NAMES = {
    "agreement": "agreement",
    "kappa": "Cohen's kappa",
    "exact": "equal scores",
    "within_a_tenth": "within a tenth of the range",
    "mean_absolute_difference": "mean absolute difference, as a share of the range",
    "mean_difference": "mean difference (judge − people), as a share of the range",
    "quadratic_kappa": "quadratic-weighted kappa",
    "concordance": "concordance (Lin)",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
}
_METHODS = {"rogan-gladen": "Rogan-Gladen", "ppi++": "PPI++"}
_COMPARED_NAMES = {"labels": "label", "is_correct": "correctness", "scores": "score"}


def render_judge_check(check: JudgeCheck) -> Iterator[Block]:
    """Render the whole check."""
    judge = check.judge
    yield visible(f"{judge.name}: {judge.type}, judged by {judge.model}, run {check.run_id}")
    if check.unreadable:
        yield ""
        yield from _render_unreadable(check.unreadable, f"{check.replies} replies")
    if check.agreement is not None:
        yield from _render_agreement(check.agreement)
    if check.repeats is not None:
        yield from _render_repeats(check.repeats)
    for probe in check.probes:
        yield from _render_probe(probe)
    if check.unreadable_again:
        yield ""
        yield from _render_unreadable(check.unreadable_again, "replies to probes and repeats")
    if check.to_label:
        yield ""
        yield "label these samples next (drawn at random, so that they can correct the mean)"
        yield _build_next_table(check.to_label)
    for note in check.notes:
        yield visible(f"note: {note}")


def _build_next_table(samples: Sequence[SampleToLabel]) -> Table:
    columns = ("sample_id", "model", "verdict", "output")
    rows = [
        (
            shorten(sample.sample_id, _MAX_ID),
            shorten(sample.model),
            shorten(sample.verdict),
            shorten(sample.output, _MAX_ID),
        )
        for sample in samples
    ]
    return Table("", columns, rows)


def _render_unreadable(rows: Sequence[UnreadableReplies], replies: str) -> Iterator[Block]:
    total = sum(row.count for row in rows)
    yield f"{replies}, {total} without a verdict, by rule"
    facts = []
    for row in rows:
        example = visible(shorten(row.example, _MAX_ID))
        facts.append((row.rule or "not stored", f"{row.count} (for example {example})"))
    yield Facts(facts, indent="  ")


def _render_agreement(agreement: Agreement) -> Iterator[Block]:
    yield ""
    yield visible(
        f"compared with {count_noun(agreement.n, 'human label')} ({agreement.source}), "
        f"by {_COMPARED_NAMES[agreement.compared]}"
    )
    yield _list_estimates(agreement.figures)
    if agreement.corrected:
        yield from _render_corrections(agreement.corrected)
    if agreement.labels:
        for table in (_build_label_table(agreement), _build_confusion_table(agreement)):
            yield ""
            yield table
        if len(agreement.labels) > _MAX_LABELS:
            yield f"  … and {len(agreement.labels) - _MAX_LABELS} more labels: see --json"
    if agreement.disagreements:
        yield ""
        yield "  first disagreements:"
        for pair in agreement.disagreements[:_MAX_EXAMPLES]:
            verdicts = f"people {_format_verdict(pair.human)}, judge {_format_verdict(pair.judge)}"
            yield visible(f"    {shorten(pair.sample_id, _MAX_ID)}: {verdicts}")


def _render_corrections(rows: Sequence[CorrectedScore]) -> Iterator[Block]:
    yield ""
    yield f"mean score of all {rows[0].raw.n} samples"
    estimates = {"according to the judge": rows[0].raw}
    for row in rows:
        name = f"corrected with {count_noun(row.labels, 'label')} ({_METHODS[row.method]})"
        estimates[name] = row.corrected
    yield _list_estimates(estimates)


def _list_estimates(estimates: dict[str, Figure]) -> Facts:
    rows = []
    for name, estimate in estimates.items():
        text = format_figure(estimate)
        if estimate.value is not None and estimate.ci_low is None and estimate.reason:
            text = f"{text} ({estimate.reason})"
        rows.append((_FIGURE_NAMES.get(name, name), text))
    return Facts(rows, indent="  ")


def _build_label_table(agreement: Agreement) -> Table:
    columns = ("label", "people", "judge", "both", "recall", "precision")
    rows = []
    for row in agreement.labels[:_MAX_LABELS]:
        shares = (
            NOTHING if share.value is None else format_figure(share)
            for share in (row.recall, row.precision)
        )
        rows.append((shorten(row.label), str(row.human), str(row.judge), str(row.both), *shares))
    return Table("", columns, rows, frozenset(range(1, len(columns))))


def _build_confusion_table(agreement: Agreement) -> Table:
    judge_labels = list(next(iter(agreement.confusion.values()), {}))[:_MAX_LABELS]
    columns = ("people ↓, judge →", *map(shorten, judge_labels))
    rows = [
        (shorten(human_label), *(str(counts[label]) for label in judge_labels))
        for human_label, counts in list(agreement.confusion.items())[:_MAX_LABELS]
    ]
    return Table("", columns, rows, frozenset(range(1, len(columns))))


def _render_repeats(repeats: RepeatsRow) -> Iterator[Block]:
    yield ""
    yield f"{count_noun(repeats.n, 'sample')} judged {repeats.times} times"
    estimates = {
        "all verdicts equal": repeats.all_equal,
        "two verdicts equal, on average": repeats.pairwise,
    }
    if repeats.spread is not None:
        estimates["highest minus lowest, as a share of the range"] = repeats.spread
    yield _list_estimates(estimates)
    if repeats.failed:
        yield visible(f"  without a verdict: {repeats.failed} ({repeats.reason})")


def _render_probe(probe: ProbeRow) -> Iterator[Block]:
    yield ""
    yield f"probe {probe.probe}, {count_noun(probe.n, 'sample')}"
    if probe.n:
        yield _list_estimates({"verdicts that changed": probe.flips})
        for direction, count in probe.directions.items():
            yield visible(f"    {direction}: {count}")
        if probe.change is not None:
            yield _list_estimates({"mean change, as a share of the range": probe.change})
        if probe.examples:
            ids = (shorten(sample_id, _MAX_ID) for sample_id in probe.examples[:_MAX_EXAMPLES])
            yield f"  for example {', '.join(ids)}"
    if probe.failed:
        yield visible(f"  without a verdict: {probe.failed} ({probe.failure or probe.reason})")
    if probe.not_applicable:
        yield visible(f"  not applicable: {probe.not_applicable} ({probe.reason})")


def _format_verdict(verdict: str | float) -> str:
    return f"`{verdict}`" if isinstance(verdict, str) else f"{verdict:g}"
