"""Run a task on a few samples without storing the results.

    preview = try_task(TaskSelection(path="run.yaml", spec="capitals", samples=2))
    preview = try_task(TaskSelection(path="tasks/capitals.yaml", ids=("fr",)), ["openai/gpt-4.1"])

Checks, engine and metrics are the same as in a run, but the store is in memory.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, structs

from evalwright.engine.redact import redact
from evalwright.errors import UnknownName, UsageError
from evalwright.nearest import suggest
from evalwright.plan.model_names import canonical_names
from evalwright.plan.options import RunOptions, parse_options
from evalwright.plan.outline import TaskOutline
from evalwright.plan.plan import Plan
from evalwright.plan.project import ResolvedProject, resolve_project
from evalwright.plan.samples import RowSamples
from evalwright.ports import Store
from evalwright.projects.lookup import (
    find_entity,
    find_run_file,
    find_run_file_references,
    is_yaml,
    open_project,
    require_own_file,
)
from evalwright.projects.task_preview import (
    PreviewSample,
    TaskPreview,
    sample_from_outcome,
    stopped_error,
)
from evalwright.report.export import FailureSummary
from evalwright.report.report import Report
from evalwright.session.progress import SilentProgress
from evalwright.session.project_models import project_connector
from evalwright.session.session import Session
from evalwright.session.stores import MEMORY, make_earlier_finder, open_store, store_name
from evalwright.spec.documents.checks.task_rules import assign_keys, leaves_dataset_open
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.layout import find_include_root
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.reader import read_document

ExpandIds = Callable[[Sequence[str]], list[str]]
"""Returns the ids that later tasks give to samples of the first, in the order of the results."""
_MOST_NAMED = 12


class CompilePlan(Protocol):
    """Compiles a resolved project to a plan. Missing rows are not generated."""

    def __call__(self, resolved: ResolvedProject, options: RunOptions, *, store: Store) -> Plan:
        """Return the plan."""


class TaskSelection(Struct, frozen=True, kw_only=True):
    """The task to run, and the samples to run it on."""

    path: str
    spec: str | None = None
    """Key of a specification in a run file; None if there is only one."""
    samples: int = 1
    ids: tuple[str, ...] = ()
    """Ids of the samples to use instead of the first ones."""
    dataset: str | None = None
    """Key of a dataset that replaces the dataset of the task or its specification."""


def try_task(
    selection: TaskSelection,
    models: Sequence[str] = (),
    *,
    compile_plan: CompilePlan,
    tell: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> TaskPreview:
    """Run a task; `options` are fields of `RunOptions`, `tell` receives messages for the user."""
    limit = None if selection.ids else selection.samples
    settings = {**_dataset_setting(selection), **options.pop("settings", {})}
    run_options = parse_options({**options, "settings": settings, "store": MEMORY, "limit": limit})
    names = canonical_names(models) if models else []
    resolved = resolve_project(
        selection.path, names, run_options, tell=tell, find_earlier=make_earlier_finder()
    )
    project, specs = resolved.project, resolved.specs
    spec = _replace_dataset(_choose_spec(specs, selection), selection.dataset, project)
    if spec.recording is not None:
        raise UsageError(
            f"`{spec.key}` is not run: its result is read from {spec.recording.file}",
            hint="remove its `task_result_log_path` to run it",
        )
    needed = _with_sources(spec, specs)
    earlier_runs = _open_earlier_runs(needed, project)
    store = open_store(MEMORY)
    try:
        resolved = structs.replace(resolved, specs=needed)
        plan = compile_plan(resolved, run_options, store=earlier_runs or store)
        plan.current_run.store = store
        if selection.ids:
            plan = _keep_samples(plan, spec.key, selection.ids)
        connect = project_connector(resolved, run_options, evaluated=plan.live_models, tell=tell)
        progress = _TrialProgress(tell)
        on_print = progress.printed.append
        session = Session(
            plan, store, run_options, connect=connect, progress=progress, on_print=on_print
        )
        report = session.run()
        finalization = next(task.finalization for task in plan.tasks if task.name == spec.key)
        rules = [rule.key for rule in finalization.rules] if finalization else []
        samples = [
            sample_from_outcome(outcome, rules)
            for outcome in store.outcomes(report.run_id, task=spec.key)
        ]
        file = project.tasks[spec.task.key].file
        return _task_preview(session, report, progress, samples, spec, file)
    finally:
        store.close()
        if earlier_runs is not None:
            earlier_runs.close()


class _TrialProgress(SilentProgress):
    """Forwards messages; records the output of snippets and whether the run was interrupted."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.printed: list[str] = []
        self.interrupted = False

    def tell(self, text: str) -> None:
        self._tell(text)

    def end(self, *, interrupted: bool) -> None:
        self.interrupted = interrupted


