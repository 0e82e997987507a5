"""Whether a run is at least as good as a baseline: non-inferiority per metric.

    holds      the whole interval of the difference is above −margin
    worse      the whole interval is below −margin
    undecided  neither: more samples are needed

For a metric of which a smaller value is better, the sides are swapped.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from evalwright.comparison.report import ComparisonReport, ComparisonRow, Flip
from evalwright.comparison.statistic import round_up
from evalwright.comparison.tables import describe_flip, diff_outputs, flip_item
from evalwright.report.ci_formats import JunitCase, github_command
from evalwright.report.layout import lay_out_blocks
from evalwright.report.policies import Judgement, gate_lines, gate_markdown
from evalwright.report.tables import (
    Block,
    Table,
    TableColumn,
    count_column,
    count_noun,
    decimal_column,
    interval_column,
    make_table,
    name_column,
    shorten,
    table_to_markdown,
)
from evalwright.stats.power import required_samples

DEFAULT_MARGIN = 0.02
BaselineVerdict = Literal["holds", "worse", "undecided"]
_RANK: tuple[BaselineVerdict, ...] = ("holds", "undecided", "worse")
_MOST_FLIPS = 10


class BaselineRow(Struct, frozen=True, kw_only=True):
    """One metric of the run, compared with the baseline. `difference` is run − baseline."""

    task: str
    model: str
    baseline_model: str
    scorer: str
    metric: str
    group: str | None
    value: float | None
    baseline_value: float | None
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    n: int
    lower_is_better: bool
    verdict: BaselineVerdict
    reason: str
    n_needed: int | None
    """Number of samples that would decide it with 80 % probability; null if it is decided."""


class BaselineCheck(Struct, frozen=True, kw_only=True):
    """The comparison of a run with a baseline."""

    run_id: str
    """The baseline."""
    name: str
    margin: float
    verdict: BaselineVerdict
    """`worse` if any metric is worse, else `undecided` if any is undecided."""
    rows: list[BaselineRow]
    flips: list[Flip]
    flipped: int
    warnings: list[str]


class GateResult(Judgement, frozen=True, kw_only=True):
    """What `evalwright gate --json` prints."""

    baseline: BaselineCheck | None = None

    @property
    def exit_code(self) -> int:
        """0 if everything holds, 1 if anything fails, 5 if the baseline check is undecided."""
        if not self.holds:
            return 1
        return 5 if self.baseline is not None and self.baseline.verdict == "undecided" else 0

    def __str__(self) -> str:
        """Return the text that `evalwright gate` prints."""
        return "\n".join(lay_out_blocks(gate_blocks(self), None))


def check_baseline(comparison: ComparisonReport, *, name: str) -> BaselineCheck:
    """Judge each comparison by the margin; A is the baseline."""
    margin = comparison.margin
    rows = [_judge(row, margin) for row in comparison.comparisons]
    worst = max((_RANK.index(row.verdict) for row in rows), default=1)
    return BaselineCheck(
        run_id=comparison.a,
        name=name,
        margin=margin,
        verdict=_RANK[worst],
        rows=rows,
        flips=sorted(comparison.flips, key=lambda flip: flip.kind != "worse")[:_MOST_FLIPS],
        flipped=comparison.flipped,
        warnings=comparison.warnings,
    )


def _judge(row: ComparisonRow, margin: float) -> BaselineRow:
    verdict, reason, needed = _decide(row, margin)
    return BaselineRow(
        task=row.task_b or row.task,
        model=row.model_b,
        baseline_model=row.model_a,
        scorer=row.scorer,
        metric=row.metric,
        group=row.group,
        value=row.value_b,
        baseline_value=row.value_a,
        difference=row.difference,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        n=row.n,
        lower_is_better=row.lower_is_better,
        verdict=verdict,
        reason=reason,
        n_needed=needed,
    )


def _decide(row: ComparisonRow, margin: float) -> tuple[BaselineVerdict, str, int | None]:
    if row.difference is None or not row.n:
        return "undecided", "no sample was completed by both runs", None
    if not row.wins and not row.losses:
        return "holds", "no sample changed its score", None
    if row.ci_low is None or row.ci_high is None:
        return "undecided", "there is no interval: the scores show no spread", None
    sign = -1 if row.lower_is_better else 1
    gain = sign * row.difference
    worst, best = sorted((sign * row.ci_low, sign * row.ci_high))
    if worst > -margin:
        return "holds", f"at worst {abs(worst):.3f} {'worse' if worst < 0 else 'better'}", None
    if best < -margin:
        return "worse", f"at least {-best:.3f} worse", None
    return "undecided", *_describe_shortage(row, gain + margin)


def _describe_shortage(row: ComparisonRow, distance: float) -> tuple[str, int | None]:
    """Return how many samples would move the interval to one side of −margin."""
    if row.mde is None or not distance:
        return "the interval includes the margin", None
    deviation = row.mde * math.sqrt(row.n) / _DETECTABLE
    needed = max(row.n + 1, required_samples(deviation, distance))
    more = round_up(needed - row.n)
    noun = "sample" if more == 1 else "samples"
    return f"the interval includes the margin; about {more:,} more {noun} would settle it", needed


_DETECTABLE = 1.959964 + 0.841621
"""Standard errors in `ComparisonRow.mde`."""


def gate_blocks(result: GateResult) -> Iterator[Block]:
    """Yield the policies, then the baseline check."""
    if result.policies:
        yield from gate_lines(result)
    check = result.baseline
    if check is None:
        return
    if result.policies:
        yield ""
    yield f"baseline {check.name}: {_sentence(check)}"
    for warning in check.warnings:
        yield f"warning: {warning}"
    yield baseline_table(check)
    yield f"  difference: run − baseline; margin {check.margin:g}"
    worse = [flip for flip in check.flips if flip.kind == "worse"]
    has_tasks = len({row.task for row in check.rows}) > 1
    if worse and check.verdict != "holds":
        yield ""
        yield _flips_title(check, len(worse))
        for flip in worse:
            yield f"  {describe_flip(flip, with_task=has_tasks)}"
            yield f"    {diff_outputs(flip)}"


def _flips_title(check: BaselineCheck, shown: int) -> str:
    changed = count_noun(check.flipped, "sample")
    return f"{changed} changed; {shown} that got worse"


def _sentence(check: BaselineCheck) -> str:
    count = sum(row.verdict == check.verdict for row in check.rows)
    return {
        "holds": "the run is not worse",
        "worse": f"the run is worse in {count} of {len(check.rows)} metrics",
        "undecided": f"undecided in {count} of {len(check.rows)} metrics: more samples are needed",
    }[check.verdict]


def baseline_table(check: BaselineCheck) -> Table:
    """Return one row per metric."""
    rows = check.rows
    columns = [name_column("task")]
    if len({row.model for row in rows}) > 1:
        columns.append(name_column("model"))
    if len({row.scorer for row in rows}) > 1:
        columns.append(name_column("scorer"))
    columns.append(name_column("metric"))
    if any(row.group is not None for row in rows):
        columns.append(TableColumn("group", lambda row: shorten(row.group or "all")))
    columns += [
        decimal_column("baseline_value", "baseline"),
        decimal_column("value", "run"),
        decimal_column("difference", flag="+"),
        interval_column(flag="+"),
        count_column("n", "samples"),
        TableColumn("verdict", lambda row: row.verdict),
        TableColumn("why", lambda row: row.reason),
    ]
    return make_table("Compared with the baseline", rows, columns)


def gate_page(result: GateResult) -> str:
    """Return Markdown for a pull request: the verdict, the tables and the worst flips."""
    check = result.baseline
    if check is None:
        return gate_markdown(result)
    lines = [f"# {_sentence(check).capitalize()}", ""]
    lines.append(f"Run `{result.run_id}`, baseline `{check.name}`, margin {check.margin:g}.")
    if check.warnings:
        lines += ["", *(f"> **Changed:** {warning}" for warning in check.warnings)]
    lines += ["", table_to_markdown(baseline_table(check))]
    if result.policies:
        lines += ["", gate_markdown(result).replace("# ", "## ", 1).rstrip()]
    worse = [flip for flip in check.flips if flip.kind == "worse"]
    has_tasks = len({row.task for row in check.rows}) > 1
    if worse:
        lines += ["", f"## {_flips_title(check, len(worse))}", ""]
        for flip in worse:
            lines += flip_item(flip, describe_flip(flip, with_task=has_tasks))
    return "\n".join(lines) + "\n"


def gate_annotations(result: GateResult) -> Iterator[str]:
    """Yield a GitHub workflow command per rule and metric that does not hold."""
    for case in gate_cases(result):
        if case.failure:
            yield github_command("error", case.failure, title=case.name)
        elif case.error:
            yield github_command("warning", case.error, title=case.name)


def gate_cases(result: GateResult) -> Sequence[JunitCase]:
    """Return a case per policy rule and per metric that was compared with the baseline."""
    cases = [
        JunitCase(suite=rule.policy, name=rule.rule, failure="" if rule.holds else rule.reason)
        for rule in result.policies
    ]
    for row in result.baseline.rows if result.baseline else ():
        name = "/".join(filter(None, (row.task, row.model, row.scorer, row.metric, row.group)))
        text = "" if row.verdict == "holds" else f"{row.verdict}: {row.reason}"
        cases.append(
            JunitCase(
                suite="baseline",
                name=name,
                failure=text if row.verdict == "worse" else "",
                error=text if row.verdict == "undecided" else "",
            )
        )
    return cases
