"""The Report: all results of a run, frozen. Its fields are the keys of `--json`.

A number that could not be measured is None, never 0. Every mean comes with its interval, and with
how many samples it is over, how many failed and how many were left out.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.report.judges import JudgeRow
from evalwright.report.moved import MovedScores
from evalwright.stats.calibration import Bin
from evalwright.stats.interval import Interval
from evalwright.types import Outcome

Status = Literal["finished", "finished_with_failures", "stopped", "failed"]


def interval_fields(interval: Interval | None) -> dict[str, Any]:
    """Return the fields of a row that hold an interval."""
    if interval is None:
        return {"ci_low": None, "ci_high": None, "interval": None}
    return {"ci_low": interval.low, "ci_high": interval.high, "interval": interval.method}


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
    """The method of the interval; None if there is none."""
    n: int
    failed: int
    excluded: int
    purpose: Literal["score", "qa"]
    """`qa`: a check of the samples, not a result of the task."""
    reason: str
    """Why the value or its interval is missing, or what the value does not include."""
    key: str = ""
    """The key of the metric, shared by all its values. Empty in reports of older versions."""
    own_key: bool = False
    """Whether the author of the task chose the key."""
    name: str = ""
    """Name that the metric gives the value. `metric` adds the key if the name is not unique."""
    absent: int = 0
    """Samples whose score has no value for this metric; `n` does not count them."""
    is_default: bool = False
    """Whether it is shown because the scorer has no `metrics`: the mean of a score."""


class JudgedRow(Struct, frozen=True, kw_only=True):
    """One metric that a rule of a policy applies to."""

    run_id: str
    task: str
    model: str
    scorer: str
    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    failed: int
    meets: bool
    reason: str
    """The comparison in words, with the interval."""
    n: int = 0
    """Number of samples."""
    absent: int = 0
    """Samples whose score has no value for it."""


class PolicyRow(Struct, frozen=True, kw_only=True):
    """One rule of a policy, and whether it holds."""

    policy: str
    rule: str
    name: str
    """Display name of the rule."""
    demand: str
    """Condition that must hold: `is_correct_mean >= 0.8`."""
    holds: bool
    reason: str
    """Reason, with the interval. If there are several metrics, those that decide."""
    figures: list[JudgedRow]
    """Every metric that the rule applies to."""


class RuleRow(Struct, frozen=True, kw_only=True):
    """What one action rule did to one task."""

    task: str
    model: str
    rule: str
    excluded: int


class RepeatRow(Struct, frozen=True, kw_only=True):
    """One metric of a task that was run several times, and its spread over the runs."""

    task: str
    model: str
    scorer: str
    metric: str
    runs: int
    mean: float | None
    std: float | None
    """The sample standard deviation of the runs."""
    min: float | None
    max: float | None
    ci_low: float | None
    """Interval of the mean over more runs on the same samples; not over other samples."""
    ci_high: float | None
    interval: str | None
    values: list[float | None]
    """The value of each run, in order."""
    reason: str
    """Why the value or its interval is missing."""


class AgreementRow(Struct, frozen=True, kw_only=True):
    """How far several runs of a task agree on a score."""

    task: str
    model: str
    scorer: str
    score: str
    agreement: float
    """The mean over the samples of the share of runs that give the most common value."""
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    n: int
    """Samples that every run has scored."""
    flaky: int
    """Samples among them whose runs do not all agree."""
    runs: int


class FlakyRow(Struct, frozen=True, kw_only=True):
    """A sample whose runs do not all agree."""

    task: str
    model: str
    sample_id: str
    scorer: str
    score: str
    """The score on which the runs agree least."""
    agreement: float
    values: list[tuple[str, int]]
    """The most common values, and how many runs gave each."""


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One model, on the samples that all models completed, and on its own."""

    rank: int | None
    model: str
    """The model; `SPECIFICATION (MODEL)` if two specifications ran the same model, and the
    specification alone if it calls no model."""
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    n: int
    """Samples that all models completed; the mean is over these."""
    win_rate: float | None
    completed: int
    total: int
    own_mean: float | None
    own_low: float | None
    """The own mean if every failure had scored 0; None if scores are outside [0, 1]."""
    own_high: float | None
    """The own mean if every failure had scored 1; None if scores are outside [0, 1]."""
    categories: dict[str, float | None]
    task: str = ""
    """The task that the models are ranked on; empty for all tasks together."""
    metric: str = ""
    """The metric that they are ranked by; empty for the mean score of all tasks."""


