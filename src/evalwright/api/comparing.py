"""A judge's stored verdicts beside the labels of people: which means what, and how they agree."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import Struct, field

from evalwright.api.labels import Key, Label, Labels, examples, text_of
from evalwright.errors import BadDataset, UsageError
from evalwright.nearest import nearest
from evalwright.report.agreement import Scale, counted, label_agreement, score_agreement
from evalwright.report.judges import CLASSIFIER, SCORER, Agreement, Compared, Judge
from evalwright.scorers.judging.labels import folded
from evalwright.types import Outcome, Score

_TRUTH = {"true": "true", "1": "true", "false": "false", "0": "false"}
_MOST_ODD = 5
_PLACES = (
    "the ids are the places of rows, from 0, because the dataset has no `sample_id`: a column of "
    "that name gives rows ids of their own"
)


class Reading(NamedTuple):
    """What labels mean, and what of a verdict they are compared with."""

    compared: Compared
    human: Callable[[Label], Any]
    said: Callable[[Score], Any]
    order: tuple[str, ...] = ()


class Counts(Struct):
    """What was met on the way."""

    no_verdict: int = 0
    no_answer: int = 0
    unlabelled: int = 0
    other_trials: int = 0
    """Verdicts on trials that no label speaks of."""
    seen: set[Key] = field(default_factory=set)
    """The labels that are of an answer."""
    samples: set[str] = field(default_factory=set)
    """Of the samples, those that some label is of."""
    some: list[str] = field(default_factory=list)
    """The ids of the first samples."""
    models: list[str] = field(default_factory=list)
    """Whose answers they are."""


def agreement_of(
    judge: Judge, labels: Labels, outcomes: Iterable[Outcome], *, seed: int = 0
) -> Agreement:
    """How the verdicts agree with the labels; `BadDataset` if no label is of any sample."""
    reading = reading_of(judge, labels)
    counts = Counts()
    pairs = _pairs(judge, labels, outcomes, reading=reading, counts=counts)
    if reading.compared == "scores":
        scale = Scale(judge.score_min, judge.score_max)
        found = score_agreement(pairs, scale, source=labels.source, seed=seed)
    else:
        found = label_agreement(
            pairs, source=labels.source, compared=reading.compared, order=reading.order, seed=seed
        )
    if not counts.seen:
        raise _no_match(judge, labels, counts)
    left = labels.by.keys() - counts.seen
    known = [key for key in left if key[0] in counts.samples]
    others = sum(bool(key[1]) and key[1] not in counts.models for key in known)
    return counted(
        found,
        elsewhere=labels.elsewhere,
        other_models=others,
        other_trials=counts.other_trials,
        unmatched_trials=len(known) - others,
        no_verdict=counts.no_verdict,
        no_answer=counts.no_answer,
        unlabelled=counts.unlabelled,
        unmatched=len(left) - len(known),
        blank=labels.blank,
    )


def _no_match(judge: Judge, labels: Labels, counts: Counts) -> BadDataset:
    keys = list(labels.by)
    told = f"{labels.source}: none of its {len(keys)} labels is of"
    if labels.of_models and {key[0] for key in keys} & set(counts.some):
        models = examples(list(dict.fromkeys(key[1] for key in keys)))
        return BadDataset(
            f"{told} an answer of `{judge.name}`: its column `model` has {models}, "
            f"the answers are those of {examples(counts.models)}",
            hint="a column `model` says whose answer a label is about",
        )
    places = counts.some and all(one.isdecimal() for one in counts.some)
    return BadDataset(
        f"{told} a sample of `{judge.name}`: they are of {examples([key[0] for key in keys])}, "
        f"the samples are {examples(counts.some) or 'none'}",
        hint="`--id-column` says which column has the ids of samples"
        + (f"; {_PLACES}" if places else ""),
    )


def _pairs(
    judge: Judge,
    labels: Labels,
    outcomes: Iterable[Outcome],
    *,
    reading: Reading,
    counts: Counts,
) -> Iterator[tuple[str, Any, Any]]:
    labelled = {key[0] for key in labels.by}
    for outcome in outcomes:
        refuse_parts(judge, outcome)
        if outcome.sample_id.strip() in labelled:
            counts.samples.add(outcome.sample_id.strip())
        if len(counts.some) < _MOST_ODD:
            counts.some.append(outcome.sample_id)
        if outcome.model not in counts.models:
            counts.models.append(outcome.model)
        score = outcome.scores.get(judge.scorer)
        key = labels.key(outcome)
        label = labels.by.get(key) if key else None
        if key is None or label is None:
            counts.other_trials += key is None and score is not None
            counts.unlabelled += key is not None and score is not None
            continue
        counts.seen.add(key)
        if score is not None:
            yield outcome.sample_id, reading.human(label), reading.said(score)
        elif outcome.failure is not None and outcome.failure.stage == "solver":
            counts.no_answer += 1
        else:
            counts.no_verdict += 1


def refuse_parts(judge: Judge, outcome: Outcome) -> None:
    """A sample that became several has no id that a label could be of."""
    if outcome.parts:
        raise UsageError(
            f"`{judge.name}` judges what a postprocessor made of each sample, "
            "and those have no ids to compare by"
        )


def verdict_of(judge: Judge, score: Score) -> str | float:
    """What a flip is a change of: right or wrong, the label, or the score as a share of the range.

    Of a classifier not the label: two labels that both mean `correct` are one verdict.
    """
    if judge.type == CLASSIFIER:
        return text_of(bool(score.values["is_correct"]))
    if judge.type == SCORER:
        return float(score.values["score"])
    return folded(str(score.values["label"]))


def reading_of(judge: Judge, labels: Labels) -> Reading:
    """How these labels are to be read; `BadDataset` where they are no verdicts of this judge."""
    if judge.type == SCORER:
        _refuse_scores(judge, labels)
        return Reading("scores", float, lambda score: float(score.metadata["raw_score"]))
    known = {folded(one): one for one in judge.labels}
    given = {folded(text_of(one)) for one in labels.distinct()}
    if given <= known.keys() or not known:
        names = known or _spellings(labels)

        def named(label: Label) -> str:
            plain = folded(text_of(label))
            return names.get(plain, plain)

        key = "prediction" if judge.type == CLASSIFIER else "label"
        return Reading(
            "labels",
            named,
            lambda score: named(str(score.metadata[key])),
            tuple(judge.labels),
        )
    if judge.type == CLASSIFIER and given <= _TRUTH.keys():
        return Reading(
            "is_correct",
            lambda label: _TRUTH[folded(text_of(label))],
            lambda score: text_of(bool(score.values["is_correct"])),
            ("true", "false"),
        )
    raise _odd_labels(judge, labels, known)


def _spellings(labels: Labels) -> dict[str, str]:
    """Where a judge may say anything: as people spell it."""
    return {folded(text_of(one)): text_of(one) for one in labels.distinct()}


def _odd_labels(judge: Judge, labels: Labels, known: dict[str, str]) -> BadDataset:
    told = []
    odd = {one: n for one, n in labels.distinct().items() if folded(text_of(one)) not in known}
    for one, n in list(odd.items())[:_MOST_ODD]:
        first = next(key[0] for key, label in labels.by.items() if label == one)
        close = nearest(text_of(one), judge.labels)
        meant = f": did you mean `{close}`?" if close else ""
        told.append(f"`{text_of(one)}` ({n} times, first of sample `{first}`){meant}")
    more = f", and {len(odd) - _MOST_ODD} more" if len(odd) > _MOST_ODD else ""
    truth = ", or all true or false" if judge.type == CLASSIFIER else ""
    return BadDataset(
        f"{labels.source}: labels that `{judge.name}` never gives: {', '.join(told)}{more}; "
        f"it gives {', '.join(f'`{one}`' for one in judge.labels)}",
        hint=f"labels are those of the judge{truth}; leave one empty where a person could not say",
    )


def _refuse_scores(judge: Judge, labels: Labels) -> None:
    low, high = judge.score_min, judge.score_max
    for (sample, _, _), label in labels.by.items():
        number = _number(label)
        if number is None or not low <= number <= high:
            raise BadDataset(
                f"{labels.source}: the label of sample `{sample}` must be a number from {low:g} "
                f"to {high:g}, the scale of `{judge.name}`, got `{text_of(label)}`"
            )


def _number(label: Label) -> float | None:
    """One that was written as text, because another cell of its column is none, too."""
    if isinstance(label, bool):
        return None
    try:
        return float(label)
    except ValueError:
        return None
