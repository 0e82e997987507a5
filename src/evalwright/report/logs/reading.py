"""A result log, read: checked to its end first, its outcomes after that.

    log = read_log("task_result_log.json")       every sample of it is looked at, none is kept
    log.samples, log.trials                      how many
    for outcome in log.outcomes("task", "model")

A log of any size takes the memory of its largest sample, and a few bytes a sample and score where
its intervals must be made. `BadLog` says file, line and path of the first few things that are
wrong.
"""

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec
from msgspec import Struct

from evalwright.engine.finishing import Broken, Finished
from evalwright.engine.tally import merge, told_apart, total
from evalwright.errors import BadLog, Unreadable
from evalwright.report.logs.ends import broken_in, stopped_by
from evalwright.report.logs.evidence import OURS
from evalwright.report.logs.figures import Seen, Told, contradictions, figures_from, told_in
from evalwright.report.logs.taken import Crooked, outcomes_in, usage_in
from evalwright.report.logs.walking import Walk
from evalwright.types import Outcome, Usage

FORMAT_VERSION = "v1"
_MOST_SHOWN = 5
_NOT_A_LOG = "a result log has `format_version`, `evidence` and `specification`"
INSPECT = (
    "a log of Inspect AI is a dataset: `source: {{type: inspect_ai, file_path: {}}}`, for a task "
    "with a `pass_through_solver`"
)


class Log(Struct, frozen=True, kw_only=True):
    """One task with one model, as a log tells it. Everything in it was looked at."""

    path: str
    digest: str
    app_version: str
    status: str
    specification: dict[str, Any]
    execution: dict[str, Any]
    told: list[Told]
    broken: list[Broken]
    finished: Finished
    """What a log of ours knows beside the figures; else what its samples tell."""
    seen: Seen
    samples: int
    landed: int
    """Trials of all samples."""
    trials: int
    """The most that a sample has, in all runs."""
    runs: int = 1
    notes: tuple[str, ...] = ()
    """What is odd about it."""
    untold: dict[str, Usage] = {}
    """What models took, where only the sum is told."""

    @property
    def unequal(self) -> bool:
        """Whether some samples were tried more often than others."""
        return self.landed != self.samples * self.trials

    @property
    def model(self) -> str:
        """The model that was evaluated; empty where none was."""
        return text_in(self.specification, "model_key")

    def outcomes(self, task: str, model: str) -> Iterator[Outcome]:
        """One a trial, in the order of the samples."""
        with _opened(self.path) as file:
            walk = Walk(file, self.path)
            for ordinal, sample in _samples(walk):
                try:
                    yield from outcomes_in(sample, ordinal, task=task, model=model)
                except Crooked as error:  # it was as it should be when it was checked
                    raise BadLog(f"{self.path}: has changed while it was read: {error}") from error

    async def end(self, model: str, *, seed: int) -> Finished:
        """What came of the task: its figures as the log tells them, under the name of a model."""
        end = self.finished
        total = self.samples - end.left_out
        figures = await figures_from(self.told, self.seen, total=total, seed=seed)
        unanswered, others = dict(end.unanswered), dict(end.others)
        for name, usage in self.untold.items():
            merge(
                *((unanswered, {model: usage}) if name == self.model else (others, {name: usage}))
            )
        notes = {**end.notes, **dict.fromkeys(contradictions(self.told, figures, self.seen), 1)}
        return msgspec.structs.replace(
            end,
            figures=figures,
            broken=self.broken,
            unanswered=unanswered,
            others=others,
            notes=notes,
        )


def text_in(told: dict[str, Any], name: str) -> str:
    """A text of a specification; empty where there is none."""
    value = told.get(name)
    return value if isinstance(value, str) else ""


def read_log(path: str | Path) -> Log:
    """Look at all of it; `BadLog` if anything is wrong, `Unreadable` if there is no such file."""
    with _opened(path) as file:
        reading = _Reading(Walk(file, str(path)), str(path))
        reading.all()
    return reading.log(_digest(path))


