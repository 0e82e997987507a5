"""Compare a judge's stored verdicts with human labels.

Memory holds only pairs: the distinct pairs of labels with their counts, or two numbers per sample
for scores.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import nan
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec import Struct, field, structs

from evalwright.errors import BadDataset, UsageError
from evalwright.judge_check.correction import CorrectionScores
from evalwright.judge_check.labels import AnswerKey, HumanLabels, Label, format_label, quote_first
from evalwright.nearest import nearest
from evalwright.report.judges import (
    Agreement,
    Compared,
    Figure,
    Judge,
    LabelRow,
    Pair,
)
from evalwright.report.tables import count_noun
from evalwright.scorers.judging.verdict_values import LabelSet, fold_label
from evalwright.stats.agreement import (
    cohen_kappa,
    cohen_kappa_interval,
    pearson,
    pearson_interval,
    quadratic_kappa,
    quadratic_kappa_interval,
    spearman,
    spearman_interval,
)
from evalwright.stats.interval import Interval, wilson
from evalwright.stats.mean import any_mean_interval
from evalwright.types import Json, Outcome, Score

Verdict = str | float
MAX_EXAMPLES = 10
_NEAR = 0.1
_TRUTH = {"true": "true", "1": "true", "false": "false", "0": "false"}
_MAX_NAMED = 5
_ROUNDING = 1e-9
_ONE_LABEL = "the people and the judge gave every sample the same label"
_NO_SPREAD = "no interval: too few samples, or too little variation"
_CONSTANT = "the labels or the verdicts do not vary"
_NOTHING_COMPARED = "nothing was compared"
_IDS_ARE_ROW_NUMBERS = (
    "the ids are row positions, starting at 0, because the dataset has no `sample_id`: add that "
    "column to give rows stable ids"
)


class Comparison(NamedTuple):
    """The compared quantity, and how to read it from a label and from a judge's score."""

    compared: Compared
    read_label: Callable[[Label], Any]
    read_score: Callable[[Score], Any]
    label_order: tuple[str, ...] = ()


class _MatchCounts(Struct):
    """Counts of labels and verdicts that could not be compared."""

    omitted: Counter[str] = field(default_factory=Counter)
    """Numbers of omissions, by their field in `Agreement`."""
    matched_keys: set[AnswerKey] = field(default_factory=set)
    labelled_samples: set[str] = field(default_factory=set)
    """Ids of the run's samples that have a label."""
    scores: CorrectionScores = field(default_factory=CorrectionScores)
    first_ids: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)


def compare_with_labels(
    judge: Judge, labels: HumanLabels, outcomes: Iterable[Outcome], *, seed: int = 0
) -> Agreement:
    """Measure how verdicts agree with labels; `BadDataset` if no label matches a sample."""
    comparison = choose_comparison(judge, labels)
    counts = _MatchCounts()
    pairs = _match_pairs(judge, labels, outcomes, comparison=comparison, counts=counts)
    if comparison.compared == "scores":
        scale = (judge.score_min, judge.score_max)
        agreement = measure_score_agreement(pairs, scale, source=labels.source, seed=seed)
    else:
        agreement = measure_label_agreement(
            pairs,
            source=labels.source,
            compared=comparison.compared,
            label_order=comparison.label_order,
            seed=seed,
        )
    if not counts.matched_keys:
        raise _no_match_error(judge, labels, counts)
    unmatched = labels.by_answer.keys() - counts.matched_keys
    of_known_samples = [key for key in unmatched if key[0] in counts.labelled_samples]
    other_models = sum(bool(key[1]) and key[1] not in counts.models for key in of_known_samples)
    return structs.replace(
        agreement,
        corrected=counts.scores.correct(judge, seed=seed),
        elsewhere=labels.elsewhere,
        other_models=other_models,
        unmatched_trials=len(of_known_samples) - other_models,
        unmatched=len(unmatched) - len(of_known_samples),
        blank=labels.blank,
        **counts.omitted,
    )


