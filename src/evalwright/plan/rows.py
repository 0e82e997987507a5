"""Open, join and read the rows of tasks.

A result of an earlier run is read from the store. A task of the same run has no result yet: it
runs first, and its result is read when it is complete.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from evalwright.datasets.rows import AlignedRows, Rows
from evalwright.datasets.sampling import choose_places
from evalwright.errors import BadDataset, BadTasks, Unreadable
from evalwright.plan.options import STATE
from evalwright.plan.plan import CurrentRun, order_by_source
from evalwright.plan.samples import LeadingRows, NoRows, RowSamples
from evalwright.plan.task_results import result_note, result_of
from evalwright.ports import Store
from evalwright.scorers.python_all_samples import PythonAllSamples
from evalwright.spec.documents.models.dataset import open_dataset
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.specifications import ResolvedSpec

OpenedRows = Rows | AlignedRows | None


def open_rows(
    project: Project,
    specs: Sequence[ResolvedSpec],
    *,
    store: Store,
    current_run: CurrentRun,
    generated: Mapping[str, Path],
) -> dict[str, OpenedRows]:
    """Return the rows of each specification; None if it has none."""
    documents: Any = {key: entity.document for key, entity in project.datasets.items()}
    results = partial(result_of, store=store)

    def rows_of(key: str) -> Rows:
        return open_dataset(
            documents[key], cache_dir=STATE, task_results=results, generated=generated
        )

    planned = {spec.key for spec in specs}
    opened: dict[str, OpenedRows] = {}
    for spec in specs:
        if not spec.dataset_keys:
            opened[spec.key] = None
        elif spec.source == "task_result":
            key = spec.dataset_keys[""]
            reader = result_of(
                key, store=store, current_run=current_run if key in planned else None
            )
            opened[spec.key] = Rows(reader, name=f"the result of `{key}`")
        else:
            opened[spec.key] = join_datasets(spec, rows_of)
    return opened


def read_samples(
    specs: Sequence[ResolvedSpec],
    opened: Mapping[str, OpenedRows],
    models: Mapping[str, Sequence[str]],
    known: Mapping[str, RowSamples],
    *,
    limit: int | None,
) -> dict[str, RowSamples]:
    """Read each dataset once, to its end; raise all problems at once.

    `known` has the samples of tasks that are not run.
    """
    samples: dict[str, RowSamples] = {**known}
    broken: dict[str, None] = {}
    hint = ""
    trials = {spec.key: spec.num_trials * spec.repeats for spec in specs}
    live = {spec.key: spec for spec in specs if spec.key not in known}
    waves = order_by_source({key: _result_key(spec) for key, spec in live.items()})
    for spec in (live[key] for wave in waves for key in wave):
        rows = opened[spec.key]
        single = RowSamples(
            rows=NoRows(), places=range(1), trials=trials[spec.key], group=spec.task.evaluates
        )
        if rows is None:
            samples[spec.key] = single
            continue
        read: Any = scored_rows(spec, rows)
        source = _result_key(spec)
        try:
            total = (
                len(samples[source].places) * len(models[source]) * trials[source]
                if source in samples
                else read.check()
            )
        except (BadDataset, Unreadable) as error:
            broken[f"{spec.key}: {error.message}"] = None
            hint = hint or error.hint
            continue
        places = choose_places(total, spec.num_samples, spec.subsampling)
        used = places if limit is None else places[:limit]
        together = partial(rows.together, used) if isinstance(rows, AlignedRows) else None
        samples[spec.key] = structs.replace(single, rows=read, places=used, together=together)
    if broken:
        raise BadDataset("; ".join(broken), hint=hint)
    return samples


def _result_key(spec: ResolvedSpec) -> str:
    """Return the task whose result a specification reads; empty if it reads a dataset."""
    return spec.dataset_keys.get("", "") if spec.source == "task_result" else ""


def join_datasets(spec: ResolvedSpec, rows_of: Callable[[str], Rows]) -> Rows | AlignedRows:
    """Return the rows of a specification: of one dataset, or of several joined ones."""
    rows = {name: rows_of(key) for name, key in spec.dataset_keys.items()}
    return rows[""] if "" in rows else AlignedRows(rows)


def scored_rows(spec: ResolvedSpec, rows: Rows | AlignedRows) -> Rows | AlignedRows | LeadingRows:
    """Return the rows that are samples: of the first dataset if no scorer reads single samples."""
    return (
        LeadingRows(rows)
        if isinstance(rows, AlignedRows) and not _reads_single_samples(spec)
        else rows
    )


def _reads_single_samples(spec: ResolvedSpec) -> bool:
    definition: Any = spec.task.definition
    single = [scorer for scorer in definition.scorers if not isinstance(scorer, PythonAllSamples)]
    return bool(definition.solver or single or definition.actions)


def earlier_result_notes(
    project: Project, specs: Sequence[ResolvedSpec], store: Store
) -> list[str]:
    """Return notes for the report: which earlier runs' results are read."""
    planned = {spec.key for spec in specs}
    keys = [key for spec in specs for key in _result_keys(project, spec)]
    return [result_note(key, store) for key in dict.fromkeys(keys) if key not in planned]


