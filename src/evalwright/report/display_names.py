"""Display names: what people read in the place of keys.

JSON has the keys, by which tasks, scorers and metrics are addressed, and the display names beside
them. Tables show display names; where two things have the same one, the key stands after it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from evalwright.plan.outline import METRIC_NAMES, TaskOutline
from evalwright.report.report import DisplayNames, MetricRow, Report, ReportBody


def find_display_names(
    tasks: Iterable[TaskOutline],
    specifications: Mapping[str, Mapping[str, Any]],
    rows: Iterable[MetricRow],
) -> DisplayNames:
    """Return the names that authors gave, where they differ from the keys.

    `specifications` describe each task as its result log would.
    """
    scorers = {name: _scorer_names(described) for name, described in specifications.items()}
    return DisplayNames(
        tasks=_task_names(list(tasks)),
        scorers={task: names for task, names in scorers.items() if names},
        metrics=_metric_names(specifications, list(rows)),
    )


def _task_names(tasks: list[TaskOutline]) -> dict[str, str]:
    names = _tell_apart({task.name: task.display_name for task in tasks})
    shared: dict[str, set[str]] = {}
    for task in tasks:
        plain_name = task.display_name.removesuffix(f": {task.variant}")
        shared.setdefault(task.task_key, set()).add(plain_name)
    # A leaderboard of several specifications of one task goes by the key of the task.
    for key, given in shared.items():
        if key and len(given) == 1 and key not in {task.name for task in tasks}:
            names.update(_tell_apart({key: next(iter(given))}))
    return names


def _scorer_names(described: Mapping[str, Any]) -> dict[str, str]:
    scorers = described.get("scorers")
    listed = [scorer for scorer in scorers or () if isinstance(scorer, dict)]
    return _tell_apart(
        {str(scorer.get("key")): str(scorer.get("display_name") or "") for scorer in listed}
    )


def _metric_names(
    specifications: Mapping[str, Mapping[str, Any]], rows: list[MetricRow]
) -> dict[str, dict[str, dict[str, str]]]:
    values = {(row.task, row.scorer, row.key, row.metric) for row in rows}
    several = Counter((task, scorer, key) for task, scorer, key, _ in values)
    names: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        given = specifications.get(row.task, {}).get(METRIC_NAMES) or {}
        name = given.get(row.scorer, {}).get(row.key)
        if name:
            is_alone = several[row.task, row.scorer, row.key] == 1
            shown = name if is_alone else f"{name}: {row.name}"
            names.setdefault(row.task, {}).setdefault(row.scorer, {})[row.metric] = shown
    return names


def _tell_apart(names: Mapping[str, str]) -> dict[str, str]:
    """Return the names that say something, each with its key where another has the same."""
    counts = Counter(names.values())
    return {
        key: name if counts[name] == 1 else f"{name} ({key})"
        for key, name in names.items()
        if name and name != key
    }


def show_display_names(report: Report) -> Report:
    """Return the report with display names in the place of keys."""
    names = report.display_names
    if names == DisplayNames():
        return report
    changed: dict[str, Any] = {"tasks": [names.task(task) for task in report.tasks]}
    for field in ReportBody.__struct_fields__:
        rows = getattr(report, field)
        if isinstance(rows, list) and rows and hasattr(rows[0], "task"):
            changed[field] = [_rename(row, names) for row in rows]
    if report.moved is not None:
        changed["moved"] = structs.replace(
            report.moved,
            metrics=[_rename(row, names) for row in report.moved.metrics],
            samples=[_rename(row, names) for row in report.moved.samples],
        )
    return structs.replace(report, **changed)


def _rename(row: Any, names: DisplayNames) -> Any:
    scorer = getattr(row, "scorer", "")
    changed = {"task": names.task(row.task)}
    if scorer:
        changed["scorer"] = names.scorers.get(row.task, {}).get(scorer, scorer)
    if getattr(row, "metric", ""):
        changed["metric"] = names.metric(row.task, scorer, row.metric)
    return structs.replace(row, **changed)
