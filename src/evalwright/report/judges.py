"""What is known of a judge: how it agrees with people, and what makes it change its mind.

A check is kept with the run whose verdicts it is about, under the judge's identity: the scorer's
settings, the model's name and all that changes the model's answers. A judge with another prompt is
another judge, of which nothing is known yet.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from evalwright.types import Run

CLASSIFIER = "model_as_a_judge_classifier"
SCORER = "model_as_a_judge_scorer"
LABELER = "labeler_via_model"
CHECKS = "judge_checks"
"""Where a manifest keeps them."""
CHECKABLE = (CLASSIFIER, SCORER, LABELER)
"""The scorers whose verdicts can be compared with those of people."""

Compared = Literal["labels", "is_correct", "scores"]


class Judge(Struct, frozen=True, kw_only=True):
    """A scorer that asks a model, as the manifest of its run has it."""

    task: str
    scorer: str
    type: str
    judge: str
    """The key of the model that judges."""
    model: str
    """What reports call that model."""
    identity: str
    """Of all that could move a verdict, as a hash."""
    correct_labels: list[str] = []
    incorrect_labels: list[str] = []
    """Of a labeler, `correct_labels` are all that it may give; empty for any."""
    score_min: float = 0.0
    score_max: float = 1.0

    @property
    def labels(self) -> list[str]:
        """All that it may say; empty for any."""
        return [*self.correct_labels, *self.incorrect_labels]

    @property
    def name(self) -> str:
        """What tells it from the other judges of a run."""
        return f"{self.task}/{self.scorer}"


class Figure(Struct, frozen=True, kw_only=True):
    """A number with its interval; None where it is not defined, and why."""

    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    interval: str | None = None
    n: int = 0
    reason: str = ""


class LabelRow(Struct, frozen=True, kw_only=True):
    """One label: how often people gave it, how often the judge did, how often both."""

    label: str
    human: int
    judge: int
    both: int
    recall: Figure
    """Of the samples that people gave this label, the share that the judge gave it, too."""
    precision: Figure
    """Of the samples that the judge gave this label, the share that people gave it, too."""


class Pair(Struct, frozen=True, kw_only=True):
    """A sample that a person and the judge see differently."""

    sample_id: str
    human: str | float
    judge: str | float


class Agreement(Struct, frozen=True, kw_only=True):
    """How a judge's verdicts compare with labels that people gave."""

    source: str
    """The file or the column that the labels are from."""
    compared: Compared
    n: int
    """Samples that have both a verdict and a label."""
    figures: dict[str, Figure]
    labels: list[LabelRow] = []
    confusion: dict[str, dict[str, int]] = {}
    """How often people said the first and the judge the second."""
    confusion_shares: dict[str, dict[str, Figure]] = {}
    """The same as shares of what people said the first of, with Wilson's intervals."""
    disagreements: list[Pair] = []
    """The first few."""
    no_verdict: int = 0
    """Labelled samples of which the judge gave no verdict: neither agreement nor disagreement."""
    no_answer: int = 0
    """Labelled samples that have no answer to judge."""
    unlabelled: int = 0
    """Verdicts on samples that nobody labelled."""
    unmatched: int = 0
    """Labels of samples that the run does not have."""
    unmatched_trials: int = 0
    """Labels of trials that the run does not have, or that have no outcome."""
    other_models: int = 0
    """Labels of answers of models that were not compared."""
    other_trials: int = 0
    """Verdicts on further trials, of which labels without a column `trial` say nothing."""
    elsewhere: int = 0
    """Rows of other tasks."""
    blank: int = 0
    """Rows without a label."""


class ProbeRow(Struct, frozen=True, kw_only=True):
    """The same samples, judged again with something changed that should not matter."""

    probe: str
    n: int
    """Samples that were judged again."""
    flips: Figure
    """The share of verdicts that changed."""
    directions: dict[str, int] = {}
    examples: list[str] = []
    """Ids of the first samples whose verdict changed."""
    change: Figure | None = None
    """Of a score: how much higher it became, as a share of the range."""
    failed: int = 0
    """Samples of which the judge gave no verdict this time."""
    not_applicable: int = 0
    reason: str = ""
    """Why it does not apply; where it does, what failed first."""
    failure: str = ""
    """What failed first."""


class RepeatsRow(Struct, frozen=True, kw_only=True):
    """The same samples, judged again with nothing changed."""

    times: int
    """Verdicts a sample, that of the run among them."""
    n: int
    """Samples with that many verdicts."""
    all_equal: Figure
    """The share of samples whose verdicts are all the same."""
    pairwise: Figure
    """How often two verdicts on the same sample are the same, on average over samples."""
    spread: Figure | None = None
    """Of a score: highest less lowest, as a share of the range, on average."""
    failed: int = 0
    reason: str = ""
    """What failed first."""


class JudgeCheck(Struct, frozen=True, kw_only=True):
    """What `evalwright judge check` shows, and a run's manifest keeps."""

    run_id: str
    judge: Judge
    checked: str
    """ISO 8601, in UTC."""
    seed: int
    """Of the bootstrap; which samples are probed does not depend on it."""
    agreement: Agreement | None = None
    probes: list[ProbeRow] = []
    repeats: RepeatsRow | None = None
    calls: int = 0
    cost: float | None = None
    notes: list[str] = []
    kept: bool = True
    """Whether it is in the manifest of the run: what was stopped is not."""


