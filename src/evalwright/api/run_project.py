"""Run or score a project: resolve it, generate its rows, read its logs, compile, and run."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import structs

from evalwright.engine.redact import refuse_secrets
from evalwright.errors import UsageError
from evalwright.plan.manifest import Command, read_manifest
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Plan
from evalwright.plan.project import (
    ExternalRows,
    ResolvedProject,
    compile_project,
    read_environment,
    resolve_project,
)
from evalwright.ports import Store
from evalwright.report.report import Report
from evalwright.secrets import Secret, secrets_in
from evalwright.session.models import Connection, prefer_connections
from evalwright.session.progress import Progress
from evalwright.session.project_models import project_connector
from evalwright.session.rescore import prepare_rescoring
from evalwright.session.run_files import find_folder, refuse_other_project, relative_to
from evalwright.session.session import Session
from evalwright.session.stores import make_earlier_finder, open_store
from evalwright.types import Run


def run_project(
    path: str,
    models: Sequence[str],
    options: RunOptions,
    progress: Progress,
    connections: Mapping[str, Connection] | None = None,
) -> Report:
    """Run what a project says; `models` take the place of those that it names.

    `connections` has the models that are Python objects.
    """
    files = map(Secret, secrets_in(read_environment(options.env)))
    refuse_secrets([path, *models], {**options.parameters, **options.settings}, files)
    with closing(open_store(options.store, durable=options.durable)) as store:
        finder = make_earlier_finder(options.store)
        resolved = resolve_project(path, models, options, tell=progress.tell, find_earlier=finder)
        resolved = structs.replace(resolved, object_models=frozenset(connections or ()))
        if models and all(spec.task.evaluates != "model" for spec in resolved.specs):
            raise UsageError(
                f"{path}: none of its tasks calls a model, so `-m {models[0]}` has no effect"
            )
        plan = compile_run(resolved, options, store=store, progress=progress)
        refuse_secrets(plan.models, {}, resolved.secrets)
        connect = project_connector(
            resolved, options, evaluated=plan.live_models, tell=progress.tell
        )
        session = Session(
            plan,
            store,
            options,
            connect=prefer_connections(connect, connections or {}),
            progress=progress,
            command=describe_command(models, options),
        )
        return session.run()


def compile_run(
    resolved: ResolvedProject,
    options: RunOptions,
    *,
    store: Store,
    progress: Progress | None = None,
) -> Plan:
    """The plan of a project. Missing rows are generated if there is somebody to tell about it."""
    external = ExternalRows()
    if any(spec.recording for spec in resolved.specs):
        from evalwright.result_logs.recorded_tasks import (
            describe_recorded_tasks,
            read_recorded_tasks,
        )

        recorded = read_recorded_tasks(resolved.specs)
        notes = tuple(describe_recorded_tasks(recorded.values()))
        external = ExternalRows(recorded=recorded, notes=notes)
    if resolved.project.generators:
        external = _add_generated_rows(external, resolved, options, store, progress)
    return compile_project(resolved, options, store=store, external=external)


def _add_generated_rows(
    external: ExternalRows,
    resolved: ResolvedProject,
    options: RunOptions,
    store: Store,
    progress: Progress | None,
) -> ExternalRows:
    from evalwright.generation.generate import collect_rows

    live = [spec for spec in resolved.specs if spec.key not in external.recorded]
    planned = [spec.key for spec in resolved.specs]
    rows = collect_rows(
        resolved.project, live, options, store=store, planned=planned, progress=progress
    )
    return structs.replace(
        external, files=rows.files, spent=rows.spent, notes=(*external.notes, *rows.notes)
    )


def describe_command(models: Sequence[str], options: RunOptions) -> Command:
    """What the command was given besides the path."""
    return Command(
        models=tuple(models),
        settings=options.settings,
        evaluation=options.evaluation,
        config=options.config,
        env=options.env,
        trials=options.trials,
    )


def score_project(parent: Run, store: Store, options: RunOptions, progress: Progress) -> Report:
    """Score the stored answers of a project's run again, with the project as it is now."""
    manifest, folder = read_manifest(parent), find_folder(parent, options.store)
    command = manifest.command
    if options.env:
        command = structs.replace(
            command, env=tuple(str(Path(file).absolute()) for file in options.env)
        )
    options = structs.replace(
        options,
        settings=command.settings,
        evaluation=command.evaluation,
        config=relative_to(folder, command.config) if command.config else None,
        env=tuple(relative_to(folder, file) for file in command.env),
    )
    path = relative_to(folder, manifest.plan.path)
    finder = make_earlier_finder(options.store)
    resolved = resolve_project(
        path, command.models, options, tell=progress.tell, find_earlier=finder
    )
    plan = compile_run(resolved, options, store=store)
    refuse_other_project(parent, plan.outline.tasks, path)
    plan, rescoring = prepare_rescoring(plan, parent)
    # What is kept, and shown, is what the person typed.
    plan = structs.replace(plan, path=manifest.plan.path)
    session = Session(
        plan,
        store,
        options,
        connect=project_connector(
            resolved, options, evaluated=plan.live_models, tell=progress.tell
        ),
        progress=progress,
        command=command,
        folder=str(folder),
        rescoring=rescoring,
    )
    return session.run()
