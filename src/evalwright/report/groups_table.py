"""The metrics of groups as a table: the largest groups of each metric, and how many there are."""

from collections.abc import Sequence
from itertools import groupby

from evalwright.report.report import MetricRow
from evalwright.report.result_rows import SMALL_GROUP
from evalwright.report.tables import (
    Table,
    TableColumn,
    count_column,
    count_noun,
    decimal_column,
    explain_bounds,
    join_lines,
    make_table,
    marked_interval_column,
    name_column,
    numeric_column,
    shorten_message,
)

_MOST_GROUPS = 30
"""Groups of a metric in the table; JSON has all."""
_MOST_NAMED = 5


def groups_table(rows: Sequence[MetricRow]) -> Table:
    """Return one row per metric and group, in the order of the groups."""
    shown: list[MetricRow] = []
    notes = []
    for _, several in groupby(
        (row for row in rows if row.group is not None),
        key=lambda row: (row.task, row.model, row.scorer, row.metric),
    ):
        groups = list(several)
        shown += _largest(groups)
        if len(groups) > _MOST_GROUPS:
            notes.append(
                f"{join_lines(groups[0].metric)}: the {_MOST_GROUPS} largest of "
                f"{len(groups):,} groups; JSON has all"
            )
    columns = [
        name_column("task"),
        *([name_column("model")] if len({row.model for row in shown}) > 1 else []),
        name_column("scorer"),
        TableColumn("metric", lambda row: shorten_message(row.metric)),
        name_column("group"),
        decimal_column("value"),
        marked_interval_column(),
        numeric_column("samples", lambda row: f"{row.n}{' (small)' if row.small else ''}"),
    ]
    for name, head in (("failed", ""), ("excluded", ""), ("absent", "no value")):
        if any(getattr(row, name) for row in shown):
            columns.append(count_column(name, head))
    return make_table("Results by group", shown, columns, _note(rows, shown, notes))


def _largest(groups: Sequence[MetricRow]) -> list[MetricRow]:
    chosen = sorted(range(len(groups)), key=lambda place: -groups[place].n)[:_MOST_GROUPS]
    return [groups[place] for place in sorted(chosen)]


def _note(rows: Sequence[MetricRow], shown: Sequence[MetricRow], cut: Sequence[str]) -> str:
    first = "each group is measured on its own samples"
    if any(row.small for row in shown):
        first += f"; small: fewer than {SMALL_GROUP} samples, too few for a conclusion"
    lines = [first + explain_bounds(shown), *cut]
    ungrouped = {(row.task, row.scorer, row.key): row.ungrouped for row in rows if row.ungrouped}
    lines += [
        f"{join_lines(key)}: {count_noun(count, 'sample')} in no group, because `by` has no value"
        for (_, _, key), count in ungrouped.items()
    ]
    return "\n".join([*lines, *_explain_missing(shown)])


def _explain_missing(rows: Sequence[MetricRow]) -> list[str]:
    """Return why values or intervals are missing, each reason with the groups it applies to."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.reason and row.group is not None and (row.value is None or row.interval is None):
            reasons.setdefault(shorten_message(row.reason), {})[join_lines(row.group)] = None
    lines = []
    for reason, groups in reasons.items():
        names = [*groups]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        lines.append(f"{', '.join(names[:_MOST_NAMED])}{more}: {reason}")
    return lines