class JudgeRow(Struct, frozen=True, kw_only=True):
    """A judge of a run, and what is known of it."""

    task: str
    scorer: str
    judge: str
    model: str
    identity: str
    known: str
    """In a sentence."""
    checked: str = ""
    """When it was last checked; empty if never."""
    run_id: str = ""
    """The run whose verdicts were last checked."""
    agreement: Agreement | None = None
    probes: list[ProbeRow] = []
    repeats: RepeatsRow | None = None


def judges_of(run: Run) -> list[Judge]:
    """The judges of a run; none of a run of records, or of one that asked none."""
    return msgspec.convert(run.manifest.get("judges", []), list[Judge])


def checks_in(runs: Iterable[Run]) -> Iterator[JudgeCheck]:
    """All checks that these runs keep, of each the newest first.

    One that another version wrote is passed over.
    """
    for run in runs:
        for kept in reversed(run.manifest.get(CHECKS, [])):
            try:
                yield msgspec.convert(kept, JudgeCheck)
            except msgspec.ValidationError:
                continue


def judge_rows(run: Run, runs: Sequence[Run]) -> list[JudgeRow]:
    """Each judge of a run, with what any of these runs knows of the same judge.

    Of several checks of one kind the one of the most samples counts, and of equals the newest.
    """
    judges = judges_of(run)
    if not judges:
        return []
    checks = sorted(checks_in(runs), key=lambda one: one.checked, reverse=True)
    return [_row(run, judge, checks) for judge in judges]


def _row(run: Run, judge: Judge, checks: Sequence[JudgeCheck]) -> JudgeRow:
    ours = [one for one in checks if one.judge.identity == judge.identity]
    compared = max(
        (one for one in ours if one.agreement),
        key=lambda one: one.agreement.n if one.agreement else 0,
        default=None,
    )
    repeated = max(
        (one for one in ours if one.repeats),
        key=lambda one: one.repeats.n if one.repeats else 0,
        default=None,
    )
    probed: dict[str, tuple[ProbeRow, JudgeCheck]] = {}
    for one in ours:
        for probe in one.probes:
            if probe.probe not in probed or probe.n > probed[probe.probe][0].n:
                probed[probe.probe] = (probe, one)
    told = [
        *((_agrees(one.agreement), one) for one in (compared,) if one and one.agreement),
        *((_repeats(one.repeats), one) for one in (repeated,) if one and one.repeats),
        *((_flips(probe), one) for probe, one in probed.values()),
    ]
    return JudgeRow(
        task=judge.task,
        scorer=judge.scorer,
        judge=judge.judge,
        model=judge.model,
        identity=judge.identity,
        known=_known(run, judge, told) if told else _unknown(run, judge),
        checked=ours[0].checked if ours else "",
        run_id=ours[0].run_id if ours else "",
        agreement=compared.agreement if compared else None,
        probes=[probe for probe, _ in probed.values()],
        repeats=repeated.repeats if repeated else None,
    )


def _unknown(run: Run, judge: Judge) -> str:
    if judge.type not in CHECKABLE:
        return f"nothing is known of this judge: `{judge.type}` gives no verdict to compare"
    which = f" --task {judge.task} --scorer {judge.scorer}" if len(judges_of(run)) > 1 else ""
    return (
        "nothing is known of this judge: "
        f"`evalwright judge check {run.id}{which} --labels FILE` compares it with people"
    )


def _known(run: Run, judge: Judge, told: Sequence[tuple[str, JudgeCheck]]) -> str:
    """What was found together is told together, with when and where.

    A judge is the same on every task; how good it is may not be.
    """
    parts = [] if told[0][1].agreement else ["not compared with people"]
    for place, (text, check) in enumerate(told):
        parts.append(text)
        if place + 1 == len(told) or told[place + 1][1] is not check:
            here = "this run" if check.run_id == run.id else f"run {check.run_id}"
            on = f" on task `{check.judge.task}`" if check.judge.task != judge.task else ""
            parts.append(f"checked {check.checked[:10]} in {here}{on}")
    return "; ".join(parts)


def _agrees(agreement: Agreement) -> str:
    figures = agreement.figures
    if agreement.compared == "scores":
        return (
            f"differs from {agreement.n} human score{'s'[: agreement.n != 1]} by "
            f"{shown(figures['mean_absolute_difference'])} on average, "
            f"Spearman {shown(figures['spearman'])}"
        )
    kappa = figures["kappa"]
    beyond = f"kappa {shown(kappa)}" if kappa.value is not None else "kappa undefined"
    labels = f"{agreement.n} human label{'s'[: agreement.n != 1]}"
    return f"agrees with {labels} in {shown(figures['agreement'])}, {beyond}"


def _repeats(repeats: RepeatsRow) -> str:
    if repeats.all_equal.value is None:
        return f"asked {repeats.times} times gave no verdicts to compare"
    return f"asked {repeats.times} times says the same in {shown(repeats.all_equal)}"


def _flips(probe: ProbeRow) -> str:
    if probe.flips.value is None:
        return f"{probe.probe} could not be tried"
    return f"{probe.probe} flips {shown(probe.flips)}"


def shown(figure: Figure) -> str:
    """A number and its interval, for people."""
    if figure.value is None:
        return f"undefined ({figure.reason})" if figure.reason else "undefined"
    if figure.ci_low is None or figure.ci_high is None:
        return f"{figure.value:.2f}"
    return f"{figure.value:.2f} [{figure.ci_low:.2f}, {figure.ci_high:.2f}]"
