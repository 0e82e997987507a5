"""Try a task on a few samples, as a run would do it, and keep nothing.

    trial = try_task("capitals", samples=2)          # as the run file of the project uses it
    trial = try_task("tasks/capitals.yaml", ["openai/gpt-4.1-mini"], ids=["fr"])

The way is that of a run: the same checks, the same engine, the same metrics; only the store is one
that forgets.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

from evalwright.api.assembly import MEMORY, canonical, open_store, store_name
from evalwright.api.entities import find_entity, open_project, referred_to, refuse_shared
from evalwright.api.options import options_of
from evalwright.errors import UnknownName, UsageError
from evalwright.nearest import nearest

if TYPE_CHECKING:
    from evalwright.api.listening import ListeningWork
    from evalwright.api.prepare import Prepared
    from evalwright.ports import Store
    from evalwright.report.trial import TaskTrial
    from evalwright.spec.documents.project import Project
    from evalwright.spec.documents.specs import ResolvedSpec

_MOST_NAMED = 12


class Wanted(Struct, frozen=True, kw_only=True):
    """What to try."""

    path: str
    spec: str | None = None
    """Which specification of a run file; None for the only one."""
    samples: int = 1
    ids: tuple[str, ...] = ()
    """These samples, whatever their places."""
    dataset: str | None = None
    """In the place of the one that the task or its specification names."""


def try_task(
    wanted: Wanted,
    models: Sequence[str] = (),
    *,
    tell: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> "TaskTrial":
    """Try a task; the options are those of `RunOptions`."""
    from evalwright.api.listening import ListeningWork
    from evalwright.api.prepare import prepared_of, resolved

    limit = None if wanted.ids else wanted.samples
    settings = {**_dataset_setting(wanted), **options.pop("settings", {})}
    told = options_of({**options, "settings": settings, "store": MEMORY, "limit": limit})
    names = canonical(models) if models else []
    project, specs = resolved(wanted.path, names, told, tell=tell)
    spec = _on_dataset(_chosen(specs, wanted), wanted.dataset, project)
    if spec.recording is not None:
        raise UsageError(
            f"`{spec.key}` is not run: its result is taken from {spec.recording.file}",
            hint="without its `task_result_log_path` it can be tried",
        )
    needed = _with_sources(spec, specs)
    earlier = _results(needed, project)
    store = open_store(MEMORY)
    try:
        prepared = prepared_of(project, needed, names, told, store=earlier or store)
        prepared.here.store = store
        if wanted.ids:
            prepared = _only(prepared, spec.key, wanted.ids)
        work = ListeningWork(prepared, store, told, tell=tell)
        return _tried(work, spec, file=project.tasks[spec.task.key].file)
    finally:
        store.close()
        if earlier is not None:
            earlier.close()


def wanted_of(
    name: str | None,
    *,
    file: str | None = None,
    spec: str | None = None,
    project: str = ".",
    env: Sequence[str] = (),
) -> tuple[str, str | None]:
    """The path and the specification that a key, a file or a run file means.

    A key is tried as the run file of the project uses it; alone, if that does not.
    """
    if file is not None:
        return file, spec or name
    if name is None and spec is not None:
        return _run_file(Path(project)) or project, spec
    if name is None:
        raise UsageError("no task was named", hint="a key, a file, or `-f run.yaml -s SPEC`")
    if name.endswith((".yaml", ".yml")):
        return name, spec
    opened = open_project(project, env)
    entity = find_entity(opened, "task", name)
    used = _used(opened, name)
    if used is not None:
        return used[0], spec or used[1]
    refuse_shared(entity)
    return entity.file, spec


def _used(project: "Project", task: str) -> tuple[str, str] | None:
    """The run file and the specification there that uses a task."""
    from evalwright.spec.documents.task_rules import with_keys

    run = _run_file(project.root)
    if run is None:
        return None
    for entity in project.evaluations.values():
        if not Path(entity.file).samefile(run) and not any(referred_to(project, entity)):
            continue
        data = entity.part.raw.data
        written = data.get("task_specifications") if isinstance(data, dict) else None
        for one in with_keys(written, name="task_key") if isinstance(written, list) else ():
            if isinstance(one, dict) and one.get("task_key") == task:
                return run, str(one.get("key"))
    return None


def _run_file(folder: Path) -> str | None:
    from evalwright.spec.documents.kinds import RUN_FILES

    found = (folder / name for name in RUN_FILES)
    return next((str(one) for one in found if one.is_file()), None)


def _chosen(specs: "Sequence[ResolvedSpec]", wanted: Wanted) -> "ResolvedSpec":
    if wanted.spec is None and len(specs) == 1:
        return specs[0]
    keys = [one.key for one in specs]
    for one in specs:
        if wanted.spec in {one.key, one.task.key}:
            return one
    some = ", ".join(keys[:_MOST_NAMED])
    if wanted.spec is None:
        raise UsageError(
            f"{wanted.path}: {len(specs)} task specifications: {some}", hint="name one with `-s`"
        )
    suggestion = nearest(wanted.spec, keys)
    raise UnknownName(
        f"{wanted.path}: no task specification `{wanted.spec}`; there are {some}",
        hint=f"did you mean `{suggestion}`?" if suggestion else "",
    )


def _dataset_setting(wanted: Wanted) -> dict[str, str]:
    """What a task that leaves its dataset open must be told, where no specification does."""
    from evalwright.spec.documents.reading import read_document
    from evalwright.spec.documents.task_rules import leaves_dataset_open

    if wanted.dataset is None or Path(wanted.path).is_dir():
        return {}
    data = read_document(wanted.path, environment={}).data
    definition = data.get("definition") if isinstance(data, dict) else None
    return {"dataset_key": wanted.dataset} if leaves_dataset_open(definition) else {}


def _on_dataset(spec: "ResolvedSpec", key: str | None, project: "Project") -> "ResolvedSpec":
    """The same specification, on another dataset."""
    if key is None:
        return spec
    if set(spec.dataset_keys) != {""} or spec.source != "dataset":
        raise UsageError(f"{spec.key}: not a task on one dataset, so `--dataset` says too little")
    find_entity(project, "dataset", key)
    values = {**spec.values, "dataset_key": key} if "dataset_key" in spec.values else spec.values
    return structs.replace(spec, dataset_keys={"": key}, values=values)


def _with_sources(
    spec: "ResolvedSpec", specs: "Sequence[ResolvedSpec]"
) -> "tuple[ResolvedSpec, ...]":
    """A specification, and those whose results it reads."""
    by_key = {one.key: one for one in specs}
    needed = {spec.key: spec}
    while spec.source == "task_result":
        source = by_key.get(spec.dataset_keys.get("", ""))
        if source is None or source.key in needed:
            break
        needed[source.key] = spec = source
    return tuple(needed.values())


def _results(needed: "Sequence[ResolvedSpec]", project: "Project") -> "Store | None":
    """The store of earlier runs, where the samples are results of one of these."""
    last = needed[-1]
    documents = [project.datasets.get(key) for key in last.dataset_keys.values()]
    sources = [one.document.origin.type for one in documents if one and one.document]
    made = map(project.generations.of, project.generations.order(last.dataset_keys.values()))
    sources += [one.document.definition.source.type for one in made if one is not None]
    reads_earlier = last.source == "task_result" or "task_result" in sources
    return open_store(store_name(), create=False) if reads_earlier else None


def _only(prepared: "Prepared", name: str, ids: Sequence[str]) -> "Prepared":
    """The same, with some samples of a task, what its sources need for these, and no others."""
    planned = {one.name: one for one in prepared.plan.tasks}
    line = [name]
    while (after := planned[line[0]].after) in planned:
        line.insert(0, after)
    # A result is called by its model, and by the number of its trial, where there are several.
    prefixes, suffixes = [""], [""]
    for one in line[:-1]:
        models = planned[one].models
        if len(models) > 1:
            prefixes = [f"{model}/{prefix}" for model in models for prefix in prefixes]
        if (tries := planned[one].tries) > 1:
            suffixes = [f"{suffix}#{trial + 1}" for suffix in suffixes for trial in range(tries)]
    first = _found(prepared, name, line[0], ids, Forms(prefixes, suffixes))
    data, left = dict(prepared.data), 0
    for one in line:
        places: Sequence[int] = range(left) if left else list(first)
        if left and one == name:
            called = Forms(prefixes, suffixes).of(first.values())
            places = [place for place, id_ in enumerate(called) if id_ in ids]
        data[one] = structs.replace(data[one], places=places)
        left = len(places) * len(planned[one].models) * planned[one].tries
    tasks = tuple(
        structs.replace(one, records=len(data[one.name].places)) for one in prepared.plan.tasks
    )
    return structs.replace(prepared, plan=structs.replace(prepared.plan, tasks=tasks), data=data)


class Forms(NamedTuple):
    """What stands before and behind the id of a sample in the results of later tasks."""

    prefixes: Sequence[str]
    suffixes: Sequence[str]

    def of(self, ids: Iterable[str]) -> Iterator[str]:
        """What they are called, in the order of the results."""
        listed = list(ids)
        for prefix in self.prefixes:
            yield from (f"{prefix}{one}{suffix}" for one in listed for suffix in self.suffixes)


def _found(
    prepared: "Prepared", name: str, source: str, ids: Sequence[str], forms: Forms
) -> dict[int, str]:
    """The samples that those of these ids come of: their places, and what they are called there."""
    some: list[str] = []
    found: dict[str, int] = {}
    first: dict[int, str] = {}
    for place, (id_, _) in enumerate(prepared.data[source].rows.identified()):
        for called in forms.of([id_]):
            if called in ids:
                found[called] = place
                first[place] = id_
            if len(some) < _MOST_NAMED:
                some.append(called)
    for id_ in ids:
        if id_ not in found:
            suggestion = nearest(id_, some)
            they = f"the first are {', '.join(some)}"
            raise UnknownName(
                f"{name}: no sample has the id `{id_}`",
                hint=f"did you mean `{suggestion}`?" if suggestion else they,
            )
    return first


def _tried(work: "ListeningWork", spec: "ResolvedSpec", *, file: str) -> "TaskTrial":
    from evalwright.engine.clean import cleaned_value
    from evalwright.report.trial import TaskTrial, errors_in, metrics_of, stopped_by, tried

    report = work.report()
    clean = work.redactor.clean
    outcomes = [one for one in work.store.outcomes(report.run_id) if one.task == spec.key]
    rules = [one.key for one in work.prepared.finishing[spec.key].rules]
    in_order = sorted(outcomes, key=lambda one: (one.ordinal, one.trial))
    samples = [tried(one, rules) for one in in_order]
    planned = next(one for one in work.plan.tasks if one.name == spec.key)
    landed = len(samples) == planned.jobs * len(planned.models)
    if work.patience.lost and not landed:
        raise KeyboardInterrupt
    found = errors_in(report.failures)
    if work.stop is not None and work.stop.requested and not landed:
        found.append(stopped_by(work.stop.reason, work.stop.hint))
    errors = [
        structs.replace(one, message=clean(one.message), hint=clean(one.hint)) for one in found
    ]
    return TaskTrial(
        task=spec.task.key,
        name=spec.key,
        file=file,
        specification=f"{spec.file}:{spec.line}" if spec.evaluation_key else None,
        values=cleaned_value(planned.values, work.redactor),
        tries=planned.tries,
        samples=samples,
        metrics=metrics_of(report, spec.key),
        errors=errors,
        printed=work.printed,
        ok=landed and not errors and all(one.error is None for one in samples),
    )
