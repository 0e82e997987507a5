"""What differs between two runs besides their results, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalwright.comparison.pairing import Pairing
from evalwright.comparison.sides import Matchup
from evalwright.plan.manifest import describe_run_differences
from evalwright.plan.outline import TaskOutline

_UNFINISHED = {"running", "stopped", "failed"}


def describe_changes(pairing: Pairing, matchup: Matchup) -> Iterator[str]:
    """Yield what makes the two sides more than two answers to the same question."""
    a, b = matchup
    for side in {a.run.run.id: a.run, b.run.run.id: b.run}.values():
        if side.run.status in _UNFINISHED:
            yield f"{side.name} is not finished ({side.run.status})"
    if a.run.run.id != b.run.run.id:
        yield from _task_changes(a.task, b.task)
        yield from describe_run_differences(a.run.manifest, b.run.manifest, (a.model, b.model))
    yield from _scorer_versions(matchup)
    yield from _pairing_notes(pairing)


def _task_changes(a: TaskOutline, b: TaskOutline) -> Iterator[str]:
    if a.finalized and a.samples_digest != b.samples_digest:
        yield f"{b.name}: the dataset has changed"
    elif not a.finalized and a.digest != b.digest:
        yield f"{b.name}: the file has changed"
    digests = {**a.component_digests, **b.component_digests}
    for name in digests:
        was, now = a.component_digests.get(name), b.component_digests.get(name)
        if not (a.component_digests and b.component_digests) or was == now:
            continue
        if was is None or now is None:
            yield f"{b.name}: {'only B has' if was is None else 'only A has'} {_with_article(name)}"
        else:
            what = "the solver (with its prompt)" if name == "solver" else f"the {name}"
            verb = "have" if name == "action rules" else "has"
            yield f"{b.name}: {what} {verb} changed"
    if a.values != b.values:
        yield f"{b.name}: {_describe_values(a.values, b.values)}"
    if a.tries != b.tries:
        yield f"{b.name}: A has {a.tries} trials per sample, B has {b.tries}"


def _with_article(name: str) -> str:
    return name if name == "action rules" else f"the {name}"


def _describe_values(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    names = [name for name in {**a, **b} if a.get(name) != b.get(name)]
    shown = (f"`{name}` is {_brief(b.get(name))} (was {_brief(a.get(name))})" for name in names)
    return ", ".join(shown)


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"  # noqa: PLR2004 - a line of text


def _scorer_versions(matchup: Matchup) -> Iterator[str]:
    versions = []
    for side in matchup:
        by_task = side.run.manifest.scorers
        own = by_task.get(side.task.name, by_task)
        versions.append(own if isinstance(own, dict) else by_task)
    for name in versions[0]:
        was, now = versions[0][name], versions[1].get(name)
        if now is not None and was != now:
            yield f"{matchup.b.task.name}: scorer `{name}` has version {now} (was {was})"


def _pairing_notes(pairing: Pairing) -> Iterator[str]:
    task = pairing.b.side.task.name
    shared, count_a, count_b = len(pairing.shared), len(pairing.a.samples), len(pairing.b.samples)
    if pairing.paired_by == "id" and pairing.a.side.task.finalized:
        yield f"{task}: no two rows are equal, so the samples are paired by their ids"
    if shared < max(count_a, count_b):
        yield f"{task}: compared on {shared} shared samples (A has {count_a}, B has {count_b})"
    if pairing.a.has_parts or pairing.b.has_parts:
        yield f"{task}: samples that a postprocessor split into several are not compared"
