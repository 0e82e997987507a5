"""`run` and `score`: begin or resume a run, or score its stored answers again, and report."""

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from evalwright.engine.redact import refuse_secrets
from evalwright.errors import UsageError
from evalwright.plan.manifest import read_manifest
from evalwright.plan.model_names import canonical_names, check_names
from evalwright.plan.options import RunKeywords, RunOptions, ScoreKeywords, parse_options
from evalwright.plan.records import compile_records
from evalwright.ports import Store
from evalwright.report.report import Report
from evalwright.session.models import Connection, provider_connector
from evalwright.session.modes import check_modes
from evalwright.session.progress import Progress, SilentProgress
from evalwright.session.rescore import prepare_rescoring, restore_modes
from evalwright.session.run_files import find_folder, refuse_other_project, relative_to
from evalwright.session.session import Session
from evalwright.session.stores import open_store
from evalwright.spec.checking import is_project
from evalwright.types import Run

if TYPE_CHECKING:
    from evalwright.functions.model import AnyModel
    from evalwright.functions.task import Task

Paths = str | Path | Sequence[str | Path]
AnyProgress = Progress | bool | None


def run(
    tasks: "Paths | Task | Sequence[Task]",
    models: "AnyModel | Sequence[AnyModel]" = (),
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[RunKeywords],
) -> Report:
    """Run every task with every model and return the report.

    `tasks` are `Task` objects, files of task records, or one project: its run file, its folder or
    one of its tasks. A model is a name such as `openai/gpt-4.1-mini`, a function that takes a
    prompt and returns text (async or not), or an object that implements `ew.Model`. A project runs
    with the models that it names unless you pass `models`. Invalid tasks, models or options raise
    an exception before the first model call.

    `progress=True` shows progress on stderr, even in a notebook; `False` shows nothing. By
    default, it is shown if stderr is a terminal.

    >>> report = ew.run("tasks.jsonl", models=["scripted/oracle"], limit=2)
    >>> report.status, report.leaderboard[0].mean
    ('finished', 1.0)
    """
    parsed = parse_options(options)
    progress = _choose_progress(progress)
    given = [tasks] if isinstance(tasks, str | Path) or not isinstance(tasks, Sequence) else tasks
    if any(not isinstance(each, str | Path) for each in given):
        return _run_objects(given, models, parsed, progress)
    paths = [str(path) for path in given]
    projects = [name for name in paths if is_project(name)]
    if projects and len(paths) > 1:
        raise UsageError(
            f"{', '.join(paths)}: a project must be the only PATH",
            hint="a run file may list any number of tasks",
        )
    names, connections = _connect_objects(models, required=not projects)
    check_names([*paths, *names])
    refuse_secrets([*paths, *names, parsed.name or ""], {**parsed.parameters, **parsed.tags})
    if projects:
        from evalwright.api.run_project import run_project

        return run_project(paths[0], names, parsed, progress, connections)
    plan = compile_records(paths, names, parsed)
    connect = provider_connector(parsed, tell=progress.tell)
    connections = {name: connections.get(name) or connect(name, None) for name in names}
    # A mistake leaves no store behind.
    check_modes(plan, {name: connection.client for name, connection in connections.items()}, parsed)
    with closing(open_store(parsed.store, durable=parsed.durable)) as store:
        session = Session(
            plan, store, parsed, connect=lambda name, _: connections[name], progress=progress
        )
        return session.run()


def _run_objects(
    tasks: Sequence[Any], models: Any, options: RunOptions, progress: Progress
) -> Report:
    from evalwright.functions.run import run_tasks
    from evalwright.functions.task import Task

    for task in tasks:
        if not isinstance(task, Task):
            raise _explain_no_task(task)
    return run_tasks(tasks, models, options, progress)


def _explain_no_task(value: Any) -> UsageError:
    if isinstance(value, str | Path):
        return UsageError(
            f"expected only `ew.Task` objects, or only paths; got the path `{value}` too",
            hint="run files and Python tasks in separate runs",
        )
    return UsageError(
        f"expected `ew.Task` objects or paths, got `{type(value).__name__}`",
        hint='make a task of rows: `ew.Task("NAME", rows, prompt="…", scorers=[…])`',
    )


def _connect_objects(models: Any, *, required: bool) -> tuple[list[str], dict[str, Connection]]:
    """Return the names of the models, and connections for those that are objects."""
    if not models and not required:
        return [], {}
    several = [models] if isinstance(models, str) or not isinstance(models, Sequence) else models
    if all(isinstance(model, str) for model in several):
        return canonical_names(several), {}
    from evalwright.functions.model import connect_objects

    return connect_objects(several)


def _choose_progress(progress: AnyProgress) -> Progress:
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    if not isinstance(progress, bool):
        return progress
    if not progress:
        return SilentProgress()
    from evalwright.session.terminal_progress import TerminalProgress

    return TerminalProgress()


def score(
    run: str | Report = "latest",
    /,
    *,
    progress: Progress | bool | None = None,
    **options: Unpack[ScoreKeywords],
) -> Report:
    """Score a run's stored outputs again, with the current task files.

    `run` is a report, or a run's id, the start of an id, a name or a tag. Evaluated models are not
    queried; a sample without a stored output fails. A project's judge is queried again if its
    scorer, the sample or the answer has changed, or if it gave no verdict. The result is a new run
    that names its parent. `progress` is the same as for `run`.

    >>> report = ew.run("tasks.jsonl", models=["scripted/oracle"], limit=2)
    >>> ew.score(report.run_id).summary.completed
    2
    """
    parsed = parse_options(options)
    progress = _choose_progress(progress)
    with closing(open_store(parsed.store, durable=parsed.durable, create=False)) as store:
        parent = store.find(run if isinstance(run, str) else run.run_id)
        manifest = read_manifest(parent)
        if not any(manifest.plan.sources):
            raise UsageError(
                f"the tasks of run {parent.id} are Python objects, not files",
                hint="call `ew.run` again with the new scorers: stored answers are reused",
            )
        if manifest.imported is not None:
            raise UsageError(
                f"run {parent.id} was imported: there is no project to score it with",
                hint="to reuse its answers, read the log as a `task_result` in a project",
            )
        parsed = restore_modes(parsed, parent)
        if is_project(relative_to(find_folder(parent, parsed.store), manifest.plan.sources[0])):
            from evalwright.api.run_project import score_project

            return score_project(parent, store, parsed, progress)
        return _score_records(parent, store, parsed, progress)


def _score_records(parent: Run, store: Store, options: RunOptions, progress: Progress) -> Report:
    before = read_manifest(parent).plan
    folder = find_folder(parent, options.store)
    paths = [relative_to(folder, path) for path in before.sources]
    plan = compile_records(paths, before.models, options)
    refuse_other_project(parent, plan.outline.tasks, ", ".join(paths))
    plan, rescoring = prepare_rescoring(plan, parent)
    session = Session(
        plan,
        store,
        options,
        connect=provider_connector(options, tell=progress.tell),
        progress=progress,
        folder=str(folder),
        rescoring=rescoring,
    )
    return session.run()