def locate_task(
    name: str | None,
    *,
    file: str | None = None,
    spec: str | None = None,
    project: str = ".",
    env: Sequence[str] = (),
) -> tuple[str, str | None]:
    """Return the path and the specification that a key, a file or a run file refers to.

    A task key refers to the specification in the project's run file or, if there is none, to the
    task alone.
    """
    if file is not None:
        return file, spec or name
    if name is None and spec is not None:
        return find_run_file(Path(project)) or project, spec
    if name is None:
        raise UsageError("no task was specified", hint="a key, a file, or `-f run.yaml -s SPEC`")
    if is_yaml(name):
        return name, spec
    opened = open_project(project, env)
    entity = find_entity(opened, "task", name)
    use = _find_use(opened, name)
    if use is not None:
        return use[0], spec or use[1]
    require_own_file("task", name, file=entity.file, line=entity.line)
    return entity.file, spec


def _find_use(project: Project, task: str) -> tuple[str, str] | None:
    run_file = find_run_file(project.root)
    if run_file is None:
        return None
    for entity in project.evaluations.values():
        is_in_run_file = Path(entity.file).samefile(run_file)
        if not is_in_run_file and not any(find_run_file_references(project, entity)):
            continue
        data = entity.part.raw.data
        specs = data.get("task_specifications") if isinstance(data, dict) else None
        for spec in assign_keys(specs, name="task_key") if isinstance(specs, list) else ():
            if isinstance(spec, dict) and spec.get("task_key") == task:
                return run_file, str(spec.get("key"))
    return None


def _choose_spec(specs: Sequence[ResolvedSpec], selection: TaskSelection) -> ResolvedSpec:
    if selection.spec is None and len(specs) == 1:
        return specs[0]
    for spec in specs:
        if selection.spec in {*spec.names, spec.task.key}:
            return spec
    keys = [spec.key for spec in specs]
    first_keys = ", ".join(keys[:_MOST_NAMED])
    if selection.spec is None:
        message = f"{selection.path}: {len(specs)} task specifications: {first_keys}"
        raise UsageError(message, hint="select one with `-s`")
    message = (
        f"{selection.path}: no task specification `{selection.spec}`; the keys are {first_keys}"
    )
    raise UnknownName(message, hint=suggest(selection.spec, keys))


def _dataset_setting(selection: TaskSelection) -> dict[str, str]:
    if selection.dataset is None or Path(selection.path).is_dir():
        return {}
    root = find_include_root(Path(selection.path))
    data = read_document(selection.path, environment={}, root=root).data
    definition = data.get("definition") if isinstance(data, dict) else None
    return {"dataset_key": selection.dataset} if leaves_dataset_open(definition) else {}


def _replace_dataset(spec: ResolvedSpec, key: str | None, project: Project) -> ResolvedSpec:
    if key is None:
        return spec
    if set(spec.dataset_keys) != {""} or spec.source != "dataset":
        raise UsageError(
            f"{spec.key}: the task does not have exactly one dataset, so `--dataset` is ambiguous"
        )
    find_entity(project, "dataset", key)
    values = {**spec.values, "dataset_key": key} if "dataset_key" in spec.values else spec.values
    return structs.replace(spec, dataset_keys={"": key}, values=values)


def _with_sources(spec: ResolvedSpec, specs: Sequence[ResolvedSpec]) -> tuple[ResolvedSpec, ...]:
    by_key = {each.key: each for each in specs}
    needed = {spec.key: spec}
    while spec.source == "task_result":
        source = by_key.get(spec.dataset_keys.get("", ""))
        if source is None or source.key in needed:
            break
        needed[source.key] = spec = source
    return tuple(needed.values())


