"""Import a result log, or a folder of logs, as a run.

The run has the outcomes and metrics of the logs. `show`, `report`, `list`, `export` and `gate`
treat it like any other run. No model is queried, and nothing is scored again. If a log is damaged,
nothing is imported. Importing the same logs again gives the same run.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

from evalwright.engine.redact import refuse_secrets
from evalwright.errors import BadLog, EvalwrightError, Unreadable, UsageError
from evalwright.plan.finalization import Finalization
from evalwright.plan.options import RunOptions
from evalwright.plan.plan import Plan, TaskPlan, TaskRuntime
from evalwright.plan.samples import NoRows, RowSamples
from evalwright.report.report import Report
from evalwright.result_logs.export_run import LOG_FILE, LOG_FOLDER
from evalwright.result_logs.read_log import INSPECT_HINT, read_log, text_field
from evalwright.result_logs.recorded_tasks import (
    LoggedTask,
    describe_recorded_tasks,
    make_recorded_task,
)
from evalwright.session.models import provider_connector
from evalwright.session.progress import Progress, SilentProgress
from evalwright.session.session import Session
from evalwright.session.stores import open_store
from evalwright.spec.documents.yaml.reader import read_document

_YAML_SUFFIXES = {".yaml", ".yml"}
_INSPECT_SUFFIX = ".eval"


def import_results(
    path: str | Path, store: str | None = None, *, progress: Progress | None = None, seed: int = 0
) -> Report:
    """Create a run with the results of a log, or of all logs in a folder, and report on it."""
    progress = progress or SilentProgress()
    refuse_secrets([str(path)], {})
    evaluation, files = _find_logs(Path(path))
    tasks = _read_logs(files, is_single=not evaluation and len(files) == 1)
    return _record_run(str(path), evaluation, tasks, store, progress=progress, seed=seed)


def _find_logs(path: Path) -> tuple[str, dict[str, Path]]:
    if not path.is_dir():
        if path.suffix in _YAML_SUFFIXES:
            raise UsageError(
                f"{path}: a result log must be JSON",
                hint=f"import its folder, or run it: `evalwright run {path}` reads the logs that "
                "its specifications refer to",
            )
        if path.suffix == _INSPECT_SUFFIX:
            raise UsageError(f"{path}: not a result log", hint=INSPECT_HINT.format(path))
        name = path.absolute().parent.name if path.name == LOG_FILE else path.stem
        return "", {name: path}
    try:
        logs = {log.parent.name: log for log in sorted(path.glob(f"{LOG_FOLDER}/*/{LOG_FILE}"))}
        documents = [file for file in sorted(path.iterdir()) if file.suffix in _YAML_SUFFIXES]
    except OSError as error:
        raise Unreadable(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if not logs:
        raise UsageError(
            f"{path}: no result logs",
            hint=f"expected files named `{LOG_FOLDER}/KEY/{LOG_FILE}` in this folder",
        )
    if len(documents) != 1:
        return "", logs
    places = {key: place for place, key in enumerate(_specification_keys(documents[0]))}
    ordered = sorted(logs, key=lambda key: (places.get(key, len(places)), key))
    return documents[0].stem, {key: logs[key] for key in ordered}


def _specification_keys(path: Path) -> list[str]:
    """Return the specification keys of an evaluation, in order; empty if it is unreadable."""
    data: Any = read_document(path, environment={}).data
    for name in ("evaluation", "task_specifications"):
        data = data.get(name) if isinstance(data, dict) else None
    specs = data if isinstance(data, list) else ()
    keys = [spec.get("key") for spec in specs if isinstance(spec, dict)]
    return [key for key in keys if isinstance(key, str)]


def _read_logs(files: dict[str, Path], *, is_single: bool) -> dict[str, LoggedTask]:
    """Read all logs; raise one error for all bad logs.

    The task of a single log is named in the log. If there are several, each folder names its task.
    """
    tasks: dict[str, LoggedTask] = {}
    errors: list[EvalwrightError] = []
    for name, file in files.items():
        try:
            log = read_log(file)
            key = (text_field(log.specification, "key") if is_single else "") or name
            task_key = text_field(log.specification, "task_key") or key
            tasks[key] = make_recorded_task(log, name=key, task_key=task_key)
        except (BadLog, Unreadable) as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise BadLog("; ".join(error.message for error in errors), hint="nothing was imported")
    return tasks


def _record_run(
    path: str,
    evaluation: str,
    tasks: dict[str, LoggedTask],
    store: str | None,
    *,
    progress: Progress,
    seed: int,
) -> Report:
    names = (name for task in tasks.values() for name in task.outline.models)
    plan = Plan(
        tasks=tuple(
            TaskPlan(
                outline=task.outline,
                samples=RowSamples(rows=NoRows(), places=range(task.outline.records)),
                runtime=TaskRuntime(),
                finalization=Finalization(),
                recorded=task,
                specification=task.specification,
            )
            for task in tasks.values()
        ),
        models=tuple(dict.fromkeys(names)),
        evaluation=evaluation,
        path=path,
        notes=tuple(describe_recorded_tasks(tasks.values())),
        imported=path,
    )
    options = RunOptions(store=store, seed=seed)
    connect = provider_connector(options)
    with closing(open_store(store)) as opened:
        return Session(plan, opened, options, connect=connect, progress=progress).run()