def _match_pairs(
    judge: Judge,
    labels: HumanLabels,
    outcomes: Iterable[Outcome],
    *,
    comparison: Comparison,
    counts: _MatchCounts,
) -> Iterator[tuple[str, Any, Any]]:
    labelled_ids = {key[0] for key in labels.by_answer}
    for outcome in outcomes:
        reject_split_sample(judge, outcome)
        if outcome.sample_id.strip() in labelled_ids:
            counts.labelled_samples.add(outcome.sample_id.strip())
        if len(counts.first_ids) < _MAX_NAMED:
            counts.first_ids.append(outcome.sample_id)
        if outcome.model not in counts.models:
            counts.models.append(outcome.model)
        score = outcome.scores.get(judge.scorer)
        key = labels.key_of(outcome)
        label = labels.by_answer.get(key) if key else None
        if score is not None:
            counts.scores.add(judge, score, label, comparison.compared)
        if key is None or label is None:
            if score is not None:
                counts.omitted["other_trials" if key is None else "unlabelled"] += 1
            continue
        counts.matched_keys.add(key)
        if score is not None:
            yield outcome.sample_id, comparison.read_label(label), comparison.read_score(score)
        else:
            has_answer = outcome.failure is None or outcome.failure.stage != "solver"
            counts.omitted["no_verdict" if has_answer else "no_answer"] += 1


def _no_match_error(judge: Judge, labels: HumanLabels, counts: _MatchCounts) -> BadDataset:
    keys = list(labels.by_answer)
    start = f"{labels.source}: none of its {len(keys)} labels is for"
    if labels.names_models and {key[0] for key in keys} & set(counts.first_ids):
        models = quote_first(dict.fromkeys(key[1] for key in keys))
        return BadDataset(
            f"{start} an answer that `{judge.name}` judged: the column `model` has "
            f"{models}, but the answers are from {quote_first(counts.models)}",
            hint="add a column `model` with the model that each label refers to",
        )
    ids_are_numbers = counts.first_ids and all(name.isdecimal() for name in counts.first_ids)
    return BadDataset(
        f"{start} a sample that `{judge.name}` judged: the labels are for "
        f"{quote_first(key[0] for key in keys)}, but the samples are "
        f"{quote_first(counts.first_ids) or 'none'}",
        hint="set the column with the sample ids with `--id-column`"
        + (f"; {_IDS_ARE_ROW_NUMBERS}" if ids_are_numbers else ""),
    )


def reject_split_sample(judge: Judge, outcome: Outcome) -> None:
    """Raise `UsageError` for a sample that was split, because labels cannot refer to its parts."""
    if outcome.parts:
        raise UsageError(
            f"`{judge.name}` judges the output of a postprocessor: its samples cannot be matched "
            "with labels"
        )


def read_verdict(judge: Judge, score: Score) -> Verdict:
    """Return the part of a score that is compared: correctness, the label or the score.

    Different labels of a classifier that both mean `correct` are the same verdict. A score is
    expressed as a share of the range.
    """
    verdict = score.values[judge.verdict_score]
    if judge.verdict_score == "is_correct":
        return format_label(bool(verdict))
    if judge.verdict_score == "score":
        return _read_number(verdict)
    return str(verdict) if judge.labels else fold_label(str(verdict))


def _read_number(value: Json) -> float:
    return float(cast("float", value))


def choose_comparison(judge: Judge, labels: HumanLabels) -> Comparison:
    """Choose how to read these labels; `BadDataset` if they are not verdicts of this judge."""
    if judge.verdict_score == "score":
        _check_scores(judge, labels)
        return Comparison("scores", float, lambda score: _read_number(score.metadata["raw_score"]))
    from_people = [format_label(label) for label in labels.count()]
    # For a judge with free labels, case is ignored, and the people's spelling is used.
    spellings = LabelSet(
        judge.labels or {fold_label(label): label for label in from_people}.values()
    )
    if not judge.labels or all(map(spellings.has, from_people)):

        def spell(label: Label) -> str:
            plain = format_label(label)
            return spellings.find(plain) or fold_label(plain)

        key = "prediction" if judge.verdict_score == "is_correct" else "label"
        return Comparison(
            "labels", spell, lambda score: spell(str(score.metadata[key])), tuple(judge.labels)
        )
    is_truth = {fold_label(label) for label in from_people} <= _TRUTH.keys()
    if judge.verdict_score == "is_correct" and is_truth:
        return Comparison(
            "is_correct",
            lambda label: _TRUTH[fold_label(format_label(label))],
            lambda score: format_label(bool(score.values["is_correct"])),
            ("true", "false"),
        )
    raise _unknown_labels_error(judge, labels, spellings)


