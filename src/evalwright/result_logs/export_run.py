"""Export a run as a folder of result logs.

    DIR/
      release-check.yaml                                  the evaluation, by its key
      task_results/first-pass/task_result_log.json        one per task specification

With `link_logs`, each specification of the evaluation refers to its log. The folder is then a
project whose run queries no models and reports the same metrics. A task that was run with several
models becomes one specification per model.

Everything is written next to DIR and moved into place when it is complete, so a full disk leaves
nothing behind. Logs are written sample by sample, so memory does not grow with the run. NaN and
infinities are written as the constants `NaN`, `Infinity` and `-Infinity`, which some JSON parsers
reject.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from evalwright._version import __version__
from evalwright.engine.results import FinalResult, TaskModelResult
from evalwright.engine.usage import add_usage
from evalwright.errors import EvalwrightError, UsageError
from evalwright.plan.manifest import read_manifest
from evalwright.plan.outline import TaskOutline
from evalwright.plan.specifications import LOG_EXTENSION
from evalwright.ports import Store
from evalwright.report.yaml_text import to_yaml
from evalwright.result_logs.log_metrics import metrics_to_json
from evalwright.result_logs.log_outcomes import (
    TaskFacts,
    failure_to_json,
    read_task_facts,
    sample_to_json,
)
from evalwright.result_logs.read_log import FORMAT_VERSION, STOPPED
from evalwright.session.stores import open_store
from evalwright.types import Failure, Outcome, Run, Usage

LOG_FOLDER = "task_results"
LOG_FILE = "task_result_log.json"
_LONGEST_NAME = 200
_TRIAL_FIELDS = ("trials", "repeatability")
_STOPPED_FAILURE = Failure(
    stage="solver", type=STOPPED, message="the run did not finish: samples are missing"
)


class ExportedLogs(Struct, frozen=True, kw_only=True):
    """The exported files."""

    evaluation: str
    """Path of the evaluation document."""
    logs: list[str]
    """Paths of the logs."""
    samples: int


def export_logs(
    folder: str | Path,
    name: str = "latest",
    store: str | Path | None = None,
    *,
    link_logs: bool = False,
) -> ExportedLogs:
    """Write the logs of a run into a folder, which must be new or empty."""
    target = Path(folder)
    with closing(open_store(store, create=False)) as opened:
        run = opened.find(name)
        results = _read_results(run)
        with _new_folder(target) as temporary:
            exporter = _LogExporter(run, opened, target, temporary)
            return exporter.write(results, link_logs=link_logs)


def _read_results(run: Run) -> list[TaskModelResult]:
    manifest = read_manifest(run)
    if not any(task.finalized for task in manifest.plan.tasks):
        raise UsageError(
            f"run {run.id} is a run of task records: only evaluations have result logs",
            hint="`--format jsonl`, `csv` or `parquet` exports its outcomes",
        )
    if manifest.results is None:
        raise UsageError(
            f"run {run.id} has no metrics to export: it did not finish, or was "
            "started by an older version",
            hint="repeat the command of the run to resume it",
        )
    try:
        return msgspec.convert(manifest.results, list[TaskModelResult])
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the metrics of run {run.id} were written by a different version, "
            f"which this one cannot read: {error}",
            hint="run it again: stored answers are reused",
        ) from error


class _LogExporter:
    def __init__(self, run: Run, store: Store, target: Path, temporary: Path) -> None:
        self._run, self._store = run, store
        self._target, self._temporary = target, temporary
        self._manifest = read_manifest(run)
        self._plan = self._manifest.plan
        self._tasks = {task.name: task for task in self._plan.tasks}
        self._used_keys: set[str] = set()

    def write(self, results: list[TaskModelResult], *, link_logs: bool) -> ExportedLogs:
        """Write every log, and the evaluation last."""
        logs, specifications, samples = [], [], 0
        for result in results:
            task = self._tasks[result.task]
            key = self._make_key(task, result.model)
            path = f"{LOG_FOLDER}/{key}/{LOG_FILE}"
            specification = self._specification(task) | {
                "key": key,
                "model_key": result.model or None,
            }
            samples += self._write_log(result, task, specification, self._temporary / path)
            logs.append(str(self._target / path))
            specifications.append(
                _specification_to_yaml(specification, log_path=path if link_logs else "")
            )
        evaluation = _slug(self._plan.evaluation or f"run-{self._run.id}")
        document = {
            "key": evaluation,
            "display_name": evaluation,
            "description": f"The results of run {self._run.id}.",
            "task_specifications": specifications,
        }
        file = f"{evaluation}.yaml"
        (self._temporary / file).write_text(to_yaml({"evaluation": document}), encoding="utf-8")
        return ExportedLogs(evaluation=str(self._target / file), logs=logs, samples=samples)

    def _make_key(self, task: TaskOutline, model: str) -> str:
        name = task.name if len(task.models) == 1 else f"{task.name}-{model}"
        # The key is a folder name, but a task in a log may have any name.
        key, number = _slug(name), 1
        while key in self._used_keys:
            number += 1
            key = f"{_slug(name)}-{number}"
        self._used_keys.add(key)
        return key

    def _specification(self, task: TaskOutline) -> dict[str, Any]:
        return self._manifest.specifications.get(task.name) or {
            "key": task.name,
            "task_key": task.task_key,
            "display_name": task.display_name,
            "task_config": task.values,
        }

    def _write_log(
        self, result: TaskModelResult, task: TaskOutline, specification: dict[str, Any], path: Path
    ) -> int:
        run = self._run
        run_stopped = run.status == "stopped" and self._manifest.stopped
        is_stopped = bool(result.finished.stopped or run_stopped)
        is_recorded = result.task in self._manifest.recorded_tasks
        header = ResultLogHeader(
            specification=specification,
            execution={
                "run_id": run.id,
                "execution_status": "cancelled" if is_stopped else "finished",
                "created_at": run.created,
                "updated_at": run.updated,
                "notes": list(self._manifest.notes),
            },
            finished=result.finished,
            facts=read_task_facts(specification, trials=task.trials, repeats=task.repeats),
            is_complete=not is_stopped,
            samples=None if is_recorded else task.records,
            is_recorded=is_recorded,
        )
        outcomes = self._store.outcomes(run.id, task=result.task, model=result.model)
        path.parent.mkdir(parents=True)
        with path.open("xb", buffering=1 << 20) as file:
            return write_log(header, outcomes, file)


def _specification_to_yaml(specification: Mapping[str, Any], *, log_path: str) -> dict[str, Any]:
    """Return the specification without trials, which are in the log."""
    names = ["key", "task_key", "display_name", "model_key", "task_config", "num_samples"]
    fields = {name: specification.get(name) for name in (*names, *_TRIAL_FIELDS)}
    if specification.get("subsampling") == "random":
        fields["subsampling"] = "random"
    if log_path:
        fields |= {"task_result_log_path": log_path, **dict.fromkeys(_TRIAL_FIELDS)}
    return {name: value for name, value in fields.items() if value}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:_LONGEST_NAME] or "none"


@contextmanager
def _new_folder(target: Path) -> Iterator[Path]:
    """Yield a folder that is renamed to `target` when the block succeeds."""
    absolute = target.absolute()
    temporary = absolute.with_name(f".{absolute.name[:_LONGEST_NAME]}.{os.getpid()}.part")
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise UsageError(
                f"{target}: already exists and was not changed",
                hint="specify a new or empty folder",
            )
        temporary.mkdir(parents=True)
        try:
            yield temporary
            if target.exists():
                target.rmdir()
            temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise EvalwrightError(f"{target}: cannot be written: {why}") from error


class ResultLogHeader(Struct, frozen=True, kw_only=True):
    """The parts of a log other than its samples."""

    specification: dict[str, Any]
    execution: dict[str, Any]
    finished: FinalResult
    facts: TaskFacts
    is_complete: bool = True
    samples: int | None = None
    """Number of samples in the task; None if only the written samples are known."""
    is_recorded: bool = False
    """Whether the results were read from a log."""


def write_log(header: ResultLogHeader, outcomes: Iterable[Outcome], out: BinaryIO) -> int:
    """Write a log and return the number of samples. `outcomes` are sorted by ordinal."""
    finished = header.finished
    errors = [failure_to_json(broken.failure) for broken in finished.broken]
    has_succeeded = header.is_complete and not errors
    out.write(b"{\n")
    head = {
        "format_version": FORMAT_VERSION,
        "app_version": f"evalwright {__version__}",
        "status": "success" if has_succeeded else "failure",
        "specification": header.specification,
        "errors": errors if header.is_complete else [*errors, failure_to_json(_STOPPED_FAILURE)],
    }
    out.writelines(_members(head))
    out.write(b'"evidence": {\n')
    evidence: dict[str, Any] = {
        "metrics": metrics_to_json(finished.figures, header.facts),
        "errors": errors,
        "runs": _runs(header.facts),
        LOG_EXTENSION: _finished_extension(finished),
    }
    out.writelines(_members(evidence))
    counts = _SampleCounts(header)
    out.write(b'"samples": [')
    for _, group in groupby(outcomes, key=lambda outcome: outcome.ordinal):
        trials = list(group)
        out.write(b"\n" if not counts.samples else b",\n")
        out.write(_to_json(sample_to_json(trials, header.facts)))
        counts.add(trials)
    out.write(b"\n],\n")
    failures = {"num_errors": counts.failed, "num_total": counts.samples}
    out.write(b'"failures": %s,\n' % _to_json(failures))
    out.write(b'"model_token_usages": %s\n},\n' % _to_json(counts.usages(finished)))
    # Written last, because the progress is known only after all samples.
    execution = {
        **header.execution,
        "result_status": "succeeded" if has_succeeded else "failed",
        "is_cached": header.is_recorded,
        "progress": counts.progress(),
    }
    out.write(b'"execution": %s\n}\n' % _to_json(execution))
    return counts.samples


class _SampleCounts:
    def __init__(self, header: ResultLogHeader) -> None:
        self.samples = self.failed = self._processed = 0
        self._header = header
        self._usages: dict[str, Usage] = {}

    def add(self, trials: list[Outcome]) -> None:
        header = self._header
        self.samples += 1
        self.failed += any(trial.failure for trial in trials)
        self._processed += header.is_complete or len(trials) >= header.facts.trials.total
        for trial in trials:
            if trial.trace is not None and trial.model:
                add_usage(self._usages, {trial.model: trial.trace.usage})
            add_usage(self._usages, trial.others)

    def progress(self) -> dict[str, Any]:
        """Return the progress, with null for unknown values of a stopped task."""
        total = self.samples if self._header.is_complete else self._header.samples
        share = None if total is None else self._processed / total if total else 1.0
        return {
            "progress": share,
            "num_total_samples": total,
            "num_processed_samples": self._processed,
            "num_samples_with_errors": self.failed,
        }

    def usages(self, finished: FinalResult) -> list[dict[str, Any]]:
        """Return the usage per model: from the samples or, failing that, from the task's totals."""
        totals = {**finished.others, **finished.unanswered}
        for name, usage in totals.items():
            known = self._usages.get(name, Usage())
            if not known.total_tokens:
                requests = known.requests or usage.requests
                self._usages[name] = msgspec.structs.replace(usage, requests=requests)
        return [
            {
                "model_key": name,
                "num_requests": usage.requests,
                "num_prompt_tokens": usage.prompt_tokens,
                "num_completion_tokens": usage.completion_tokens,
            }
            for name, usage in self._usages.items()
        ]


def _members(fields: dict[str, Any]) -> Iterator[bytes]:
    return (b"%s: %s,\n" % (_to_json(name), _to_json(value)) for name, value in fields.items())


def _runs(facts: TaskFacts) -> list[dict[str, Any]] | None:
    per_run, runs = facts.trials.trials, facts.trials.repeats
    if runs == 1:
        return None
    return [
        {"index": run, "trials": list(range(run * per_run, (run + 1) * per_run))}
        for run in range(runs)
    ]


def _finished_extension(finished: FinalResult) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(finished, str_keys=True)
    elsewhere = {"figures", "broken"} if finished.stopped else {"figures", "broken", "stopped"}
    return {name: value for name, value in fields.items() if name not in elsewhere}


def _to_json(value: Any) -> bytes:
    """Encode a value on one line. Lone surrogates, which UTF-8 cannot represent, are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
