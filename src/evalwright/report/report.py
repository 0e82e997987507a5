"""The Report: all results of a run, immutable. Its fields are the keys of `--json`.

A value that could not be measured is None, never 0. Every mean comes with its interval and with
the number of samples that it covers, that failed and that were excluded.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from evalwright.errors import UsageError
from evalwright.report.judges import JudgeRow
from evalwright.report.moved import MovedScores
from evalwright.stats.calibration import Bin
from evalwright.stats.interval import Interval
from evalwright.types import Outcome

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Status = Literal["finished", "finished_with_failures", "stopped", "failed"]


def interval_fields(interval: Interval | None) -> dict[str, Any]:
    """Return the fields of a row that hold an interval."""
    if interval is None:
        return {"ci_low": None, "ci_high": None, "interval": None}
    return {"ci_low": interval.low, "ci_high": interval.high, "interval": interval.method}


class MetricRow(Struct, frozen=True, kw_only=True):
    """One metric of one scorer, for one task and one model."""

    task: str
    model: str
    scorer: str
    metric: str
    value: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    """How the interval was computed; null without an interval."""
    n: int
    failed: int
    excluded: int
    purpose: Literal["score", "qa"]
    """`qa` marks a check of the samples rather than a result of the task."""
    reason: str
    """Why the value or its interval is missing, or what the value does not include."""
    key: str = ""
    """The metric's key, shared by all its values. Empty in reports from older versions."""
    own_key: bool = False
    """Whether the task defines the key."""
    name: str = ""
    """The metric's name for the value. `metric` adds the key if the name is not unique."""
    absent: int = 0
    """Number of samples whose score has no value for this metric. `n` does not count them."""
    is_default: bool = False
    """Whether this is the mean of a score, shown because the scorer has no `metrics`."""
    group: str | None = None
    """The group of samples, by the metric's `by`; null for all samples."""
    small: bool = False
    """Whether the group has fewer than 20 samples with a value, too few for a conclusion."""
    ungrouped: int = 0
    """Number of samples in no group: `by` is null, blank or missing. 0 in the row of a group."""


class JudgedRow(Struct, frozen=True, kw_only=True):
    """One metric that a policy rule applies to."""

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
    """The comparison in words, including the interval."""
    n: int = 0
    """Number of samples."""
    absent: int = 0
    """Number of samples whose score has no value for this metric."""


class PolicyRow(Struct, frozen=True, kw_only=True):
    """One policy rule, and whether it holds."""

    policy: str
    rule: str
    name: str
    """Display name of the rule."""
    demand: str
    """Condition that must hold, such as `is_correct_mean >= 0.8`."""
    holds: bool
    reason: str
    """Why the rule holds or fails, for the metrics that decide it, including the interval."""
    figures: list[JudgedRow]
    """Every metric that the rule applies to."""


class RuleRow(Struct, frozen=True, kw_only=True):
    """The effect of one action rule on one task."""

    task: str
    model: str
    rule: str
    excluded: int


class RepeatRow(Struct, frozen=True, kw_only=True):
    """One metric of a task that was run several times, and how it varies between runs."""

    task: str
    model: str
    scorer: str
    metric: str
    group: str | None = None
    """The group of samples, by the metric's `by`; null for all samples."""
    runs: int
    mean: float | None
    std: float | None
    """The sample standard deviation over the runs."""
    min: float | None
    max: float | None
    ci_low: float | None
    """Interval for the mean over further runs on the same samples, not over new samples."""
    ci_high: float | None
    interval: str | None
    values: list[float | None]
    """Each run's value, in order."""
    reason: str
    """Why the value or its interval is missing."""


class AgreementRow(Struct, frozen=True, kw_only=True):
    """How well several runs of a task agree on a score."""

    task: str
    model: str
    scorer: str
    score: str
    agreement: float
    """The share of runs that give the most common value, averaged over the samples."""
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    n: int
    """Number of samples that every run scored."""
    flaky: int
    """Number of those samples on which the runs disagree."""
    runs: int