class _Reading:
    """One way through the file."""

    def __init__(self, walk: Walk, path: str) -> None:
        self._walk, self._path = walk, path
        self._known: dict[str, Any] = {}
        self._evidence: dict[str, Any] = {}
        self._wrong: list[str] = []
        self._finished = Finished()
        self._seen = Seen()
        self._samples, self._trials, self._landed = -1, 1, 0
        self._fewest = 0
        self._answers = Usage()
        """What the samples say that their answers took."""

    def all(self) -> None:
        """Everything, and each thing that is wrong."""
        walk = self._walk
        if walk.peek() != "{":
            raise walk.wrong(f"not a result log; {_NOT_A_LOG}")
        for name in walk.members():
            if name == "evidence":
                self._read_evidence()
            else:
                self._known[name] = walk.value()
                if name == "format_version":
                    _check_version(walk, self._known[name])
        walk.end()
        if "format_version" not in self._known or self._samples < 0:
            raise BadLog(
                f"{self._path}: not a result log; {_NOT_A_LOG}, with `evidence.samples`",
                hint=INSPECT.format(self._path) if {"eval", "samples"} <= {*self._known} else "",
            )
        if self._wrong:
            raise BadLog("; ".join(self._wrong))

    def _read_evidence(self) -> None:
        for name in self._walk.members():
            if name != "samples":
                self._evidence[name] = self._walk.value()
            elif self._walk.peek() == "n":  # null: a task that has none
                self._walk.value()
                self._samples = 0
            else:
                self._read_samples()

    def _read_samples(self) -> None:
        self._samples = 0
        for ordinal in self._walk.elements():
            sample = self._walk.value()
            try:
                self._count(outcomes_in(sample, ordinal))
            except Crooked as error:
                self._wrong.append(
                    f"{self._walk.place()}: {error}"
                    f" - at `$.evidence.samples[{ordinal}]{error.path}`"
                )
            self._samples = ordinal + 1
            if len(self._wrong) >= _MOST_SHOWN:
                raise BadLog("; ".join(self._wrong), hint="there may be more")

    def _count(self, outcomes: list[Outcome]) -> None:
        self._trials = max(self._trials, len(outcomes))
        self._fewest = min(self._fewest or len(outcomes), len(outcomes))
        self._landed += len(outcomes)
        finished, first = self._finished, outcomes[0]
        finished.scored += 1
        finished.left_out += bool(first.actions)
        for action in first.actions:
            finished.excluded[action.rule_key] = finished.excluded.get(action.rule_key, 0) + 1
        for one in outcomes:
            if one.trace is not None:
                self._answers = total([self._answers, one.trace.usage])
            unanswered, others = told_apart(one)
            merge(finished.unanswered, unanswered)
            merge(finished.others, others)
        if first.actions or self._all_told:
            return
        # Of several trials, what the metrics are made of stands on the sample.
        scores = first.whole if len(outcomes) > 1 else first.scores
        for key, score in scores.items():
            self._seen.add(key, score.values)

    @property
    def _all_told(self) -> bool:
        """Whether the metrics, already read, bring their intervals: then no number is kept."""
        metrics = self._evidence.get("metrics")
        return isinstance(metrics, list) and all(
            isinstance(one, dict) and OURS in one for one in metrics
        )

    def log(self, digest: str) -> Log:
        """What was read."""
        known, evidence = self._known, self._evidence
        told = self._of("$.evidence.metrics", lambda: told_in(evidence.get("metrics")))
        broken = self._of("", lambda: broken_in(known, evidence))
        listed = evidence.get("runs")
        runs = len(listed) if isinstance(listed, list) and listed else 1
        return Log(
            path=self._path,
            digest=digest,
            app_version=str(known.get("app_version") or "an unknown version"),
            status=str(known.get("status") or ""),
            specification=_mapping(known.get("specification")),
            execution=_mapping(known.get("execution")),
            told=told,
            broken=broken,
            finished=self._end(evidence.get(OURS)),
            seen=self._seen,
            samples=self._samples,
            landed=self._landed,
            trials=self._trials,
            runs=runs if self._trials % runs == 0 else 1,
            notes=tuple(self._noted(runs)),
            untold=self._untold(),
        )

    def _noted(self, runs: int) -> Iterator[str]:
        if self._trials % runs:
            yield f"its log speaks of {runs} runs, and not every run has its trials"
        if self._fewest != self._trials and self._samples > 0:
            yield f"its samples were tried {self._fewest} to {self._trials} times"

    def _untold(self) -> dict[str, Usage]:
        """What models took as the log sums it up, where its samples do not say it themselves."""
        model = text_in(_mapping(self._known.get("specification")), "model_key")
        listed = self._evidence.get("model_token_usages")
        untold: dict[str, Usage] = {}
        for one in listed if isinstance(listed, list) and OURS not in self._evidence else ():
            name = one.get("model_key") if isinstance(one, dict) else None
            own = name == model
            known = self._answers.total_tokens if own else name in self._finished.others
            if isinstance(name, str) and name and not known:
                usage = usage_in(one)
                if own and self._answers.requests:  # those are counted already
                    usage = msgspec.structs.replace(usage, requests=0)
                merge(untold, {name: usage})
        return untold

    def _end(self, ours: Any) -> Finished:
        end = self._finished
        if isinstance(ours, dict):
            known = msgspec.to_builtins(end)
            end = self._of("$.evidence.evalwright", lambda: _converted({**known, **ours}))
        return msgspec.structs.replace(end, stopped=end.stopped or stopped_by(self._known))

    def _of(self, path: str, make: Any) -> Any:
        try:
            return make()
        except Crooked as error:
            raise BadLog(f"{self._path}: {error} - at `{path}{error.path}`") from error


def _converted(ours: dict[str, Any]) -> Finished:
    try:
        return msgspec.convert(ours, Finished)
    except msgspec.ValidationError as error:
        raise Crooked("", str(error)) from error


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _check_version(walk: Walk, version: Any) -> None:
    if version != FORMAT_VERSION:
        raise walk.wrong(f"expected `format_version` {FORMAT_VERSION!r}, got {version!r}")


def _samples(walk: Walk) -> Iterator[tuple[int, Any]]:
    for name in walk.members():
        if name != "evidence":
            walk.value()
            continue
        for part in walk.members():
            if part != "samples" or walk.peek() == "n":
                walk.value()
                continue
            for ordinal in walk.elements():
                yield ordinal, walk.value()


def _opened(path: str | Path) -> TextIO:
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode) and not Path(path).is_dir():
            raise Unreadable(
                f"{path}: not a file: a result log is read more than once",
                hint="write what comes through the pipe into a file first",
            )
        return open(path, encoding="utf-8-sig")  # noqa: PTH123 - closed by whoever asked
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise Unreadable(f"{path}: cannot be read: {why}") from error


def _digest(path: str | Path) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]