class PairwiseRow(Struct, frozen=True, kw_only=True):
    """Two models, task by task."""

    a: str
    b: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    significant: bool
    n: int


class TaskPairwiseRow(PairwiseRow, frozen=True, kw_only=True):
    """Two models of a leaderboard, sample by sample; its task and metric are the leaderboard's."""

    task: str = ""
    metric: str = ""


class CalibrationFigures(Struct, frozen=True, kw_only=True):
    """ECE and Brier score of some answers, with their 95 % intervals."""

    ece: float
    ece_low: float
    ece_high: float
    brier: float
    brier_low: float
    brier_high: float


class ScaledRow(Struct, frozen=True, kw_only=True):
    """Confidences after temperature scaling: fitted on one half, evaluated on the other.

    The numbers are null if nothing could be fitted.
    """

    reason: str
    """Why the temperature is missing or unreliable; otherwise empty."""
    fitted_on: int
    """Answers that the temperature was fitted on; all answers to a record are in one half."""
    n: int
    """Held-out answers; all numbers here are over these."""
    temperature: float | None = None
    """Above 1: the model was overconfident."""
    temperature_low: float | None = None
    temperature_high: float | None = None
    raw: CalibrationFigures | None = None
    """Metrics of the confidences before scaling."""
    scaled: CalibrationFigures | None = None
    """Metrics of the same answers with the temperature."""
    brier_difference: float | None = None
    """Scaled minus raw, paired by answer; below 0 the temperature helped."""
    brier_difference_low: float | None = None
    brier_difference_high: float | None = None
    bins: list[Bin] = []
    """The reliability diagram at the temperature."""
    populated_bins: int = 0


class CalibrationRow(Struct, frozen=True, kw_only=True):
    """Whether a model is right as often as its confidence says."""

    ece: float | None = None
    ece_low: float | None = None
    ece_high: float | None = None
    brier: float | None = None
    brier_low: float | None = None
    brier_high: float | None = None
    reliability: float | None = None
    resolution: float | None = None
    uncertainty: float | None = None
    bins: list[Bin]
    """The reliability diagram."""
    populated_bins: int
    covered: int
    """Answers with a confidence; the numbers are over these."""
    n: int
    scaled: ScaledRow | None = None
    """With `--calibrate`: the same on held-out answers, raw and with a temperature."""


class PerplexityRow(Struct, frozen=True, kw_only=True):
    """exp(sum NLL / sum tokens) of a model's own answers."""

    perplexity: float | None
    tokens: int
    covered: int
    n: int


class UsageRow(Struct, frozen=True, kw_only=True):
    """Requests, tokens and cost of a model; the cost is None if a price is unknown."""

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
    """The message of the first failure."""
    hint: str
    count: int
    sample_ids: list[str]
    """The first few samples."""
    messages: int = 1
    """Different messages of this kind among the first 1,000 failures of the run."""
    task: str = ""
    """The task whose metrics are missing, if no single sample failed."""
    scorer: str = ""
    """The scorer whose metrics are missing; empty for all of the task."""
    metric: str = ""
    """The key of the missing metric; empty for all of the scorer."""


class LeftOutRow(Struct, frozen=True, kw_only=True):
    """A bad record that `--allow-bad-tasks` excluded."""

    file: str
    line: int
    rule: str
    field: str | None
    task_id: str | None
    detail: str


class CodeExecution(Struct, frozen=True, kw_only=True):
    """How model-written code was isolated."""

    tier: str
    """`namespaces+seccomp` and `landlock+seccomp` isolate, `rlimits` does not."""
    verified: bool
    """Whether verdicts were checked by a process that the program cannot reach."""
    packages: list[str] = []
    """Packages that programs could import in addition to the standard library."""
    only_verified: bool = False
    """Whether a pass that could not be verified is a failure: `--require-verified`."""
    passes: int = 0
    """Programs that passed all their targets."""
    verified_passes: int = 0
    """Those whose pass was confirmed by a process that the program cannot reach."""
    mean: float | None = None
    """Mean score of all programs; None without programs."""
    verified_mean: float | None = None
    """The same if scores that are not verified counted 0."""

    @property
    def isolates(self) -> bool:
        """Whether a program was kept from the files, the network and the processes of the host."""
        return self.tier != "rlimits"