class FlakyRow(Struct, frozen=True, kw_only=True):
    """A sample on which the runs disagree."""

    task: str
    model: str
    sample_id: str
    scorer: str
    score: str
    """The score on which the runs agree least."""
    agreement: float
    values: list[tuple[str, int]]
    """The most common values, and the number of runs that gave each."""


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One model's result on the samples that all models completed, and on all its own samples."""

    rank: int | None
    model: str
    """The model. `SPECIFICATION (MODEL)` if two task specifications ran the same model; only the
    specification's key if it calls no model."""
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    n: int
    """Number of samples that all models completed; `mean` is computed over these."""
    win_rate: float | None
    completed: int
    total: int
    own_mean: float | None
    own_low: float | None
    """`own_mean` if every failure had scored 0; None if scores are outside [0, 1]."""
    own_high: float | None
    """`own_mean` if every failure had scored 1; None if scores are outside [0, 1]."""
    categories: dict[str, float | None]
    task: str = ""
    """The task on which the models are ranked; empty for all tasks together."""
    metric: str = ""
    """The metric by which the models are ranked; empty for the mean score over all tasks."""


class PairwiseRow(Struct, frozen=True, kw_only=True):
    """The paired difference between two models."""

    a: str
    b: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    significant: bool
    n: int


class TaskPairwiseRow(PairwiseRow, frozen=True, kw_only=True):
    """The paired difference between two models on the leaderboard for `task` and `metric`."""

    task: str = ""
    metric: str = ""


class CalibrationFigures(Struct, frozen=True, kw_only=True):
    """ECE and Brier score over a set of answers, with their 95 % confidence intervals."""

    ece: float
    ece_low: float
    ece_high: float
    brier: float
    brier_low: float
    brier_high: float


class ScaledRow(Struct, frozen=True, kw_only=True):
    """Confidences after temperature scaling: fitted on one half, evaluated on the other."""

    reason: str
    """Why the temperature and all values are null, or why they are unreliable; else empty."""
    fitted_on: int
    """Number of answers used for fitting; all answers to a sample are in the same half."""
    n: int
    """Number of held-out answers; all values in this row are computed over these."""
    temperature: float | None = None
    """The fitted temperature. A value above 1 means that the model was overconfident."""
    temperature_low: float | None = None
    temperature_high: float | None = None
    raw: CalibrationFigures | None = None
    """Metrics on the held-out answers before scaling."""
    scaled: CalibrationFigures | None = None
    """Metrics on the same answers after scaling."""
    brier_difference: float | None = None
    """Scaled minus raw Brier score, paired by answer. A value below 0 is an improvement."""
    brier_difference_low: float | None = None
    brier_difference_high: float | None = None
    bins: list[Bin] = []
    """The reliability diagram after scaling."""
    populated_bins: int = 0


class CalibrationRow(Struct, frozen=True, kw_only=True):
    """How closely a model's confidence matches how often it is right."""

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
    """Number of answers with a confidence; all values in this row are computed over these."""
    n: int
    scaled: ScaledRow | None = None
    """With `--calibrate`: metrics on held-out answers, before and after temperature scaling."""


class PerplexityRow(Struct, frozen=True, kw_only=True):
    """Perplexity of a model's own answers: exp(sum NLL / sum tokens)."""

    perplexity: float | None
    tokens: int
    covered: int
    n: int


class UsageRow(Struct, frozen=True, kw_only=True):
    """A model's requests, tokens and cost. The cost is null if a price is unknown."""

    requests: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost: float | None


class FailureRow(Struct, frozen=True, kw_only=True):
    """A group of failures of the same kind."""

    model: str
    stage: str
    type: str
    message: str
    """The message of the first failure."""
    hint: str
    count: int
    sample_ids: list[str]
    """The ids of the first few samples."""
    messages: int = 1
    """Number of different messages of this kind among the run's first 1,000 failures."""
    task: str = ""
    """The task whose metrics are missing, if the failure is not tied to individual samples."""
    scorer: str = ""
    """The scorer whose metrics are missing; empty if all scorers of the task are affected."""
    metric: str = ""
    """The key of the missing metric; empty if all metrics of the scorer are affected."""


class LeftOutRow(Struct, frozen=True, kw_only=True):
    """A record that `--allow-bad-tasks` excluded, or a row that `on_bad_rows` excluded."""

    file: str
    line: int
    rule: str
    field: str | None
    task_id: str | None
    detail: str


