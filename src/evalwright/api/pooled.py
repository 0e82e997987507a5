"""Rows that go together: results of several models or trials on the same samples.

As so many independent rows they would look too sure, so what is made of them has no interval. That
is known of a task of this run, of one of an earlier run by its manifest, and of what is made of
either.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from evalwright.api.crews import ENDED, newest_with

if TYPE_CHECKING:
    from evalwright.engine.finish import Figure, Finished
    from evalwright.plan.documents import DocumentPlan
    from evalwright.ports import Store
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.specs import ResolvedSpec

POOLED = "pooled"
"""Of a run's manifest: the tasks whose rows go together."""
_REASON = "no interval: the rows are of several models or trials on the same samples"


def pooled_in(
    project: "Project", specs: "Sequence[ResolvedSpec]", plan: "DocumentPlan", store: "Store"
) -> frozenset[str]:
    """The tasks of a plan that read such rows."""
    several = {task.name for task in plan.tasks if len(task.models) * task.tries > 1}
    planned = {task.name for task in plan.tasks}
    sources = {spec.key: list(_sources(project, spec)) for spec in specs}
    pooled: set[str] = set()
    for wave in plan.waves():
        for task in wave:
            for key in sources.get(task.name, ()):
                here = key in several or key in pooled
                if here if key in planned else _pooled_earlier(key, store):
                    pooled.add(task.name)
    return frozenset(pooled)


def _sources(project: "Project", spec: "ResolvedSpec") -> Iterator[str]:
    """The tasks whose results it reads, through datasets or not."""
    for key in spec.dataset_keys.values():
        if spec.source == "task_result":
            yield key
        elif (entity := project.datasets.get(key)) is not None:
            origin: Any = entity.document.origin if entity.document else None
            if getattr(origin, "type", "") == "task_result":
                yield origin.key


def _pooled_earlier(key: str, store: "Store") -> bool:
    """Whether the newest run that has this result has several rows of a sample in it."""
    run = newest_with(key, store, ended=ENDED)
    if run is None:
        return False
    if key in run.manifest.get(POOLED, ()):
        return True
    task = next(one for one in run.manifest["plan"]["tasks"] if one["name"] == key)
    tries: int = task.get("trials", 1) * task.get("repeats", 1)
    return len(task.get("models", ())) * tries > 1


def without_intervals(finished: "Finished") -> None:
    """Take out what would be over rows as if they were samples."""
    finished.figures = [_dependent(one) for one in finished.figures]
    finished.agreements = [structs.replace(one, interval=None) for one in finished.agreements]


def _dependent(figure: "Figure") -> "Figure":
    reason = figure.measure.reason or _REASON
    measure = structs.replace(figure.measure, interval=None, reason=reason)
    return structs.replace(figure, measure=measure)
