"""Where the rows of a task come from: a dataset, rows that were made, or the result of a task.

A result of an earlier run is read as it lies there. Of a task of the same run there is nothing yet:
it comes first, and its result is read when it is in.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from evalwright.api.assembly import STATE
from evalwright.api.crews import Here, result_note, result_of
from evalwright.errors import BadTasks

if TYPE_CHECKING:
    from evalwright.datasets.aligned import Aligned
    from evalwright.datasets.rows import Rows
    from evalwright.ports import Store
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.specs import ResolvedSpec


def opened_rows(
    project: "Project",
    specs: "Sequence[ResolvedSpec]",
    *,
    store: "Store",
    here: Here,
    generated: Mapping[str, Path],
) -> "dict[str, Rows | Aligned | None]":
    """The rows of each specification; None where it has none."""
    from evalwright.api.rows_of import joined
    from evalwright.spec.documents.dataset import open_dataset

    documents: Any = {key: one.document for key, one in project.datasets.items()}
    results = partial(result_of, store=store)

    def rows_of(key: str) -> "Rows":
        return open_dataset(
            documents[key], cache_dir=STATE, task_results=results, generated=generated
        )

    planned = {one.key for one in specs}
    opened: dict[str, Rows | Aligned | None] = {}
    for spec in specs:
        if not spec.dataset_keys:
            opened[spec.key] = None
        elif spec.source == "task_result":
            opened[spec.key] = _results(spec.dataset_keys[""], planned, store, here)
        else:
            opened[spec.key] = joined(spec, rows_of)
    return opened


def _results(key: str, planned: set[str], store: "Store", here: Here) -> "Rows":
    from evalwright.datasets.rows import Rows

    reader = result_of(key, store=store, here=here if key in planned else None)
    return Rows(reader, name=f"the result of `{key}`")


def notes_on_results(
    project: "Project", specs: "Sequence[ResolvedSpec]", store: "Store"
) -> list[str]:
    """For the report: of which earlier runs the results are that are read here."""
    planned = {one.key for one in specs}
    found = [key for spec in specs for key in _results_of(project, spec)]
    return [result_note(key, store) for key in dict.fromkeys(found) if key not in planned]


def _results_of(project: "Project", spec: "ResolvedSpec") -> Iterator[str]:
    """The results that a specification reads: by itself, or through whatever datasets."""
    if spec.recording is not None:
        return
    keys = list(spec.dataset_keys.values())
    if spec.source == "task_result":
        yield from keys
        return
    for key in dict.fromkeys([*keys, *project.generations.order(keys)]):
        made = project.generations.of(key)
        source = made.document.definition.source if made else None
        if source is not None and source.result_key:
            yield source.result_key
        for one in (key, *(source.dataset_keys if source is not None else ())):
            entity = project.datasets.get(one)
            origin: Any = entity.document.origin if entity and entity.document else None
            if getattr(origin, "type", "") == "task_result":
                yield origin.key


def chained(project: "Project", specs: "Sequence[ResolvedSpec]") -> "list[ResolvedSpec]":
    """The same, but a dataset that is the result of one of them is read when that is in."""
    planned = {one.key for one in specs}
    return [_chained(project, spec, planned) for spec in specs]


def _chained(project: "Project", spec: "ResolvedSpec", planned: set[str]) -> "ResolvedSpec":
    for key in spec.dataset_keys.values() if spec.source == "dataset" else ():
        entity = project.datasets.get(key)
        origin: Any = entity.document.origin if entity and entity.document else None
        if getattr(origin, "type", "") != "task_result" or origin.key not in planned:
            continue
        if len(spec.dataset_keys) > 1 or origin.filters or origin.missing != "absent":
            what = "filters it" if origin.filters else "reads it beside others, or fills it up"
            raise BadTasks(
                f"{spec.key}: dataset `{key}` is the result of `{origin.key}`, which this run "
                f"makes, and {what}: nothing was run",
                hint=f"run `{origin.key}` in a run of its own first; its result is found then",
            )
        return structs.replace(spec, source="task_result", dataset_keys={"": origin.key})
    return spec