def _unknown_labels_error(judge: Judge, labels: HumanLabels, known: LabelSet) -> BadDataset:
    unknown = {
        label: count
        for label, count in labels.count().items()
        if not known.has(format_label(label))
    }
    described = []
    for label, count in list(unknown.items())[:_MAX_NAMED]:
        sample_id = next(key[0] for key, other in labels.by_answer.items() if other == label)
        suggestion = nearest(format_label(label), judge.labels)
        described.append(
            f"`{format_label(label)}` ({count_noun(count, 'time')}, first for sample `{sample_id}`)"
            + (f": did you mean `{suggestion}`?" if suggestion else "")
        )
    more = f", and {len(unknown) - _MAX_NAMED} more" if len(unknown) > _MAX_NAMED else ""
    truth = ", or all true or false" if judge.verdict_score == "is_correct" else ""
    return BadDataset(
        f"{labels.source}: labels that `{judge.name}` never gives: {', '.join(described)}{more}; "
        f"it gives {', '.join(f'`{label}`' for label in judge.labels)}",
        hint=f"use the judge's labels{truth}; leave a label empty if a person could not decide",
    )


def _check_scores(judge: Judge, labels: HumanLabels) -> None:
    low, high = judge.score_min, judge.score_max
    for (sample_id, _, _), label in labels.by_answer.items():
        try:  # it may be text, because another cell of its column is not a number
            number = nan if isinstance(label, bool) else float(label)
        except ValueError:
            number = nan
        if not low <= number <= high:
            raise BadDataset(
                f"{labels.source}: the label of sample `{sample_id}` must be a number from {low:g} "
                f"to {high:g}, the scale of `{judge.name}`, got `{format_label(label)}`"
            )


def measure_label_agreement(
    pairs: Iterable[tuple[str, str, str]],
    *,
    source: str,
    compared: Compared,
    label_order: Sequence[str] = (),
    seed: int = 0,
) -> Agreement:
    """Measure agreement of (sample id, human label, judge's label)."""
    counts: Counter[tuple[str, str]] = Counter()
    disagreements: list[Pair] = []
    for sample_id, human, judge in pairs:
        counts[human, judge] += 1
        if human != judge and len(disagreements) < MAX_EXAMPLES:
            disagreements.append(Pair(sample_id=sample_id, human=human, judge=judge))
    n = counts.total()
    equal = sum(count for (human, judge), count in counts.items() if human == judge)
    judge_labels = _sort_labels({judge for _, judge in counts}, label_order)
    confusion = {
        human: {judge: counts[human, judge] for judge in judge_labels}
        for human in _sort_labels({human for human, _ in counts}, label_order)
    }
    return Agreement(
        source=source,
        compared=compared,
        n=n,
        figures={
            "agreement": estimate_share(equal, n),
            "kappa": _make_figure(
                cohen_kappa(counts),
                cohen_kappa_interval(counts, seed=seed),
                n,
                undefined=_ONE_LABEL if n else _NOTHING_COMPARED,
            ),
        },
        labels=_build_label_rows(counts, label_order),
        confusion=confusion,
        confusion_shares={
            human: {judge: estimate_share(count, sum(row.values())) for judge, count in row.items()}
            for human, row in confusion.items()
        },
        disagreements=disagreements,
    )


def _build_label_rows(
    counts: Counter[tuple[str, str]], label_order: Sequence[str]
) -> list[LabelRow]:
    human_counts: Counter[str] = Counter()
    judge_counts: Counter[str] = Counter()
    for (human_label, judge_label), count in counts.items():
        human_counts[human_label] += count
        judge_counts[judge_label] += count
    rows = []
    for label in _sort_labels(human_counts | judge_counts, label_order):
        human, judge, both = human_counts[label], judge_counts[label], counts[label, label]
        rows.append(
            LabelRow(
                label=label,
                human=human,
                judge=judge,
                both=both,
                recall=estimate_share(both, human, undefined="no person gave this label"),
                precision=estimate_share(both, judge, undefined="the judge never gave this label"),
            )
        )
    return rows


