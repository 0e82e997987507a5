"""What is known about a judge: how well it agrees with people, and what changes its verdicts.

A check is stored with the run whose verdicts it examined, under the judge's identity: the scorer's
settings, the model's name and everything that changes the model's answers. A judge with a different
prompt is a different judge, about which nothing is known yet.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from evalwright.types import Run

CLASSIFIER = "model_as_a_judge_classifier"
SCORER = "model_as_a_judge_scorer"
LABELER = "labeler_via_model"
RUBRIC = "llm_rubric"
PAIRWISE = "pairwise_judge"
CHECKS = "judge_checks"
"""The manifest's key for the checks."""
VERDICT_SCORES = {
    CLASSIFIER: "is_correct",
    RUBRIC: "is_correct",
    SCORER: "score",
    LABELER: "label",
    PAIRWISE: "verdict",
}
"""Scorers whose verdicts can be compared with those of people, and the score with the verdict."""

Compared = Literal["labels", "is_correct", "scores"]


class Judge(Struct, frozen=True, kw_only=True):
    """A scorer that asks a model, as the run's manifest describes it."""

    task: str
    scorer: str
    type: str
    judge: str
    """The key of the model that judges."""
    model: str
    """The name of that model in reports."""
    identity: str
    """Hash of everything that could change a verdict."""
    correct_labels: list[str] = []
    incorrect_labels: list[str] = []
    """For a labeler, `correct_labels` has the allowed labels; if empty, all are allowed."""
    score_min: float = 0.0
    score_max: float = 1.0

    @property
    def labels(self) -> list[str]:
        """The allowed labels; if empty, every label is allowed."""
        return [*self.correct_labels, *self.incorrect_labels]

    @property
    def verdict_score(self) -> str:
        """The name of the score that holds the verdict; empty if there is none to compare."""
        return VERDICT_SCORES.get(self.type, "")

    @property
    def name(self) -> str:
        """A name that no other judge of the run has."""
        return f"{self.task}/{self.scorer}"


class Figure(Struct, frozen=True, kw_only=True):
    """A number with its confidence interval. Null if it is undefined; `reason` says why."""

    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    interval: str | None = None
    n: int = 0
    reason: str = ""


class LabelRow(Struct, frozen=True, kw_only=True):
    """How often people gave a label, how often the judge gave it, and how often both did."""

    label: str
    human: int
    judge: int
    both: int
    recall: Figure
    """Share of the samples with this label from people that the judge also gave it."""
    precision: Figure
    """Share of the samples with this label from the judge that people also gave it."""


class Pair(Struct, frozen=True, kw_only=True):
    """A sample on which a person and the judge disagree."""

    sample_id: str
    human: str | float
    judge: str | float


class CorrectedScore(Struct, frozen=True, kw_only=True):
    """The estimated mean that people would give, from all verdicts and labels for some samples."""

    method: Literal["rogan-gladen", "ppi++"]
    raw: Figure
    """The mean of the verdicts on all samples."""
    corrected: Figure
    labels: int
    """Number of samples that have both a label and a verdict."""
    weight: float | None = None
    """With `ppi++`, how much the verdicts on samples without labels count, from 0 to 1."""


class Agreement(Struct, frozen=True, kw_only=True):
    """How a judge's verdicts compare with labels that people gave."""

    source: str
    """The file or the column that contains the labels."""
    compared: Compared
    n: int
    """Samples that have both a verdict and a label."""
    figures: dict[str, Figure]
    labels: list[LabelRow] = []
    confusion: dict[str, dict[str, int]] = {}
    """Number of samples per label from people (first key) and label from the judge (second key)."""
    confusion_shares: dict[str, dict[str, Figure]] = {}
    """These numbers as shares of each label from people, with Wilson intervals."""
    disagreements: list[Pair] = []
    """The first few."""
    corrected: list[CorrectedScore] = []
    """One per method; empty if the verdicts are labels that are neither right nor wrong."""
    no_verdict: int = 0
    """Labelled samples without a verdict; they count neither as agreement nor as disagreement."""
    no_answer: int = 0
    """Labelled samples that have no answer to judge."""
    unlabelled: int = 0
    """Verdicts on samples that nobody labelled."""
    unmatched: int = 0
    """Labels for samples that the run does not contain."""
    unmatched_trials: int = 0
    """Labels for trials that the run does not contain, or that have no outcome."""
    other_models: int = 0
    """Labels for the answers of models that were not compared."""
    other_trials: int = 0
    """Verdicts on further trials; labels without a column `trial` do not apply to them."""
    elsewhere: int = 0
    """Rows of other tasks."""
    blank: int = 0
    """Rows without a label."""


