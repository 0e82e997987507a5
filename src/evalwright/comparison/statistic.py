"""One metric of two sides: the numbers, and the verdict once all p-values are known."""

import math
from collections.abc import Sequence

from msgspec import structs

from evalwright.comparison.pairing import (
    MetricKey,
    PairedTerms,
    Pairing,
    paired_terms,
)
from evalwright.comparison.report import ComparisonRow, Verdict
from evalwright.comparison.tables import format_p
from evalwright.metrics.ratios import f1, share
from evalwright.stats.comparison import PairedComparison, compare_means, compare_ratios
from evalwright.stats.power import minimum_detectable, required_samples
from evalwright.stats.significance import holm

SIGNIFICANT = 0.05
_FEW = 5
"""With fewer samples, only the difference is shown."""


def compare_metric(
    pairing: Pairing,
    metric: MetricKey,
    *,
    has_clusters: bool,
    seed: int,
    group: str | None = None,
) -> tuple[ComparisonRow, PairedTerms]:
    """Return the row of a metric, without a verdict, and what it was computed from."""
    paired = paired_terms(pairing, metric, group)
    outline = pairing.a.metrics[metric]
    clusters = [sample.cluster for sample, _ in paired.samples] if has_clusters else None
    is_single = max(pairing.trials) == 1
    if outline.terms is None or outline.terms.form == "mean":
        result = compare_means(
            paired.a[:, 0] if paired.samples else paired.a.ravel(),
            paired.b[:, 0] if paired.samples else paired.b.ravel(),
            clusters=clusters,
            is_single_trial=is_single,
            seed=seed,
        )
    else:
        ratio = f1 if outline.terms.form == "f1" else share
        result = compare_ratios(paired.a, paired.b, ratio, clusters=clusters, seed=seed)
    return _row(pairing, metric, paired, result, group), paired


def _row(
    pairing: Pairing,
    metric: MetricKey,
    paired: PairedTerms,
    result: PairedComparison,
    group: str | None,
) -> ComparisonRow:
    a, b = pairing.a.side, pairing.b.side
    lower = pairing.a.metrics[metric].lower_is_better
    wins, losses = (result.losses, result.wins) if lower else (result.wins, result.losses)
    has_test = result.p_value is not None and result.n >= 1
    primary = a.task.primary
    return ComparisonRow(
        task=a.task.name,
        task_b=b.task.name if b.task.name != a.task.name else "",
        model_a=a.model,
        model_b=b.model,
        scorer=metric[0],
        metric=metric[1],
        value_a=result.value_a,
        value_b=result.value_b,
        difference=result.difference,
        ci_low=result.low,
        ci_high=result.high,
        p_value=result.p_value,
        p_adjusted=None,
        test=result.test if has_test else "none",
        n=result.n,
        clusters=result.clusters,
        wins=wins,
        losses=losses,
        ties=result.ties,
        verdict="undecided",
        reason="",
        mde=minimum_detectable(result.deviation, result.n)
        if result.n >= _FEW and result.deviation
        else None,
        n_needed=required_samples(result.deviation, result.difference)
        if result.difference and result.deviation
        else None,
        flipped=result.wins + result.losses,
        group=group,
        lower_is_better=lower,
        is_primary=primary is not None and (primary.scorer, primary.metric) == metric,
        run_a=a.run.run.id,
        run_b=b.run.run.id,
        only_a=len(pairing.a.samples) - len(pairing.shared),
        only_b=len(pairing.b.samples) - len(pairing.shared),
        incomplete_a=paired.incomplete_a,
        incomplete_b=paired.incomplete_b,
    )


def decide(rows: Sequence[ComparisonRow], *, margin: float) -> list[ComparisonRow]:
    """Return the rows with adjusted p-values and verdicts. All rows count as one family."""
    tested = [row.p_value for row in rows if row.p_value is not None]
    adjusted = iter(holm(tested))
    decided = []
    for row in rows:
        p_adjusted = None if row.p_value is None else next(adjusted)
        verdict, reason = _decide_row(row, p_adjusted, margin)
        needed = row.n_needed if verdict == "undecided" else None
        decided.append(
            structs.replace(
                row, p_adjusted=p_adjusted, verdict=verdict, reason=reason, n_needed=needed
            )
        )
    return decided


def _decide_row(row: ComparisonRow, p_adjusted: float | None, margin: float) -> tuple[Verdict, str]:
    if not row.n:
        return "undecided", "no sample was completed by both"
    if row.difference is None:
        return "undecided", "the metric is undefined on these samples"
    low, high = row.ci_low, row.ci_high
    if margin and low is not None and high is not None and -margin < low and high < margin:
        return "equivalent", f"the whole interval is within the margin of {margin:g}"
    has_direction = p_adjusted is not None and p_adjusted < SIGNIFICANT
    excludes_zero = low is not None and high is not None and (low > 0 or high < 0)
    if has_direction and excludes_zero:
        is_better = (row.difference > 0) != row.lower_is_better
        return ("better" if is_better else "worse"), f"p = {format_p(p_adjusted)}"
    if not row.wins and not row.losses:
        return "undecided", "no sample differs"
    return "undecided", _describe_shortage(row)


def _describe_shortage(row: ComparisonRow) -> str:
    if row.n_needed is None:
        return "the difference is 0" if not row.difference else "all samples differ by the same"
    more = row.n_needed - row.n
    if more <= 0:
        return "too close to call at this number of samples"
    about = round_up(more)
    noun = "sample is" if about == 1 else "samples are"
    return f"about {about:,} more {noun} needed to decide"


def round_up(number: int) -> int:
    """Round up to two significant digits: an estimate should not look exact."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return math.ceil(number / step) * step