def _result_keys(project: Project, spec: ResolvedSpec) -> Iterator[str]:
    if spec.recording is not None:
        return
    keys = list(spec.dataset_keys.values())
    if spec.source == "task_result":
        yield from keys
        return
    for key in dict.fromkeys([*keys, *project.generations.order(keys)]):
        generation = project.generations.of(key)
        source = generation.document.definition.source if generation else None
        if source is not None and source.result_key:
            yield source.result_key
        for dataset in (key, *(source.dataset_keys if source is not None else ())):
            entity = project.datasets.get(dataset)
            origin: Any = entity.document.origin if entity and entity.document else None
            if getattr(origin, "type", "") == "task_result":
                yield origin.key


def link_task_results(project: Project, specs: Sequence[ResolvedSpec]) -> list[ResolvedSpec]:
    """Make a specification whose dataset is the result of another wait for that result."""
    planned = {spec.key for spec in specs}
    linked = [_link_task_result(project, spec, planned) for spec in specs]
    for spec in specs:
        for key in result_sources(project, spec):
            variants = [each.key for each in specs if each.written_key == key]
            if variants and key not in planned:
                raise BadTasks(
                    f"{spec.key}: its rows are the result of `{key}`, which has several variants: "
                    "nothing was run",
                    hint=f"name one of them: {', '.join(variants)}",
                )
    return linked


def _link_task_result(project: Project, spec: ResolvedSpec, planned: set[str]) -> ResolvedSpec:
    for key in spec.dataset_keys.values() if spec.source == "dataset" else ():
        entity = project.datasets.get(key)
        origin: Any = entity.document.origin if entity and entity.document else None
        if getattr(origin, "type", "") != "task_result" or origin.key not in planned:
            continue
        if len(spec.dataset_keys) > 1 or not origin.is_unchanged:
            what = "filters it" if origin.filters else "joins it with others, or changes it"
            raise BadTasks(
                f"{spec.key}: dataset `{key}` is the result of `{origin.key}`, which is part of "
                f"this run, and {what}: nothing was run",
                hint=f"run `{origin.key}` separately first",
            )
        return structs.replace(spec, source="task_result", dataset_keys={"": origin.key})
    return spec


def list_files(project: Project, specs: Sequence[ResolvedSpec]) -> Iterator[str]:
    """Yield the files of the path itself, and those of the tasks that are run and their rows."""
    yield from project.files
    for spec in specs:
        yield from spec.written.files
        for key in spec.dataset_keys.values():
            entity = project.datasets.get(key)
            if entity is not None:
                yield from entity.part.files
            if entity is not None and entity.document is not None:
                origin: Any = entity.document.origin
                yield from origin.files() if origin is not None else ()


def result_sources(project: Project, spec: ResolvedSpec) -> list[str]:
    """Return the tasks whose results a specification reads, directly or as a dataset."""
    keys = list(spec.dataset_keys.values())
    if spec.source == "task_result":
        return keys
    origins: list[Any] = [
        entity.document.origin
        for key in keys
        if (entity := project.datasets.get(key)) is not None and entity.document
    ]
    return [origin.key for origin in origins if getattr(origin, "type", "") == "task_result"]