class UnreadableReplies(Struct, frozen=True, kw_only=True):
    """Replies without a verdict that broke one rule."""

    rule: str
    """The rule, as named in the guide to judges; empty if it was not stored."""
    count: int
    example: str = ""
    """The id of the first sample with such a reply."""


class ProbeRow(Struct, frozen=True, kw_only=True):
    """A second judgment of samples, with a change that should not matter."""

    probe: str
    n: int
    """Samples that were judged again."""
    flips: Figure
    """The share of verdicts that changed."""
    directions: dict[str, int] = {}
    examples: list[str] = []
    """Ids of the first samples whose verdict changed."""
    change: Figure | None = None
    """For scores: the mean increase, as a share of the range."""
    failed: int = 0
    """Samples for which the judge gave no verdict this time."""
    not_applicable: int = 0
    reason: str = ""
    """Why the probe does not apply; if it does, the first failure."""
    failure: str = ""
    """The first failure."""


class RepeatsRow(Struct, frozen=True, kw_only=True):
    """Repeated judgments of samples, with nothing changed."""

    times: int
    """Verdicts per sample, including the one in the run."""
    n: int
    """Number of samples with that many verdicts."""
    all_equal: Figure
    """The share of samples whose verdicts are all equal."""
    pairwise: Figure
    """The share of pairs of verdicts on one sample that are equal, averaged over samples."""
    spread: Figure | None = None
    """For scores: the mean of highest minus lowest, as a share of the range."""
    failed: int = 0
    reason: str = ""
    """The first failure."""


class SampleToLabel(Struct, frozen=True, kw_only=True):
    """A sample that people should label next."""

    sample_id: str
    model: str
    output: str
    verdict: str
    """The verdict of the judge."""


class JudgeCheck(Struct, frozen=True, kw_only=True):
    """The result of `evalwright judge check`, as a run's manifest stores it."""

    run_id: str
    judge: Judge
    checked: str
    """ISO 8601, in UTC."""
    seed: int
    """Seed of the bootstrap; the choice of samples to probe does not depend on it."""
    agreement: Agreement | None = None
    probes: list[ProbeRow] = []
    repeats: RepeatsRow | None = None
    replies: int = 0
    """The judge's replies in the run, with or without a verdict."""
    unreadable: list[UnreadableReplies] = []
    """The replies without a verdict, by rule."""
    unreadable_again: list[UnreadableReplies] = []
    """Replies without a verdict to probes and repeats, by rule."""
    calls: int = 0
    cost: float | None = None
    notes: list[str] = []
    to_label: list[SampleToLabel] = []
    """Samples without a label, drawn at random with a fixed seed."""
    kept: bool = True
    """Whether it is stored in the run's manifest; a check that was stopped is not."""


class JudgeRow(Struct, frozen=True, kw_only=True):
    """A judge of a run, and what is known about it."""

    task: str
    scorer: str
    judge: str
    model: str
    identity: str
    known: str
    """What is known, in one sentence."""
    checked: str = ""
    """When it was last checked; empty if never."""
    run_id: str = ""
    """The run whose verdicts were last checked."""
    agreement: Agreement | None = None
    probes: list[ProbeRow] = []
    repeats: RepeatsRow | None = None


def read_judges(run: Run) -> list[Judge]:
    """Read the judges of a run from its manifest; none if no scorer asked a model."""
    return msgspec.convert(run.manifest.get("judges", []), list[Judge])


def judge_rows(run: Run, runs: Sequence[Run]) -> list[JudgeRow]:
    """Build one row per judge of a run, with what any of these runs knows of the same judge.

    Of several checks of one kind the one with the most samples counts, and of equals the newest.
    """
    judges = read_judges(run)
    if not judges:
        return []
    checks = sorted(_read_checks(runs), key=lambda check: check.checked, reverse=True)
    return [_build_row(run, judge, checks) for judge in judges]


