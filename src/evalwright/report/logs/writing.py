"""A result log, written sample by sample: memory does not grow with the run.

NaN and the infinities are written as the constants `NaN`, `Infinity` and `-Infinity`, as the format
has it: most readers of JSON take them, some do not.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from evalwright._version import __version__
from evalwright.engine.finishing import Finished
from evalwright.engine.tally import merge
from evalwright.report.logs.ends import STOPPED
from evalwright.report.logs.evidence import OURS, TaskFacts, error_of, sample_evidence
from evalwright.report.logs.figures import metrics_of
from evalwright.report.logs.reading import FORMAT_VERSION
from evalwright.types import Failure, Outcome, Usage

APP_VERSION = f"evalwright {__version__}"
_STOPPED = Failure(
    stage="solver", type=STOPPED, message="the run did not come to its end: samples are missing"
)


class Written(Struct, frozen=True, kw_only=True):
    """What a log says beside its samples."""

    specification: dict[str, Any]
    execution: dict[str, Any]
    finished: Finished
    facts: TaskFacts
    complete: bool = True
    """Whether the task came to its end."""
    samples: int | None = None
    """How many there are to process; None if no more is known than what is written."""
    taken: bool = False
    """Whether its result was there already, in a log, and nothing was run."""


def write_log(log: Written, outcomes: Iterable[Outcome], out: BinaryIO) -> int:
    """Write it; how many samples there were. `outcomes` come by their ordinals."""
    finished = log.finished
    errors = [error_of(one.failure) for one in finished.broken]
    succeeded = log.complete and not errors
    out.write(b"{\n")
    head = {
        "format_version": FORMAT_VERSION,
        "app_version": APP_VERSION,
        "status": "success" if succeeded else "failure",
        "specification": log.specification,
        "errors": errors if log.complete else [*errors, error_of(_STOPPED)],
    }
    out.writelines(_members(head))
    out.write(b'"evidence": {\n')
    evidence: dict[str, Any] = {
        "metrics": metrics_of(finished.figures, log.facts),
        "errors": errors,
        "runs": _runs(log.facts),
        OURS: _rest(finished),
    }
    out.writelines(_members(evidence))
    counted = _Counted(log)
    out.write(b'"samples": [')
    for _, group in groupby(outcomes, key=lambda one: one.ordinal):
        trials = list(group)
        out.write(b"\n" if not counted.samples else b",\n")
        out.write(to_json(sample_evidence(trials, log.facts)))
        counted.add(trials)
    out.write(b"\n],\n")
    failures = {"num_errors": counted.failed, "num_total": counted.samples}
    out.write(b'"failures": %s,\n' % to_json(failures))
    usages = counted.usages(finished)
    out.write(b'"model_token_usages": %s\n},\n' % to_json(usages))
    # Last, because how far it came is known when all samples are written.
    execution = {
        **log.execution,
        "result_status": "succeeded" if succeeded else "failed",
        "is_cached": log.taken,
        "progress": counted.progress(),
    }
    out.write(b'"execution": %s\n}\n' % to_json(execution))
    return counted.samples


class _Counted:
    """What is known of the samples when all are written."""

    def __init__(self, log: Written) -> None:
        self.samples = self.failed = self._processed = 0
        self._log = log
        self._tries = log.facts.trials.trials * log.facts.trials.repeats
        self._used: dict[str, Usage] = {}

    def add(self, trials: list[Outcome]) -> None:
        self.samples += 1
        self.failed += any(one.failure for one in trials)
        self._processed += self._log.complete or len(trials) >= self._tries
        for one in trials:
            if one.trace is not None and one.model:
                merge(self._used, {one.model: one.trace.usage})
            merge(self._used, one.others)

    def progress(self) -> dict[str, Any]:
        """How far it came; null for what is not known of a task that did not come to its end."""
        total = self.samples if self._log.complete else self._log.samples
        share = None if total is None else self._processed / total if total else 1.0
        return {
            "progress": share,
            "num_total_samples": total,
            "num_processed_samples": self._processed,
            "num_samples_with_errors": self.failed,
        }

    def usages(self, finished: Finished) -> list[dict[str, Any]]:
        """What models took; where the samples do not say it, as it was summed up before."""
        untold = {**finished.others, **finished.unanswered}
        for name, used in untold.items():
            known = self._used.get(name, Usage())
            if not known.total_tokens:
                requests = known.requests or used.requests
                self._used[name] = msgspec.structs.replace(used, requests=requests)
        return [
            {
                "model_key": name,
                "num_requests": used.requests,
                "num_prompt_tokens": used.prompt_tokens,
                "num_completion_tokens": used.completion_tokens,
            }
            for name, used in self._used.items()
        ]


def _members(known: dict[str, Any]) -> Iterator[bytes]:
    """One a line, with more to follow."""
    return (b"%s: %s,\n" % (to_json(name), to_json(value)) for name, value in known.items())


def _runs(facts: TaskFacts) -> list[dict[str, Any]] | None:
    """Of a task that was run several times: which trials are of which run."""
    each, repeats = facts.trials.trials, facts.trials.repeats
    if repeats == 1:
        return None
    return [
        {"index": run, "trials": list(range(run * each, (run + 1) * each))}
        for run in range(repeats)
    ]


def _rest(finished: Finished) -> dict[str, Any]:
    """What we know of the task and the format has no place for."""
    known: dict[str, Any] = msgspec.to_builtins(finished, str_keys=True)
    elsewhere = {"figures", "broken"} if finished.stopped else {"figures", "broken", "stopped"}
    return {name: value for name, value in known.items() if name not in elsewhere}


def to_json(value: Any) -> bytes:
    """In one line. What UTF-8 cannot hold (half a surrogate pair) is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
