"""A comparison as text for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalwright.report.tables import (
    NOTHING,
    Block,
    Facts,
    Table,
    TableColumn,
    count_column,
    count_noun,
    decimal_column,
    dollars,
    escape_markdown,
    interval_column,
    make_table,
    name_column,
    numeric_column,
    shorten,
    table_to_markdown,
)
from evalwright.text.word_diff import diff_words, mark_parts, trim_parts

if TYPE_CHECKING:  # which has the method that writes markdown
    from evalwright.comparison.report import ComparedRun, ComparisonReport, ComparisonRow, Flip

_LONGEST_DIFF = 400


def comparison_blocks(report: ComparisonReport) -> Iterator[Block]:
    """Yield the verdicts, what differs besides the results, the numbers and the flips."""
    yield Facts([*_run_facts(report)])
    yield ""
    for warning in report.warnings:
        yield f"warning: {warning}"
    if report.warnings:
        yield ""
    yield comparison_table(report)
    for note in _notes(report):
        yield f"  {note}"
    yield ""
    yield from _flip_blocks(report)


def _run_facts(report: ComparisonReport) -> Iterator[tuple[str, str]]:
    for place, run in enumerate(report.runs):
        label = "A" if not place else "B" if len(report.runs) == len("AB") else f"B{place}"
        yield label if len(report.runs) > 1 else "run", _describe_run(run)


def _describe_run(run: ComparedRun) -> str:
    name = f"{run.name} ({run.id})" if run.name else run.id
    parts = [name, ", ".join(map(shorten, run.models))]
    if run.cost is not None:
        parts.append(dollars(run.cost))
    if run.latency_s is not None:
        parts.append(f"median latency {run.latency_s:.2f} s")
    if run.failed:
        parts.append(f"{run.failed} failed")
    return "  ".join(filter(None, parts))


def comparison_table(report: ComparisonReport) -> Table:
    """Return one row per comparison; columns that say the same in all rows are left out."""
    rows = report.comparisons
    has_models = any(row.model_a != row.model_b for row in rows)
    columns = [name_column("task")] if len({row.task for row in rows}) > 1 else []
    if any(row.task_b for row in rows):
        columns.append(TableColumn("task of B", lambda row: shorten(row.task_b or row.task)))
    if has_models:
        columns += [name_column("model_a", "A"), name_column("model_b", "B")]
    elif len({row.model_a for row in rows}) > 1:
        columns.append(name_column("model_a", "model"))
    if len(report.runs) > len("AB"):
        names = {run.id: run.name or run.id for run in report.runs}
        columns.append(TableColumn("run B", lambda row: shorten(names.get(row.run_b, row.run_b))))
    if len({row.scorer for row in rows}) > 1:
        columns.append(name_column("scorer"))
    columns.append(name_column("metric"))
    if any(row.group is not None for row in rows):
        columns.append(TableColumn("group", lambda row: shorten(row.group or "all")))
    columns += [
        decimal_column("value_a", "value A" if has_models else "A"),
        decimal_column("value_b", "value B" if has_models else "B"),
        decimal_column("difference", "B − A", flag="+"),
        interval_column(flag="+"),
        numeric_column("p", lambda row: format_p(row.p_adjusted)),
        count_column("n", "samples"),
    ]
    if any(row.clusters is not None for row in rows):
        columns.append(numeric_column("clusters", lambda row: str(row.clusters or NOTHING)))
    columns.append(TableColumn("verdict", lambda row: row.verdict))
    return make_table("Comparison", rows, columns)


def _notes(report: ComparisonReport) -> Iterator[str]:
    rows = report.comparisons
    count = sum(row.p_value is not None for row in rows)
    adjusted = f", adjusted for {count} comparisons" if count > 1 else ""
    yield f"verdicts are about B; samples are paired{adjusted}"
    undecided = [row for row in rows if row.verdict == "undecided" and row.n]
    for row in undecided[:5]:
        yield f"{_name_row(row, report)}: {row.reason}{_describe_mde(row)}"
    if len(undecided) > 5:  # noqa: PLR2004 - as many as above
        yield f"{len(undecided) - 5} more comparisons are undecided"
    lower = dict.fromkeys(row.metric for row in rows if row.lower_is_better)
    if lower:
        yield f"lower is better: {', '.join(lower)}"
    incomplete = [row for row in rows if row.incomplete_a or row.incomplete_b]
    if incomplete:
        row = incomplete[0]
        yield (
            f"{_name_row(row, report)}: left out, because one side did not complete them: "
            f"{count_noun(row.incomplete_a, 'sample')} of A, {row.incomplete_b} of B"
        )


def _name_row(row: ComparisonRow, report: ComparisonReport) -> str:
    names = [row.metric]
    if len({each.task for each in report.comparisons}) > 1:
        names.insert(0, row.task)
    if row.model_a != row.model_b:
        names.append(f"({row.model_a}, {row.model_b})")
    if row.group is not None:
        names.append(f"[{row.group}]")
    return " ".join(names)


def _describe_mde(row: ComparisonRow) -> str:
    if row.mde is None:
        return ""
    return f"; {row.n} samples can show a difference of {row.mde:.3f}"


def _flip_blocks(report: ComparisonReport) -> Iterator[Block]:
    if not report.flips:
        yield "no sample changed its score"
        return
    rest = report.flipped - len(report.flips)
    more = f"; {rest:,} more: --flips {report.flipped}" if rest else ""
    yield f"Flips: {count_noun(report.flipped, 'sample')} changed{more}"
    for line, flip in zip(_flip_lines(report), report.flips, strict=True):
        yield f"  {line}"
        yield f"    {diff_outputs(flip)}"


def _flip_lines(report: ComparisonReport) -> Iterator[str]:
    rows = report.comparisons
    with_task = len({row.task for row in rows}) > 1
    with_models = len({(row.model_a, row.model_b) for row in rows}) > 1
    for flip in report.flips:
        yield describe_flip(flip, with_task=with_task, with_models=with_models)


def describe_flip(flip: Flip, *, with_task: bool = False, with_models: bool = False) -> str:
    """Write `worse  capitals/fr  1 → 0, 25 % of the difference`."""
    name = f"{flip.task}/{flip.sample_id}" if with_task else flip.sample_id
    if with_models:
        name = f"{name} ({flip.model_a}, {flip.model_b})"
    parts = [f"{flip.kind:6} {name}  {flip.a:g} → {flip.b:g}"]
    if flip.share:
        parts.append(
            f"{abs(flip.share) * 100:.0f} % {'of' if flip.share > 0 else 'against'} the difference"
        )
    if flip.is_flaky:
        parts.append("flaky: its trials disagree")
    if flip.target:
        parts.append(f"target {_quote(flip.target)}")
    return ", ".join(parts)


def _quote(text: str) -> str:
    return f"`{shorten(text)}`"


def diff_outputs(flip: Flip) -> str:
    """Return both outputs as one text, with the words that differ marked."""
    if flip.output_a == flip.output_b:
        return "the outputs are the same" if flip.output_a else "no output is stored"
    parts = diff_words(flip.output_a, flip.output_b)
    return " ".join(mark_parts(trim_parts(parts, _LONGEST_DIFF)).split())


def to_markdown(report: ComparisonReport) -> str:
    """Return a page with the verdict first."""
    lines = [f"# {headline(report)}", ""]
    labels = ["A", "B"] if len(report.runs) == len("AB") else [""] * len(report.runs)
    for label, run in zip(labels, report.runs, strict=True):
        lines.append(f"- {label + ': ' if label else ''}`{run.id}` {_describe_run(run)}")
    lines += ["", *(f"> **Changed:** {warning}" for warning in report.warnings)]
    if report.warnings:
        lines.append("")
    lines += [table_to_markdown(comparison_table(report)), ""]
    lines += [f"{note[0].upper()}{note[1:]}.  " for note in _notes(report)]
    if report.flips:
        lines += ["", f"## Flips ({report.flipped})", ""]
        for line, flip in zip(_flip_lines(report), report.flips, strict=True):
            lines += flip_item(flip, line)
    return "\n".join(lines) + "\n"


def flip_item(flip: Flip, line: str) -> list[str]:
    """Return the lines of a Markdown list item: what flipped, and both outputs."""
    text = diff_outputs(flip).replace("```", "'''")
    return [f"- {escape_markdown(line)}", "", f"  ```text\n  {text}\n  ```"]


def headline(report: ComparisonReport) -> str:
    """Return the verdict in one sentence."""
    primary = [row for row in report.comparisons if row.group is None]
    counts = {
        verdict: sum(row.verdict == verdict for row in primary)
        for verdict in ("worse", "better", "equivalent", "undecided")
    }
    if len(primary) == 1:
        return f"B is {_verdict_words(primary[0])}"
    parts: Sequence[str] = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return f"B compared with A: {', '.join(parts) or 'nothing to compare'}"


def _verdict_words(row: ComparisonRow) -> str:
    return {
        "better": "better than A",
        "worse": "worse than A",
        "equivalent": "equivalent to A",
        "undecided": "not shown to differ from A",
    }[row.verdict]


def format_p(p: float | None) -> str:
    """Write a p-value with two significant digits."""
    if p is None:
        return "–"
    if p < 0.001:  # noqa: PLR2004 - the usual limit
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"  # noqa: PLR2004 - two significant digits