class CodeExecution(Struct, frozen=True, kw_only=True):
    """How model-written code was isolated."""

    tier: str
    """`namespaces+seccomp` and `landlock+seccomp` isolate programs; `rlimits` does not."""
    verified: bool
    """Whether verdicts were checked by a process that the program cannot reach."""
    packages: list[str] = []
    """Packages that programs could import in addition to the standard library."""
    only_verified: bool = False
    """Whether unverified passes count as failures (`--require-verified`)."""
    passes: int = 0
    """Number of programs that passed all their targets."""
    verified_passes: int = 0
    """Number of passes confirmed by a process that the program cannot reach."""
    mean: float | None = None
    """Mean score over all programs; null if there are no programs."""
    verified_mean: float | None = None
    """The same mean with unverified scores counted as 0."""
    wall_clock_timeouts: int = 0
    """Number of timeouts of programs that used little CPU time, even when run alone: the program
    was waiting, or the machine was too busy."""

    @property
    def isolates(self) -> bool:
        """Whether programs had no access to the host's files, network and processes."""
        return self.tier != "rlimits"


class Summary(Struct, frozen=True, kw_only=True):
    """The run's totals."""

    samples: int
    completed: int
    reused: int
    """Number of outcomes that needed no new request."""
    failed: int
    excluded: int
    wall_seconds: float
    """Seconds that this invocation spent running samples."""
    trials: int = 0
    """Number of finished trials if a project's samples have several trials; otherwise 0."""
    flaky: int = 0
    """Number of samples on which the runs disagree."""
    wrong: int = 0
    """Number of outcomes that the first scorer judged to be wrong."""
    planned: int = 0
    """Number of samples, including those not run yet; 0 in reports from older versions."""
    excluded_rows: int = 0
    """Number of bad rows that `on_bad_rows: exclude` left out, counted once per task."""


class DisplayNames(Struct, frozen=True, kw_only=True):
    """Display names by key. Only names that differ from the key are listed."""

    tasks: dict[str, str] = {}
    scorers: dict[str, dict[str, str]] = {}
    """By task and scorer."""
    metrics: dict[str, dict[str, dict[str, str]]] = {}
    """By task, scorer and metric."""

    def task(self, key: str) -> str:
        """Return a task's display name."""
        return self.tasks.get(key, key)

    def metric(self, task: str, scorer: str, metric: str) -> str:
        """Return a metric's display name; without a scorer, use the first that has the metric."""
        by_scorer = self.metrics.get(task, {})
        several = [by_scorer.get(scorer, {})] if scorer else by_scorer.values()
        return next((names[metric] for names in several if metric in names), metric)


class ReportBody(Struct, frozen=True, kw_only=True):
    """The object that `--json` prints and `evalwright schema report` describes."""

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
    """Number of samples excluded by each action rule. A sample may be excluded by several rules."""
    code_execution: CodeExecution | None
    notes: list[str]
    version: str
    kind: Literal["records", "evaluation"]
    """`records` ranks models over all tasks together; `evaluation` ranks them task by task."""
    policies: list[PolicyRow] = []
    """The verdict for every rule in the run file's policies."""
    repeatability: list[RepeatRow] = []
    """The metrics of tasks that were run several times, and how they vary between runs."""
    agreement: list[AgreementRow] = []
    """How well the runs agree on each score."""
    flaky: list[FlakyRow] = []
    """The samples on which runs agree least, worst first: at most 50 per task and model."""
    asked_beside: dict[str, UsageRow] = {}
    """Usage by scorers and solvers, per model: judges, embeddings and simulated users. `usage`
    counts only answers; the cost of a run is the sum of both."""
    judges: list[JudgeRow] = []
    """The judge models, and the results of checking them in this or earlier runs."""
    display_names: DisplayNames = DisplayNames()
    """The names that tables show instead of the keys of tasks, scorers and metrics."""
    name: str = ""
    """The run's name, from `--name`."""
    tags: dict[str, str] = {}
    """The run's tags, from `--tag`."""
    moved: MovedScores | None = None
    """How `evalwright score` changed the scores of the parent run; null without a parent."""


