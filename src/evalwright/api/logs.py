"""A run as a folder of result logs, so that its results can move; and the other way.

    DIR/
      release-check.yaml                                  the evaluation, by its key
      task_results/first-pass/task_result_log.json        one a task specification

With `link_logs`, each specification of the evaluation names its log: the folder is then a project
by itself, whose run asks nobody and reports the same figures. Of a task that was run with several
models, each is a specification of its own.

All of it is written beside DIR and put in its place when it is whole: a full disk leaves nothing.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from evalwright.api.assembly import open_store
from evalwright.errors import EvalwrightError, UsageError

if TYPE_CHECKING:
    from evalwright.api.options import Watch
    from evalwright.plan.documents import PlannedSpec
    from evalwright.ports import Store
    from evalwright.report.evaluation import Ended
    from evalwright.report.report import Report
    from evalwright.types import Run

LOGS = "task_results"
LOG = "task_result_log.json"
TAKEN = "taken"
"""In the manifest of a run: its tasks whose results are taken from logs."""
_LONGEST = 200
_TRIED = ("trials", "repeatability")


class Exported(Struct, frozen=True, kw_only=True):
    """What was written."""

    evaluation: str
    """The path of its YAML."""
    logs: list[str]
    """Their paths."""
    samples: int


def export_logs(
    folder: str | Path,
    name: str = "latest",
    store: str | Path | None = None,
    *,
    link_logs: bool = False,
) -> Exported:
    """Write the logs of a run into a folder, which must be new or empty."""
    target = Path(folder)
    opened = open_store(store, create=False)
    try:
        run = opened.find(name)
        ended = _ended(run)
        with _new_folder(target) as made:
            return _Writing(run, opened, target, made).all(ended, link_logs=link_logs)
    finally:
        opened.close()


def import_results(
    path: str | Path, store: str | None = None, *, watch: "Watch | None" = None, seed: int = 0
) -> "Report":
    """The report of a run with the results of a log, or of every log of a folder.

    Nothing is asked or measured again. The same logs, imported again, are the same run.
    """
    from evalwright.api.importing import taken_over

    return taken_over(path, store, watch, seed=seed)


def _ended(run: "Run") -> "list[Ended]":
    """The figures of a run; an error if there are none."""
    from evalwright.api.manifest import is_evaluation
    from evalwright.report.evaluation import Ended

    if not is_evaluation(run):
        raise UsageError(
            f"run {run.id} is of task records: result logs are of evaluations",
            hint="`--format jsonl`, `csv` or `parquet` exports its outcomes",
        )
    if "results" not in run.manifest:
        raise UsageError(
            f"run {run.id} has no figures to export: it did not come to its end, "
            "or it is of an older version",
            hint="the command that began it goes on, and asks nothing twice",
        )
    try:
        return msgspec.convert(run.manifest["results"], list[Ended])
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the figures of run {run.id} were written by another version, and this one cannot "
            f"read them: {error}",
            hint="run it again: what is stored of it is not asked again",
        ) from error


class _Writing:
    """One export."""

    def __init__(self, run: "Run", store: "Store", target: Path, made: Path) -> None:
        from evalwright.plan.documents import DocumentPlan

        self._run, self._store = run, store
        self._target, self._made = target, made
        self._plan = msgspec.convert(run.manifest["plan"], DocumentPlan)
        self._tasks = {task.name: task for task in self._plan.tasks}
        self._taken: set[str] = set()

    def all(self, ended: "list[Ended]", *, link_logs: bool) -> Exported:
        """Every log, and the evaluation last."""
        from evalwright.report.yaml_text import to_yaml

        logs, written, samples = [], [], 0
        for one in ended:
            task = self._tasks[one.task]
            key = self._key(task, one.model)
            path = f"{LOGS}/{key}/{LOG}"
            specification = {
                **self._specification(task),
                "key": key,
                "model_key": one.model or None,
            }
            samples += self._log(one, task, specification, self._made / path)
            logs.append(str(self._target / path))
            told = _in_yaml(specification)
            if link_logs:  # how often it is tried is the log's business then
                told = {key: one for key, one in told.items() if key not in _TRIED}
                told["task_result_log_path"] = path
            written.append(told)
        evaluation = _slug(self._plan.evaluation or f"run-{self._run.id}")
        told = {
            "key": evaluation,
            "display_name": evaluation,
            "description": f"The results of run {self._run.id}.",
            "task_specifications": written,
        }
        file = f"{evaluation}.yaml"
        (self._made / file).write_text(to_yaml({"evaluation": told}), encoding="utf-8")
        return Exported(evaluation=str(self._target / file), logs=logs, samples=samples)

    def _key(self, task: "PlannedSpec", model: str) -> str:
        """Of a specification in the export: the task's, and the model's where there are several."""
        named = task.name if len(task.models) == 1 else f"{task.name}-{model}"
        key, number = _slug(named), 1  # it is a folder, and the key of a log may be any text
        while key in self._taken:
            number += 1
            key = f"{_slug(named)}-{number}"
        self._taken.add(key)
        return key

    def _specification(self, task: "PlannedSpec") -> dict[str, Any]:
        known = self._run.manifest.get("specifications", {}).get(task.name)
        return known or {
            "key": task.name,
            "task_key": task.task_key,
            "display_name": task.display_name,
            "task_config": task.values,
        }

    def _log(
        self, one: "Ended", task: "PlannedSpec", specification: dict[str, Any], path: Path
    ) -> int:
        from evalwright.api.specifications import facts_of
        from evalwright.report.logs.writing import Written, write_log

        run = self._run
        stopped = bool(one.finished.stopped) or bool(
            run.status == "stopped" and run.manifest.get("stopped")
        )
        taken = one.task in run.manifest.get(TAKEN, ())
        log = Written(
            specification=specification,
            execution={
                "run_id": run.id,
                "execution_status": "cancelled" if stopped else "finished",
                "created_at": run.created,
                "updated_at": run.updated,
                "notes": run.manifest.get("notes", []),
            },
            finished=one.finished,
            facts=facts_of(specification, task),
            complete=not stopped,
            samples=None if taken else task.records,
            taken=taken,
        )
        path.parent.mkdir(parents=True)
        with path.open("xb", buffering=1 << 20) as file:
            return write_log(log, self._store.of_task(run.id, one.task, one.model), file)


def _in_yaml(specification: Mapping[str, Any]) -> dict[str, Any]:
    """What a task specification of an evaluation may say; nothing that goes without saying."""
    known = ("key", "task_key", "display_name", "model_key", "task_config", "num_samples")
    told = {name: specification.get(name) for name in (*known, *_TRIED)}
    if specification.get("subsampling") == "random":
        told["subsampling"] = "random"
    return {name: value for name, value in told.items() if value}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:_LONGEST] or "none"


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """A folder that becomes `target` when all is written; before that, `target` is untouched."""
    made = target.absolute().with_name(f".{target.absolute().name[:200]}.{os.getpid()}.part")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UsageError(
                f"{target}: already there, and left as it is",
                hint="name a folder that is new or empty",
            )
        made.mkdir(parents=True)
        try:
            yield made
            if target.exists():
                target.rmdir()
            made.rename(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise EvalwrightError(f"{target}: cannot be written: {why}") from error
