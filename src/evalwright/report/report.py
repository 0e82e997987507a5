"""The Report: everything a run has shown, frozen. Its fields are the keys of `--json`.

A number that could not be measured is None, never 0. Every mean stands beside its interval, how
many samples it is over, how many failed and how many were left out.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.stats.calibration import Bin
from evalwright.types import Outcome

_NOT_ISOLATING = "rlimits"
Status = Literal["finished", "finished_with_failures", "stopped", "failed"]


class MetricRow(Struct, frozen=True, kw_only=True):
    """One number of one scorer, for one task and one model."""

    task: str
    model: str
    scorer: str
    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    """How the interval was made; None where there is none."""
    n: int
    failed: int
    excluded: int
    purpose: Literal["score", "qa"]
    """`qa`: a check of the samples, and no result of the task."""
    reason: str
    """Why there is no value or no interval; what the value leaves out."""


class RuleRow(Struct, frozen=True, kw_only=True):
    """What one action rule did to one task."""

    task: str
    model: str
    rule: str
    excluded: int


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One model, on the tasks that all models completed, and on its own."""

    rank: int | None
    model: str
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    n: int
    """How many tasks all models completed: what the mean is over."""
    win_rate: float | None
    completed: int
    total: int
    own_mean: float | None
    own_low: float | None
    """The own mean if every failure had counted 0."""
    own_high: float | None
    """The own mean if every failure had counted 1."""
    categories: dict[str, float | None]


class PairwiseRow(Struct, frozen=True, kw_only=True):
    """Two models, task by task."""

    a: str
    b: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    significant: bool
    n: int


class CalibrationRow(Struct, frozen=True, kw_only=True):
    """Whether a model is as often right as it is sure."""

    ece: float | None
    brier: float | None
    reliability: float | None
    resolution: float | None
    uncertainty: float | None
    bins: list[Bin]
    """The reliability diagram."""
    populated_bins: int
    covered: int
    """Answers that came with a confidence; the figures are over these."""
    n: int


class PerplexityRow(Struct, frozen=True, kw_only=True):
    """exp(sum NLL / sum tokens) of a model's own answers."""

    perplexity: float | None
    tokens: int
    covered: int
    n: int


class UsageRow(Struct, frozen=True, kw_only=True):
    """What a model was asked for and what it cost; None where no price is known."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost: float | None


class FailureRow(Struct, frozen=True, kw_only=True):
    """Failures of one kind."""

    model: str
    stage: str
    type: str
    message: str
    """Of the first of them."""
    hint: str
    count: int
    sample_ids: list[str]
    """The first few."""


class LeftOutRow(Struct, frozen=True, kw_only=True):
    """A bad record that `--allow-bad-tasks` went on without."""

    file: str
    line: int
    rule: str
    field: str | None
    task_id: str | None
    detail: str


class CodeExecution(Struct, frozen=True, kw_only=True):
    """How model-written code was held."""

    tier: str
    """`namespaces+seccomp` and `landlock+seccomp` isolate, `rlimits` does not."""
    verified: bool
    """Whether a program was unable to forge its own verdict."""
    packages: list[str] = []
    """What programs could import beside the standard library."""

    @property
    def isolated(self) -> bool:
        """Whether a program was kept from the files, the network and the processes of the host."""
        return self.tier != _NOT_ISOLATING


class Summary(Struct, frozen=True, kw_only=True):
    """The run in numbers."""

    samples: int
    completed: int
    reused: int
    failed: int
    excluded: int
    wall_seconds: float
    """While samples were under way, in this invocation."""


class ReportBody(Struct, frozen=True, kw_only=True):
    """What `--json` prints and `evalwright schema report` describes."""

    run_id: str
    status: Status
    models: list[str]
    tasks: list[str]
    metrics: list[MetricRow]
    leaderboard: list[LeaderboardRow]
    pairwise: list[PairwiseRow]
    calibration: dict[str, CalibrationRow]
    perplexity: dict[str, PerplexityRow]
    usage: dict[str, UsageRow]
    summary: Summary
    failures: list[FailureRow]
    left_out: list[LeftOutRow]
    rules: list[RuleRow]
    """How many samples each action rule took out of the metrics; a sample may be in several."""
    code_execution: CodeExecution | None
    notes: list[str]
    version: str
    kind: Literal["records", "evaluation"]
    """Made from task records, or from an evaluation of task documents."""


class Report(ReportBody, frozen=True, kw_only=True):
    """A report, and the way to the outcomes it was made from."""

    stored: Callable[..., Iterator[Outcome]]
    """Reads them from the store, when asked; `failed=True` gives the failures alone."""

    def to_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            name: msgspec.to_builtins(getattr(self, name)) for name in ReportBody.__struct_fields__
        }

    def to_json(self) -> str:
        """The same, as text."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode()

    def to_markdown(self) -> str:
        """Tables for an issue, a pull request or a page."""
        from evalwright.report.to_markdown import to_markdown

        return to_markdown(self)

    def samples(self, *, failed: bool | None = None) -> Iterator[Outcome]:
        """Every outcome, by task, record, trial and model; or the failed ones, or the others."""
        return self.stored(failed=failed)
