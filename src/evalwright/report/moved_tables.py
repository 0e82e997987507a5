"""What moved against the parent run, as tables and a sentence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalwright.report.export import to_json
from evalwright.report.moved import ChangedSample, MovedMetric, MovedScores
from evalwright.report.tables import (
    NOTHING,
    Table,
    TableColumn,
    count_column,
    count_noun,
    decimal_column,
    make_table,
    name_column,
    numeric_column,
    shorten,
)

if TYPE_CHECKING:  # which has the method that writes markdown
    from evalwright.report.report import Report

_COUNTS = {
    "mixed": "mixed",
    "unmatched": "unmatched",
    "recovered": "failed before",
    "newly_failed": "fails now",
}
"""Columns that are left out where they are 0 everywhere."""


def moved_tables(report: "Report") -> Iterator[Table]:
    """Yield the metrics that moved, and the first samples whose scores changed."""
    if report.moved is None:
        return
    moved = report.moved
    rows = [row for row in moved.metrics if row.has_difference]
    models = [name_column("model")] if len({row.model for row in rows}) > 1 else []
    yield make_table(
        f"Changes since {moved.parent}",
        rows,
        [
            name_column("task"),
            *models,
            *map(name_column, ("scorer", "metric")),
            *([name_column("group")] if any(row.group is not None for row in rows) else []),
            numeric_column("before", _format_before),
            decimal_column("after"),
            decimal_column("difference", flag="+"),
            numeric_column("up / down", lambda row: f"{row.up} / {row.down}"),
            *[
                count_column(name, head)
                for name, head in _COUNTS.items()
                if any(getattr(row, name) for row in rows)
            ],
        ],
        _explain_counts(moved, rows),
    )
    shown = len(moved.samples)
    command = f"`evalwright show {report.name or report.run_id} --changed`"
    yield make_table(
        "Changed scores",
        moved.samples,
        [
            TableColumn("sample", _name_sample),
            name_column("task"),
            *models,
            name_column("scorer"),
            TableColumn("before", lambda row: _format_values(row.before)),
            TableColumn("after", lambda row: _format_values(row.after)),
        ],
        f"the first {shown}; {count_noun(moved.changed, 'sample')} changed: {command} shows all"
        if moved.changed > shown
        else f"{command} shows the answers",
    )


def describe_moved_scores(report: "Report") -> list[str]:
    """Return the sentence about a run in which nothing moved, or of which nothing is known."""
    if report.moved is None:
        return []
    if report.moved.has_same_scores:
        return [f"No score changed: the results are the same as in {report.moved.parent}"]
    return [report.moved.reason] if report.moved.reason else []


def _format_before(row: MovedMetric) -> str:
    if row.before is None:
        return "new" if row.after is not None else NOTHING
    return f"{row.before:.3f}"


def _explain_counts(moved: MovedScores, rows: list[MovedMetric]) -> str:
    parts = ["up / down: samples whose scores from this scorer rose or fell"]
    if any(row.mixed for row in rows):
        parts.append("mixed: changed in no single direction")
    if any(row.unmatched for row in rows):
        parts.append("unmatched: samples that are in only one of the runs")
    unmoved = len(moved.metrics) - len(rows)
    if unmoved:
        parts.append(f"{count_noun(unmoved, 'metric')} did not change")
    return "; ".join(parts)


def _name_sample(row: ChangedSample) -> str:
    return shorten(row.sample_id) + (f" (trial {row.trial + 1})" if row.trial else "")


def _format_values(values: dict[str, Any]) -> str:
    """`0.5` of a single score, `f1 0.5, em 0` of several."""
    if len(values) == 1:
        return shorten(to_json(next(iter(values.values()))).decode())
    return ", ".join(f"{name} {shorten(to_json(value).decode())}" for name, value in values.items())
