"""Run tasks that are written in Python: the plan of their documents, with their rows."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

from msgspec import structs

from evalwright.components import FOR_KEYS
from evalwright.engine.redact import refuse_secrets
from evalwright.errors import UsageError
from evalwright.functions.compile import CompiledTask, compile_tasks
from evalwright.functions.model import connect_objects
from evalwright.functions.task import Task
from evalwright.metrics.base import MetricSpec
from evalwright.plan.keys import key_of
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Plan, TaskPlan
from evalwright.plan.project import (
    ExternalRows,
    ResolvedProject,
    compile_project,
    read_environment,
)
from evalwright.ports import Store
from evalwright.report.report import Report
from evalwright.session.models import prefer_connections
from evalwright.session.progress import Progress
from evalwright.session.project_models import project_connector
from evalwright.session.session import Session
from evalwright.session.stores import open_store
from evalwright.solvers.base import canonical_json
from evalwright.spec.documents.checks.build import DocumentPart
from evalwright.spec.documents.models.task import TaskDocument
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.gather import GatheredProject
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.problems import Marks, Place
from evalwright.spec.documents.yaml.reader import YamlDocument


def run_tasks(
    tasks: Sequence[Task], models: Any, options: RunOptions, progress: Progress
) -> Report:
    """Run every task with every model and return the report."""
    names, connections = connect_objects(models) if models else ([], {})
    _refuse_keys(name for name in names if name not in connections)
    refuse_secrets([*names, options.name or ""], {**options.parameters, **options.tags})
    compiled = compile_tasks(tasks, names)
    resolved = resolve_tasks(tasks, compiled, names, options)
    for note in _notes(compiled):
        progress.tell(note)
    with closing(open_store(options.store, durable=options.durable)) as store:
        plan = plan_tasks(tasks, compiled, resolved, options, store=store)
        connect = project_connector(
            resolved, options, evaluated=plan.live_models, tell=progress.tell
        )
        session = Session(
            plan,
            store,
            options,
            connect=prefer_connections(connect, connections),
            progress=progress,
        )
        return session.run()


def _refuse_keys(names: Iterable[str]) -> None:
    """Refuse names that only a project could declare."""
    for name in names:
        if "/" not in name and "$" not in name:
            raise UsageError(
                f"`{name}` is not a model",
                hint="write PROVIDER/MODEL, such as `openai/gpt-4.1-mini`, or pass a function",
            )


def resolve_tasks(
    tasks: Sequence[Task],
    compiled: Mapping[str, CompiledTask],
    models: Sequence[str],
    options: RunOptions,
) -> ResolvedProject:
    """Return the tasks as a project without files."""
    return ResolvedProject(
        project=_empty_project(),
        specs=tuple(_build_spec(task, compiled[task.key].document, options) for task in tasks),
        models=tuple(models),
        environment=read_environment(options.env),
    )


def plan_tasks(
    tasks: Sequence[Task],
    compiled: Mapping[str, CompiledTask],
    resolved: ResolvedProject,
    options: RunOptions,
    *,
    store: Store,
) -> Plan:
    """Return the plan of tasks; it has no path, because they are in no file."""
    external = ExternalRows(
        opened={task.key: task.rows for task in tasks}, notes=tuple(_notes(compiled))
    )
    plan = compile_project(resolved, options, store=store, external=external)
    planned = tuple(_add_metrics(task, compiled[task.name].metrics) for task in plan.tasks)
    return structs.replace(plan, tasks=planned, path="")


def _notes(compiled: Mapping[str, CompiledTask]) -> list[str]:
    return [note for task in compiled.values() for note in task.notes]


def _add_metrics(
    task: TaskPlan, metrics: Mapping[str, Sequence[tuple[str, MetricSpec]]]
) -> TaskPlan:
    """Return the task with more metrics; other metrics make another plan."""
    if not metrics or task.finalization is None:
        return task
    measured = dict(task.finalization.measured)
    for scorer, more in metrics.items():
        own = dict(measured[scorer].metrics)
        measured[scorer] = structs.replace(
            measured[scorer],
            metrics=tuple((own | dict(more)).items()),
            own_keys=measured[scorer].own_keys | {key for key, _ in more} - own.keys(),
        )
    settings = {
        scorer: [metric.model_dump_json(context=FOR_KEYS) for _, metric in more]
        for scorer, more in metrics.items()
    }
    return structs.replace(
        task,
        outline=structs.replace(
            task.outline, digest=key_of(task.outline.digest, canonical_json(settings))
        ),
        finalization=structs.replace(task.finalization, measured=measured),
    )


def _build_spec(task: Task, document: TaskDocument, options: RunOptions) -> ResolvedSpec:
    nowhere = Place("", 1)
    written = YamlDocument("", {}, Marks(nowhere), [], [])
    return ResolvedSpec(
        key=task.key,
        display_name=task.name,
        task=document,
        written=DocumentPart(written),
        values={},
        dataset_keys={"": task.key},
        trials=options.trials or task.trials,
        run_trials=options.trials,
    )


def _empty_project() -> Project:
    kinds: tuple[DocumentKind, ...] = get_args(DocumentKind)
    return Project(
        GatheredProject(
            path=Path(),
            root=Path(),
            kind=None,
            run=None,
            secrets={},
            config={},
            entities={kind: {} for kind in kinds},
            main=[],
            evaluations=[],
            plans=[],
            targets=[],
            policies=[],
            problems=[],
            blocking=[],
            unread={},
            files=[],
        )
    )
