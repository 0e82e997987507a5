"""Write a result log sample by sample: memory does not grow with the run.

NaN and the infinities are written as the constants `NaN`, `Infinity` and `-Infinity`, as the format
has it: most readers of JSON accept them, some do not.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from evalwright._version import __version__
from evalwright.engine.results import FinalResult
from evalwright.engine.usage import add_usage
from evalwright.plan.specifications import LOG_EXTENSION
from evalwright.result_logs.log_metrics import metrics_to_json
from evalwright.result_logs.log_outcomes import TaskFacts, failure_to_json, sample_to_json
from evalwright.result_logs.read_log import FORMAT_VERSION, STOPPED
from evalwright.types import Failure, Outcome, Usage

_STOPPED_FAILURE = Failure(
    stage="solver", type=STOPPED, message="the run did not come to its end: samples are missing"
)


class LogHeader(Struct, frozen=True, kw_only=True):
    """What a log says beside its samples."""

    specification: dict[str, Any]
    execution: dict[str, Any]
    finished: FinalResult
    facts: TaskFacts
    is_complete: bool = True
    """Whether the task came to its end."""
    samples: int | None = None
    """How many samples the task has; None if only the written ones are known."""
    is_recorded: bool = False
    """Whether the results were read from a log, and nothing was run."""


def write_log(header: LogHeader, outcomes: Iterable[Outcome], out: BinaryIO) -> int:
    """Write a log and return the number of its samples. `outcomes` come by their ordinals."""
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
    # Last, because the progress is known when all samples are written.
    execution = {
        **header.execution,
        "result_status": "succeeded" if has_succeeded else "failed",
        "is_cached": header.is_recorded,
        "progress": counts.progress(),
    }
    out.write(b'"execution": %s\n}\n' % _to_json(execution))
    return counts.samples


class _SampleCounts:
    """What is known when all samples are written."""

    def __init__(self, header: LogHeader) -> None:
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
        """Return the progress; null for what is not known about a stopped task."""
        total = self.samples if self._header.is_complete else self._header.samples
        share = None if total is None else self._processed / total if total else 1.0
        return {
            "progress": share,
            "num_total_samples": total,
            "num_processed_samples": self._processed,
            "num_samples_with_errors": self.failed,
        }

    def usages(self, finished: FinalResult) -> list[dict[str, Any]]:
        """Return what each model took: by the samples, or else by the totals of the task."""
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
    """Yield one line per field, each with a comma at its end."""
    return (b"%s: %s,\n" % (_to_json(name), _to_json(value)) for name, value in fields.items())


def _runs(facts: TaskFacts) -> list[dict[str, Any]] | None:
    """Return which trials belong to which run; None for a task that was run once."""
    per_run, runs = facts.trials.trials, facts.trials.repeats
    if runs == 1:
        return None
    return [
        {"index": run, "trials": list(range(run * per_run, (run + 1) * per_run))}
        for run in range(runs)
    ]


def _finished_extension(finished: FinalResult) -> dict[str, Any]:
    """Return what the format has no place for: of the task."""
    fields: dict[str, Any] = msgspec.to_builtins(finished, str_keys=True)
    elsewhere = {"figures", "broken"} if finished.stopped else {"figures", "broken", "stopped"}
    return {name: value for name, value in fields.items() if name not in elsewhere}


def _to_json(value: Any) -> bytes:
    """Return one line. What UTF-8 cannot hold (half a surrogate pair) is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