def _sort_labels(labels: Iterable[str], label_order: Sequence[str]) -> list[str]:
    known = list(dict.fromkeys(label_order))
    present = set(labels)
    return [*(label for label in known if label in present), *sorted(present - set(known))]


def measure_score_agreement(
    pairs: Iterable[tuple[str, float, float]],
    scale: tuple[float, float],
    *,
    source: str,
    seed: int = 0,
) -> Agreement:
    """Measure agreement of (sample id, human score, judge's score), both on the judge's scale."""
    width = scale[1] - scale[0]
    human_scores: list[float] = []
    judge_scores: list[float] = []
    differences: list[float] = []
    """Differences as shares of the range."""
    disagreements: list[Pair] = []
    for sample_id, human, judge in pairs:
        human_scores.append(human)
        judge_scores.append(judge)
        differences.append((judge - human) / width if width else 0.0)
        if not is_near(differences[-1]) and len(disagreements) < MAX_EXAMPLES:
            disagreements.append(Pair(sample_id=sample_id, human=human, judge=judge))
    n = len(differences)
    distances = [abs(difference) for difference in differences]
    scores = human_scores, judge_scores
    is_whole = all(score.is_integer() for score in (*human_scores, *judge_scores))
    make_figure = partial(_make_figure, n=n, undefined=_CONSTANT)
    return Agreement(
        source=source,
        compared="scores",
        n=n,
        figures={
            "exact": estimate_share(sum(distance <= _ROUNDING for distance in distances), n),
            "within_a_tenth": estimate_share(sum(map(is_near, differences)), n),
            "mean_absolute_difference": estimate_mean(distances, seed=seed),
            "mean_difference": estimate_mean_difference(differences, seed=seed),
            ("quadratic_kappa" if is_whole else "concordance"): make_figure(
                quadratic_kappa(*scores), quadratic_kappa_interval(*scores, seed=seed)
            ),
            "pearson": make_figure(pearson(*scores), pearson_interval(*scores, seed=seed)),
            "spearman": make_figure(spearman(*scores), spearman_interval(*scores)),
        },
        disagreements=disagreements,
    )


def is_near(difference: float) -> bool:
    """Whether scores that differ by this share of the range count as the same verdict."""
    return abs(difference) <= _NEAR + _ROUNDING


def estimate_share(count: int, n: int, *, undefined: str = _NOTHING_COMPARED) -> Figure:
    """Estimate a proportion with a Wilson interval."""
    if not n:
        return Figure(value=None, reason=undefined)
    return _make_figure(count / n, wilson(count, n), n)


def estimate_mean(values: Sequence[float], *, seed: int = 0) -> Figure:
    """Estimate a mean with the interval that suits the values."""
    if not values:
        return Figure(value=None, reason=_NOTHING_COMPARED)
    return _make_figure(float(np.mean(values)), any_mean_interval(values, seed=seed), len(values))


def estimate_mean_difference(differences: Sequence[float], *, seed: int = 0) -> Figure:
    """Estimate a mean of values from -1 to 1, even if all observed values have the same sign.

    The values are mapped to [0, 1], and the interval of their mean is mapped back.
    """
    if not differences:
        return Figure(value=None, reason=_NOTHING_COMPARED)
    as_scores = [min(1.0, max(0.0, (difference + 1) / 2)) for difference in differences]
    mean = float(np.mean(differences))
    figure = structs.replace(estimate_mean(as_scores, seed=seed), value=mean)
    if figure.ci_low is None or figure.ci_high is None:
        return figure
    return structs.replace(figure, ci_low=2 * figure.ci_low - 1, ci_high=2 * figure.ci_high - 1)


def _make_figure(
    value: float | None, interval: Interval | None, n: int, *, undefined: str = ""
) -> Figure:
    if value is None:
        return Figure(value=None, n=n, reason=undefined)
    if interval is None:
        return Figure(value=value, n=n, reason=_NO_SPREAD)
    return Figure(
        value=value, ci_low=interval.low, ci_high=interval.high, interval=interval.method, n=n
    )