def _read_checks(runs: Iterable[Run]) -> Iterator[JudgeCheck]:
    """Read the checks that these runs keep, newest first per run; skip those of other versions."""
    for run in runs:
        for stored in reversed(run.manifest.get(CHECKS, [])):
            try:
                yield msgspec.convert(stored, JudgeCheck)
            except msgspec.ValidationError:
                continue


def _build_row(run: Run, judge: Judge, all_checks: Sequence[JudgeCheck]) -> JudgeRow:
    checks = [check for check in all_checks if check.judge.identity == judge.identity]
    agreements = [(check.agreement, check) for check in checks if check.agreement]
    compared = max(agreements, key=lambda pair: pair[0].n, default=None)
    repeats = [(check.repeats, check) for check in checks if check.repeats]
    repeated = max(repeats, key=lambda pair: pair[0].n, default=None)
    probed: dict[str, tuple[ProbeRow, JudgeCheck]] = {}
    for check in checks:
        for probe in check.probes:
            if probe.probe not in probed or probe.n > probed[probe.probe][0].n:
                probed[probe.probe] = (probe, check)
    findings = [
        *([(_describe_agreement(compared[0]), compared[1])] if compared else []),
        *([(_describe_repeats(repeated[0]), repeated[1])] if repeated else []),
        *((_describe_probe(probe), check) for probe, check in probed.values()),
    ]
    return JudgeRow(
        task=judge.task,
        scorer=judge.scorer,
        judge=judge.judge,
        model=judge.model,
        identity=judge.identity,
        known=_describe_findings(run, judge, findings) if findings else _suggest_check(run, judge),
        checked=checks[0].checked if checks else "",
        run_id=checks[0].run_id if checks else "",
        agreement=compared[0] if compared else None,
        probes=[probe for probe, _ in probed.values()],
        repeats=repeated[0] if repeated else None,
    )


def _suggest_check(run: Run, judge: Judge) -> str:
    if not judge.verdict_score:
        return f"this judge cannot be checked: `{judge.type}` gives no verdict to compare"
    several = len(read_judges(run)) > 1
    which = f" --task {judge.task} --scorer {judge.scorer}" if several else ""
    return (
        "this judge has not been checked: "
        f"`evalwright judge check {run.id}{which} --labels FILE` compares it with people"
    )


def _describe_findings(run: Run, judge: Judge, findings: Sequence[tuple[str, JudgeCheck]]) -> str:
    """Describe findings; consecutive ones of one check share its date, run and task."""
    parts = [] if findings[0][1].agreement else ["not compared with people"]
    for index, (text, check) in enumerate(findings):
        parts.append(text)
        if index + 1 == len(findings) or findings[index + 1][1] is not check:
            where = "this run" if check.run_id == run.id else f"run {check.run_id}"
            task = f" on task `{check.judge.task}`" if check.judge.task != judge.task else ""
            parts.append(f"checked {check.checked[:10]} in {where}{task}")
    return "; ".join(parts)


def _describe_agreement(agreement: Agreement) -> str:
    figures = agreement.figures
    plural = "s"[: agreement.n != 1]
    if agreement.compared == "scores":
        return (
            f"differs from {agreement.n} human score{plural} by "
            f"{format_figure(figures['mean_absolute_difference'])} on average, "
            f"Spearman {format_figure(figures['spearman'])}"
        )
    kappa = figures["kappa"]
    beyond = f"kappa {format_figure(kappa)}" if kappa.value is not None else "kappa undefined"
    share = format_figure(figures["agreement"])
    return f"agreement with {agreement.n} human label{plural} {share}, {beyond}"


def _describe_repeats(repeats: RepeatsRow) -> str:
    if repeats.all_equal.value is None:
        return f"{repeats.times} verdicts per sample: none to compare"
    return f"{repeats.times} verdicts per sample all equal in {format_figure(repeats.all_equal)}"


def _describe_probe(probe: ProbeRow) -> str:
    if probe.flips.value is None:
        return f"probe {probe.probe} could not be applied"
    return f"probe {probe.probe} changes {format_figure(probe.flips)}"


def format_figure(figure: Figure) -> str:
    """Format a number and its interval for people."""
    if figure.value is None:
        return f"undefined ({figure.reason})" if figure.reason else "undefined"
    if figure.ci_low is None or figure.ci_high is None:
        return f"{figure.value:.2f}"
    return f"{figure.value:.2f} [{figure.ci_low:.2f}, {figure.ci_high:.2f}]"
