"""Compile tasks that are written in Python into a plan, and run it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

from msgspec import structs
from pydantic import BaseModel, Field, SerializeAsAny

from evalwright.engine.redact import refuse_secrets
from evalwright.errors import BadTasks, NoInput, UsageError
from evalwright.functions.model import connect_objects
from evalwright.functions.scorer import make_scorer
from evalwright.functions.task import Task
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Plan
from evalwright.plan.project import (
    ExternalRows,
    ResolvedProject,
    compile_project,
    read_environment,
)
from evalwright.ports import Store
from evalwright.registry import load_components
from evalwright.report.report import Report
from evalwright.scorers.base import ScorerSpec
from evalwright.session.models import prefer_connections
from evalwright.session.progress import Progress
from evalwright.session.project_models import project_connector
from evalwright.session.session import Session
from evalwright.session.stores import open_store
from evalwright.spec.documents.checks.build import DocumentPart, build_instance
from evalwright.spec.documents.models.task import BenchmarkTask, TaskDocument
from evalwright.spec.documents.project import Project
from evalwright.spec.documents.resolve.gather import GatheredProject
from evalwright.spec.documents.resolve.layout import DocumentKind
from evalwright.spec.documents.resolve.specifications import ResolvedSpec
from evalwright.spec.documents.yaml.problems import Marks, Place, format_path
from evalwright.spec.documents.yaml.reader import YamlDocument


class BenchmarkWithFunctions(BenchmarkTask):
    """A definition whose scorers may be of types that documents cannot name."""

    scorers: list[SerializeAsAny[ScorerSpec]] = Field(default_factory=list)


class TaskWithFunctions(TaskDocument):
    """A task with such a definition."""

    definition: SerializeAsAny[BenchmarkTask]


def run_tasks(
    tasks: Sequence[Task], models: Any, options: RunOptions, progress: Progress
) -> Report:
    """Run every task with every model and return the report."""
    names, connections = connect_objects(models) if models else ([], {})
    refuse_secrets([*names, options.name or ""], {**options.parameters, **options.tags})
    resolved, rows, notes = resolve_tasks(tasks, names, options)
    for note in notes:
        progress.tell(note)
    with closing(open_store(options.store, durable=options.durable)) as store:
        plan = compile_tasks(resolved, rows, options, store=store, notes=notes)
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


def compile_tasks(
    resolved: ResolvedProject,
    rows: Mapping[str, Any],
    options: RunOptions,
    *,
    store: Store,
    notes: Sequence[str] = (),
) -> Plan:
    """Return the plan of tasks; it has no path, because they are in no file."""
    external = ExternalRows(opened=rows, notes=tuple(notes))
    return structs.replace(
        compile_project(resolved, options, store=store, external=external), path=""
    )


def resolve_tasks(
    tasks: Sequence[Task], models: Sequence[str], options: RunOptions
) -> tuple[ResolvedProject, dict[str, Any], list[str]]:
    """Return the tasks as documents, their rows, and notes about what is not reused."""
    for key, count in Counter(task.key for task in tasks).items():
        if count > 1:
            raise UsageError(f"{count} tasks are named `{key}`", hint="give each its own name")
    documents, notes = {}, []
    for task in tasks:
        task.check_columns()
        if task.messages and not models:
            raise NoInput(
                f"task `{task.name}` has a prompt, but there is no model to send it to",
                hint='`models=[…]`, such as a function or "scripted/oracle"',
            )
        documents[task.key], more = _build_document(task)
        notes += more
    specs = tuple(_build_spec(task, documents[task.key], options) for task in tasks)
    resolved = ResolvedProject(
        project=_empty_project(),
        specs=specs,
        models=tuple(models),
        environment=read_environment(options.env),
    )
    return resolved, {task.key: task.rows for task in tasks}, notes


def _build_document(task: Task) -> tuple[TaskDocument, list[str]]:
    functions, named, notes = {}, [], []
    for place, given in enumerate(task.scorers):
        if callable(given) and not isinstance(given, str | Mapping | ScorerSpec):
            functions[place], note = make_scorer(given)
            notes += [note] if note else []
        elif not isinstance(given, ScorerSpec):
            named.append(_name_target({"type": given} if isinstance(given, str) else given, task))
    solver = _solver(task)
    definition = {
        "type": "benchmark_task",
        "dataset": {"key": task.key},
        "scorers": named,
        **solver,
    }
    if not solver:
        definition["evaluated_entity_type"] = "dataset"
    document = _validate(task, definition)
    built = iter(document.definition.scorers)  # type: ignore[union-attr] # a benchmark task
    scorers = [
        functions[place]
        if place in functions
        else given
        if isinstance(given, ScorerSpec)
        else next(built)
        for place, given in enumerate(task.scorers)
    ]
    for name, count in Counter(scorer.key or scorer.type for scorer in scorers).items():
        if count > 1:
            raise UsageError(
                f"task `{task.name}` has {count} scorers named `{name}`",
                hint='give each its own name: `{"type": …, "key": …}` or `@ew.scorer(name=…)`',
            )
    whole = BenchmarkWithFunctions.model_construct(
        **{**_fields(document.definition), "scorers": scorers}
    )
    return TaskWithFunctions.model_construct(**{**_fields(document), "definition": whole}), notes


def _fields(component: BaseModel) -> dict[str, Any]:
    return {name: getattr(component, name) for name in type(component).model_fields}


def _solver(task: Task) -> dict[str, Any]:
    if not task.messages:
        return {}
    builder = {"type": "chat_completion", "input_messages": task.build_messages()}
    return {"solver": {"type": "single_turn_solver", "input_builder": builder}}


def _name_target(fields: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """Return the fields of a scorer; one that compares with a right answer is told the column."""
    known = load_components("scorers").get(str(fields.get("type")))
    needed = known.model_fields.get("ground_truth") if known else None
    if needed is None or not needed.is_required() or "ground_truth" in fields:
        return {**fields}
    return {**fields, "ground_truth": f"{{{{ sample[{task.target!r}] }}}}"}


def _validate(task: Task, definition: dict[str, Any]) -> TaskDocument:
    data = {
        "key": task.key,
        "display_name": task.name,
        "description": task.description,
        "definition": definition,
    }
    document, faults = build_instance(TaskDocument, data)
    errors = [fault for fault in faults if fault.level == "error"]
    if document is None or errors:
        problems = "; ".join(
            f"{format_path(fault.path).removeprefix('definition.')}: {fault.detail}"
            for fault in errors
        )
        hint = next((fault.hint for fault in errors if fault.hint), "")
        raise BadTasks(f"task `{task.name}`: {problems}", hint=hint)
    return document


def _build_spec(task: Task, document: TaskDocument, options: RunOptions) -> ResolvedSpec:
    nowhere = Place("", 1)
    written = YamlDocument("", {}, Marks(nowhere), [], [])
    return ResolvedSpec(
        key=task.key,
        display_name=task.name,
        task=document,
        written=DocumentPart(written),
        values={},
        model_key=None,
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