def _open_earlier_runs(needed: Sequence[ResolvedSpec], project: Project) -> Store | None:
    last = needed[-1]
    datasets = [project.datasets.get(key) for key in last.dataset_keys.values()]
    sources = [entity.document.origin.type for entity in datasets if entity and entity.document]
    generations = map(project.generations.of, project.generations.order(last.dataset_keys.values()))
    sources += [each.document.definition.source.type for each in generations if each is not None]
    reads_earlier = last.source == "task_result" or "task_result" in sources
    return open_store(store_name(), create=False) if reads_earlier else None


def _keep_samples(plan: Plan, name: str, ids: Sequence[str]) -> Plan:
    """Keep only these samples of a task, and the samples of source tasks that they depend on."""
    planned = {task.name: task.outline for task in plan.tasks}
    samples: dict[str, Any] = {task.name: task.samples for task in plan.tasks}
    chain = [name]
    while (source := planned[chain[0]].after) in planned:
        chain.insert(0, source)
    expand = _id_expander([planned[task] for task in chain[:-1]])
    first = _find_samples(samples[chain[0]], name, ids, expand)
    remaining = 0
    for task in chain:
        places: Sequence[int] = range(remaining) if remaining else list(first)
        if remaining and task == name:
            expanded = expand([*first.values()])
            places = [place for place, id_ in enumerate(expanded) if id_ in ids]
        samples[task] = structs.replace(samples[task], places=places)
        remaining = len(places) * len(planned[task].models) * planned[task].tries
    tasks = []
    for task_plan in plan.tasks:
        chosen = samples[task_plan.name]
        outline = structs.replace(task_plan.outline, records=len(chosen.places))
        tasks.append(structs.replace(task_plan, outline=outline, samples=chosen))
    return structs.replace(plan, tasks=tuple(tasks))


def _id_expander(sources: Sequence[TaskOutline]) -> ExpandIds:
    """Return a function that adds models and trials to ids, if there are several."""
    prefixes, suffixes = [""], [""]
    for task in sources:
        if len(task.models) > 1:
            prefixes = [f"{model}/{prefix}" for model in task.models for prefix in prefixes]
        if task.tries > 1:
            trials = range(task.tries)
            suffixes = [f"{suffix}#{trial + 1}" for suffix in suffixes for trial in trials]

    def expand(ids: Sequence[str]) -> list[str]:
        return [f"{prefix}{id_}{end}" for prefix in prefixes for id_ in ids for end in suffixes]

    return expand


def _find_samples(
    source: RowSamples, name: str, ids: Sequence[str], expand: ExpandIds
) -> Mapping[int, str]:
    """Return position and id of the samples in `source` that these ids of `name` depend on."""
    first_ids: list[str] = []
    places: dict[int, str] = {}
    missing = dict.fromkeys(ids)
    for place, (id_, _) in enumerate(source.rows.identify()):
        for expanded in expand([id_]):
            if expanded in ids:
                missing.pop(expanded, None)
                places[place] = id_
            if len(first_ids) < _MOST_NAMED:
                first_ids.append(expanded)
    if missing:
        id_ = next(iter(missing))
        hint = suggest(id_, first_ids) or f"the first ids are {', '.join(first_ids)}"
        raise UnknownName(f"{name}: no sample has the id `{id_}`", hint=hint)
    return places


def _task_preview(
    session: Session,
    report: Report,
    progress: _TrialProgress,
    samples: list[PreviewSample],
    spec: ResolvedSpec,
    file: str,
) -> TaskPreview:
    stop, clean = session.stop, session.redactor.clean
    planned = next(task for task in session.outline.tasks if task.name == spec.key)
    is_complete = len(samples) == planned.jobs * len(planned.models)
    if progress.interrupted and not is_complete:
        raise KeyboardInterrupt
    errors = [
        FailureSummary(
            stage=row.stage, type=row.type, message=clean(row.message), hint=clean(row.hint)
        )
        for row in report.failures
        if not row.sample_ids
    ]
    if stop.is_stopping and not is_complete:
        errors.append(stopped_error(clean(stop.reason), clean(stop.hint)))
    return TaskPreview(
        task=spec.task.key,
        name=spec.key,
        file=file,
        specification=f"{spec.file}:{spec.line}" if spec.evaluation_key else None,
        values=redact(planned.values, session.redactor),
        tries=planned.tries,
        samples=samples,
        metrics=[row for row in report.metrics if row.task == spec.key],
        errors=errors,
        printed=progress.printed,
        ok=is_complete and not errors and all(sample.error is None for sample in samples),
    )