class Summary(Struct, frozen=True, kw_only=True):
    """Totals of the run."""

    samples: int
    completed: int
    reused: int
    """Outcomes of samples or trials that needed no new request."""
    failed: int
    excluded: int
    wall_seconds: float
    """Seconds for which samples were running in this invocation."""
    trials: int = 0
    """Trials that finished, if samples of a project have several; else 0."""
    flaky: int = 0
    """Samples whose runs do not all agree."""
    wrong: int = 0
    """Outcomes that the first scorer judged to be wrong."""
    planned: int = 0
    """Samples that the run has when it is finished; 0 in reports of older versions."""


class DisplayNames(Struct, frozen=True, kw_only=True):
    """The names that people read, by key; only those that differ from the key."""

    tasks: dict[str, str] = {}
    scorers: dict[str, dict[str, str]] = {}
    """By task and scorer."""
    metrics: dict[str, dict[str, dict[str, str]]] = {}
    """By task, scorer and metric."""

    def task(self, key: str) -> str:
        """Return the name of a task."""
        return self.tasks.get(key, key)

    def metric(self, task: str, scorer: str, metric: str) -> str:
        """Return the name of a metric; without a scorer, of the first that has it."""
        by_scorer = self.metrics.get(task, {})
        several = [by_scorer.get(scorer, {})] if scorer else by_scorer.values()
        return next((names[metric] for names in several if metric in names), metric)


class ReportBody(Struct, frozen=True, kw_only=True):
    """What `--json` prints and `evalwright schema report` describes."""

    run_id: str
    status: Status
    models: list[str]
    tasks: list[str]
    metrics: list[MetricRow]
    leaderboard: list[LeaderboardRow]
    pairwise: list[TaskPairwiseRow]
    calibration: dict[str, CalibrationRow]
    perplexity: dict[str, PerplexityRow]
    usage: dict[str, UsageRow]
    summary: Summary
    failures: list[FailureRow]
    left_out: list[LeftOutRow]
    rules: list[RuleRow]
    """How many samples each action rule excluded; several rules may exclude the same sample."""
    code_execution: CodeExecution | None
    notes: list[str]
    version: str
    kind: Literal["records", "evaluation"]
    """`records`: models are ranked over all tasks together; `evaluation`: task by task."""
    policies: list[PolicyRow] = []
    """The verdict of every rule of the run file's policies."""
    repeatability: list[RepeatRow] = []
    """The metrics of tasks that were run several times, and their spread over the runs."""
    agreement: list[AgreementRow] = []
    """How far the runs agree, score by score."""
    flaky: list[FlakyRow] = []
    """The samples on which runs agree least: at most 50 per task and model, worst first."""
    asked_beside: dict[str, UsageRow] = {}
    """Usage by scorers and solvers, by model: judges, embeddings, simulated users. `usage` counts
    answers only; the cost of a run is the sum of both."""
    judges: list[JudgeRow] = []
    """The models that judged, and what checks of this or earlier runs say about each."""
    display_names: DisplayNames = DisplayNames()
    """The names of tasks, scorers and metrics that tables show instead of their keys."""
    name: str = ""
    """The name of the run, from `--name`."""
    tags: dict[str, str] = {}
    """The tags of the run, from `--tag`."""
    moved: MovedScores | None = None
    """What `evalwright score` changed since the parent run; null for a run without a parent."""


class Report(ReportBody, frozen=True, kw_only=True):
    """A report, and access to the outcomes that it was built from."""

    stored: Callable[..., Iterator[Outcome]]
    """Reads them from the store; `failed=True` gives only those that failed."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            name: msgspec.to_builtins(getattr(self, name)) for name in ReportBody.__struct_fields__
        }

    def to_json(self) -> str:
        """Return the same as text."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode()

    def to_markdown(self, *, keys: bool = False) -> str:
        """Return tables for an issue, a pull request or a page.

        `keys`: with the keys of tasks, scorers and metrics instead of their display names.
        """
        from evalwright.report.to_tables import to_markdown

        return to_markdown(self, keys=keys)

    def samples(self, *, failed: bool | None = None) -> Iterator[Outcome]:
        """Read the outcomes by task, record, trial and model; all, the failed or the others."""
        return self.stored(failed=failed)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema of what `evalwright run --json` prints."""
    return struct_schema(ReportBody, "evalwright report")


def struct_schema(printed: type[Struct], title: str) -> dict[str, Any]:
    """Return the JSON Schema of a struct whose fields are all printed, defaults included."""
    (body,), components = msgspec.json.schema_components([printed], ref_template="#/$defs/{name}")
    for component in components.values():
        if "properties" in component:
            component["required"] = list(component["properties"])
    whole = components.pop(body["$ref"].rpartition("/")[2])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "title": title,
        "$defs": components,
    }