class Report(ReportBody, frozen=True, kw_only=True):
    """A report, with access to the outcomes that it was built from.

    `report[task]` and `report[task, model]` are the results of a task, with its `mean` and its
    `metrics`. `len` and iteration cover the metrics of all tasks.
    """

    stored: Callable[..., Iterator[Outcome]]
    """Reads the outcomes from the store; `failed=True` reads only failed outcomes."""

    def to_dict(self) -> dict[str, object]:
        """Return the object that `--json` prints."""
        return {
            name: msgspec.to_builtins(getattr(self, name)) for name in ReportBody.__struct_fields__
        }

    def to_json(self) -> str:
        """Return that object as a JSON string."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode()

    def to_markdown(self, *, keys: bool = False) -> str:
        """Return Markdown tables for an issue, a pull request or a page.

        With `keys`, tables show the keys of tasks, scorers and metrics instead of display names.
        """
        from evalwright.report.to_tables import to_markdown

        return to_markdown(self, keys=keys)

    def to_html(self, *, keys: bool = False) -> str:
        """Return one HTML file with the same tables. It contains no scripts and loads nothing."""
        from evalwright.report.html import to_html

        return to_html(self, keys=keys)

    def _repr_html_(self) -> str:
        """Return the tables that a notebook shows for a report."""
        from evalwright.report.html import to_html_fragment

        return to_html_fragment(self)

    def samples(
        self, *, failed: bool | None = None, wrong: bool = False, task: str = "", model: str = ""
    ) -> Iterator[Outcome]:
        """Read the outcomes from the store, by task, sample, trial and model.

        `failed` selects failed or other outcomes; `wrong` selects those that a scorer judged to be
        wrong; `task` and `model` select by name.
        """
        task = self._find_task(task) if task else ""
        if model and model not in self.models:
            raise KeyError(f"the report has no model `{model}`; it has {_quote(self.models)}")
        return (
            outcome
            for outcome in self.stored(failed=failed)
            if (not wrong or outcome.is_wrong)
            and task in {"", outcome.task}
            and model in {"", outcome.model}
        )

    def __getitem__(self, key: str | tuple[str, str]) -> "TaskResult":
        """Return the results of a task with its first model, or with `report[task, model]`."""
        task, model = (key, "") if isinstance(key, str) else key
        task = self._find_task(task)
        rows = [row for row in self.metrics if row.task == task]
        board = [row for row in self.leaderboard if row.task in {task, ""}]
        models = list(dict.fromkeys([row.model for row in rows] or self.models))
        if model and model not in models:
            missing = f"model `{model}` for task `{task}`"
            raise KeyError(f"the report has no {missing}; it has {_quote(models)}")
        model = model or next((name for name in self.models if name in models), models[0])
        return TaskResult(
            task=task,
            model=model,
            metrics=[row for row in rows if row.model == model],
            leaderboard=board,
        )

    def _find_task(self, name: str) -> str:
        names = {self.display_names.task(task): task for task in self.tasks}
        if name not in self.tasks and name not in names:
            raise KeyError(f"the report has no task `{name}`; it has {_quote(names)}")
        return name if name in self.tasks else names[name]

    def __iter__(self) -> Iterator[MetricRow]:
        """Yield the metrics."""
        return iter(self.metrics)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self.metrics)

    def __repr__(self) -> str:
        """Return a short description; `to_markdown` has the tables."""
        summary = self.summary
        return (
            f"<Report {self.run_id}: {self.status}, {summary.completed} of {summary.samples} "
            f"samples completed, {len(self.metrics)} metrics, models {', '.join(self.models)}>"
        )

    def to_pandas(self) -> "pd.DataFrame":
        """Return the metrics as a pandas data frame; pandas must be installed."""
        frame: pd.DataFrame = _import_library("pandas").DataFrame(self._rows())
        return frame

    def to_polars(self) -> "pl.DataFrame":
        """Return the metrics as a polars data frame; polars must be installed."""
        frame: pl.DataFrame = _import_library("polars").DataFrame(self._rows())
        return frame

    def to_arrow(self) -> "pa.Table":
        """Return the metrics as an Arrow table; pyarrow must be installed."""
        frame: pa.Table = _import_library("pyarrow").Table.from_pylist(self._rows())
        return frame

    def _rows(self) -> list[dict[str, object]]:
        return [msgspec.to_builtins(row) for row in self.metrics]


class TaskResult(NamedTuple):
    """The results of one task with one model."""

    task: str
    model: str
    metrics: list[MetricRow]
    leaderboard: list[LeaderboardRow]
    """The models on this task, best first; empty with one model."""

    @property
    def mean(self) -> float | None:
        """The task's first metric; None if it could not be measured."""
        scores = [row for row in self.metrics if row.purpose == "score"]
        return scores[0].value if scores else None


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _import_library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(f"{name} is not installed", hint=f"pip install {name}") from error
