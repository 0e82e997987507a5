"""The Report: everything a run has shown, frozen. Its fields are the keys of `--json`.

A number that could not be measured is None, never 0. Every mean stands beside its interval, how
many samples it is over, how many failed and how many were left out.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.report.judges import JudgeRow
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
    """How the interval was made; None where there is none."""
    n: int
    failed: int
    excluded: int
    purpose: Literal["score", "qa"]
    """`qa`: a check of the samples, and no result of the task."""
    reason: str
    """Why there is no value or no interval; what the value leaves out."""
    key: str = ""
    """Of the metric: figures of one metric have one key. Empty in reports of older versions."""
    own_key: bool = False
    """Whether the author of the task has given the metric its key."""
    name: str = ""
    """The figure as its metric calls it. `metric` is another where two of a scorer have one name:
    the key of the metric stands before it then."""
    absent: int = 0
    """Samples that were scored, and whose score has no value for this figure: `n` is without
    them."""


class JudgedRow(Struct, frozen=True, kw_only=True):
    """One figure that a rule of a policy is about."""

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
    """How many samples it is over."""
    absent: int = 0
    """Samples whose score has no value for it."""


class PolicyRow(Struct, frozen=True, kw_only=True):
    """One rule of a policy, and whether it holds."""

    policy: str
    rule: str
    name: str
    """What people call the rule."""
    demand: str
    """What must hold: `is_correct_mean >= 0.8`."""
    holds: bool
    reason: str
    """Why, with the interval. Of several figures the one that decides."""
    figures: list[JudgedRow]
    """All that the rule is about."""


class RuleRow(Struct, frozen=True, kw_only=True):
    """What one action rule did to one task."""

    task: str
    model: str
    rule: str
    excluded: int


class RepeatRow(Struct, frozen=True, kw_only=True):
    """One number of a task that was run several times, and how far the runs are apart."""

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
    """Of the mean over more such runs, on the same samples; not over other samples."""
    ci_high: float | None
    interval: str | None
    values: list[float | None]
    """Of each run, in their order."""
    reason: str
    """Why there is no value or no interval."""


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
    """Samples of them whose runs do not all agree."""
    runs: int


class FlakyRow(Struct, frozen=True, kw_only=True):
    """A sample of which the runs say different things."""

    task: str
    model: str
    sample_id: str
    scorer: str
    score: str
    """The score on which they agree least."""
    agreement: float
    values: list[tuple[str, int]]
    """The most common values, and how many runs gave each."""


class LeaderboardRow(Struct, frozen=True, kw_only=True):
    """One model, on the samples that all models completed, and on its own."""

    rank: int | None
    model: str
    """The model. `SPECIFICATION (MODEL)` where two specifications of the task ran the same model,
    and the specification alone where it asks no model."""
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    interval: str | None
    n: int
    """How many samples all models completed: what the mean is over."""
    win_rate: float | None
    completed: int
    total: int
    own_mean: float | None
    own_low: float | None
    """The own mean if every failure had counted 0; None where scores lie outside [0, 1]."""
    own_high: float | None
    """The own mean if every failure had counted 1; None where scores lie outside [0, 1]."""
    categories: dict[str, float | None]
    task: str = ""
    """The task that the models are ranked on; empty where it is all tasks together."""
    metric: str = ""
    """The metric that they are ranked by; empty where it is the mean score of all tasks."""


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
    """Two models of a leaderboard, sample by sample."""

    task: str = ""
    """As in the leaderboard."""
    metric: str = ""
    """As in the leaderboard."""


class CalibrationFigures(Struct, frozen=True, kw_only=True):
    """ECE and Brier score of some answers, with their 95 % intervals."""

    ece: float
    ece_low: float
    ece_high: float
    brier: float
    brier_low: float
    brier_high: float


class ScaledRow(Struct, frozen=True, kw_only=True):
    """What one temperature makes of a model's confidences: fitted on a half, judged on the other.

    The figures are null where nothing could be fitted.
    """

    reason: str
    """Why there is no temperature, or why it is to be distrusted; else empty."""
    fitted_on: int
    """Answers that the temperature was fitted on; those of a record are all in one half."""
    n: int
    """Answers that were held out, and that all figures here are over."""
    temperature: float | None = None
    """Above 1: the model was too sure."""
    temperature_low: float | None = None
    temperature_high: float | None = None
    raw: CalibrationFigures | None = None
    """Of the confidences as they were."""
    scaled: CalibrationFigures | None = None
    """Of the same answers at the temperature."""
    brier_difference: float | None = None
    """Scaled minus raw, paired by answer: below 0 the temperature has helped."""
    brier_difference_low: float | None = None
    brier_difference_high: float | None = None
    bins: list[Bin] = []
    """The reliability diagram at the temperature."""
    populated_bins: int = 0


class CalibrationRow(Struct, frozen=True, kw_only=True):
    """Whether a model is as often right as it is sure."""

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
    """Answers that came with a confidence; the figures are over these."""
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
    messages: int = 1
    """How many different messages the first 1,000 failures of the run have of this kind."""
    task: str = ""
    """Where it is no sample that broke: the task whose figures are missing."""
    scorer: str = ""
    """The same: the scorer; empty for all of the task."""
    metric: str = ""
    """The same: the key of the metric; empty for all of the scorer."""


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
    def isolates(self) -> bool:
        """Whether a program was kept from the files, the network and the processes of the host."""
        return self.tier != "rlimits"


class Summary(Struct, frozen=True, kw_only=True):
    """The run in numbers."""

    samples: int
    completed: int
    reused: int
    """Outcomes, of samples or of trials of them, for which nothing had to be asked."""
    failed: int
    excluded: int
    wall_seconds: float
    """While samples were under way, in this invocation."""
    trials: int = 0
    """Tries that have landed, where samples of a project are tried several times; else 0."""
    flaky: int = 0
    """Samples of which several runs say different things."""


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
    """How many samples each action rule took out of the metrics; a sample may be in several."""
    code_execution: CodeExecution | None
    notes: list[str]
    version: str
    kind: Literal["records", "evaluation"]
    """`records`: models are ranked over all tasks together; `evaluation`: task by task."""
    policies: list[PolicyRow] = []
    """What the policies of the run file say of the figures, rule by rule."""
    repeatability: list[RepeatRow] = []
    """The figures of tasks that were run several times: their spread over the runs."""
    agreement: list[AgreementRow] = []
    """How far the runs agree, score by score."""
    flaky: list[FlakyRow] = []
    """The samples on which runs agree least, of each task and model at most 50, the worst first."""
    asked_beside: dict[str, UsageRow] = {}
    """What scorers and solvers asked beside the answers: judges, embeddings, the other voice of a
    conversation. By model, the evaluated one among them where it was asked so. `usage` is of the
    answers alone; the cost of a run is both."""
    judges: list[JudgeRow] = []
    """The models that judged, and what is known of each: how it agrees with people, what makes it
    change its mind. A check of the same judge in an earlier run counts."""


class Report(ReportBody, frozen=True, kw_only=True):
    """A report, and the way to the outcomes it was made from."""

    stored: Callable[..., Iterator[Outcome]]
    """Reads them from the store, when asked; `failed=True` gives the failures alone."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            name: msgspec.to_builtins(getattr(self, name)) for name in ReportBody.__struct_fields__
        }

    def to_json(self) -> str:
        """Return the same as text."""
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode()

    def to_markdown(self) -> str:
        """Return tables for an issue, a pull request or a page."""
        from evalwright.report.report_tables import to_markdown

        return to_markdown(self)

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
