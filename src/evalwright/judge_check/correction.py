"""Correct the mean of a judge's verdicts with the human labels for a part of the samples."""

from array import array
from typing import Any, cast

import numpy as np
from msgspec import Struct, field

from evalwright.judge_check.labels import Label, format_label
from evalwright.report.judges import Compared, CorrectedScore, Figure, Judge
from evalwright.scorers.judging.verdict_values import fold_label
from evalwright.stats.arrays import Floats
from evalwright.stats.judge_correction import Corrected, JudgeTable, ppi_mean, rogan_gladen
from evalwright.stats.mean import average
from evalwright.types import Score

_TRUE = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}


def _floats() -> "array[float]":
    return array("d")


class CorrectionScores(Struct):
    """The verdicts as numbers, with the labels as numbers on the same scale."""

    labels: "array[float]" = field(default_factory=_floats)
    labelled: "array[float]" = field(default_factory=_floats)
    """The verdicts on the samples with a label."""
    others: "array[float]" = field(default_factory=_floats)
    """The verdicts on the samples without one."""
    unclear: int = 0
    """Labels that are neither right nor wrong."""

    def add(self, judge: Judge, score: Score, label: Label | None, compared: Compared) -> None:
        """Add one verdict."""
        if judge.verdict_score not in {"is_correct", "score"}:
            return
        verdict = _read_verdict(judge, score)
        number = None if label is None else _read_label(judge, label, compared)
        if label is not None and number is None:
            self.unclear += 1
        elif number is None:
            self.others.append(verdict)
        else:
            self.labels.append(number)
            self.labelled.append(verdict)

    def correct(self, judge: Judge, *, seed: int) -> list[CorrectedScore]:
        """Return the corrected means; none if verdicts are not right, wrong or graded.

        Nothing is corrected if every sample has a label: the labels are then the scores.
        Rogan and Gladen's estimate takes the share of the verdicts without a label, so that its two
        sources are independent.
        """
        if judge.verdict_score not in {"is_correct", "score"} or not self.others:
            return []
        labels, labelled, others = (
            np.asarray(values) for values in (self.labels, self.labelled, self.others)
        )
        every = np.concatenate([labelled, others])
        mean = average(every, seed=seed)
        raw = _make_figure(Corrected(value=mean.mean, interval=mean.interval), int(every.size))
        by_method = {"ppi++": ppi_mean(labels, labelled, others)}
        if judge.verdict_score == "is_correct":
            table = _build_table(labels, labelled, others)
            by_method = {"rogan-gladen": rogan_gladen(table), **by_method}
        return [
            CorrectedScore(
                method=cast("Any", method),
                raw=raw,
                corrected=_make_figure(corrected, int(every.size)),
                labels=int(labels.size),
                weight=corrected.weight,
            )
            for method, corrected in by_method.items()
        ]


def _read_verdict(judge: Judge, score: Score) -> float:
    if judge.verdict_score == "is_correct":
        return float(bool(score.values["is_correct"]))
    return _share_of_range(judge, float(cast("Any", score.metadata["raw_score"])))


def _read_label(judge: Judge, label: Label, compared: Compared) -> float | None:
    if compared == "scores":
        return _share_of_range(judge, float(label))
    plain = fold_label(format_label(label))
    if compared == "is_correct":
        return _TRUE.get(plain)
    correct, incorrect = (
        {fold_label(name) for name in names}
        for names in (judge.correct_labels, judge.incorrect_labels)
    )
    if plain in correct:
        return 1.0
    return 0.0 if plain in incorrect else None


def _share_of_range(judge: Judge, number: float) -> float:
    width = judge.score_max - judge.score_min
    return (number - judge.score_min) / width if width else 0.0


def _build_table(labels: Floats, labelled: Floats, verdicts: Floats) -> JudgeTable:
    return JudgeTable(
        positive=int(verdicts.sum()),
        n=int(verdicts.size),
        human_correct=int(labels.sum()),
        true_positive=int((labels * labelled).sum()),
        human_incorrect=int((1 - labels).sum()),
        true_negative=int(((1 - labels) * (1 - labelled)).sum()),
    )


def _make_figure(corrected: Corrected, n: int) -> Figure:
    interval = corrected.interval
    return Figure(
        value=corrected.value,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        interval=interval.method if interval else None,
        n=n,
        reason=corrected.reason,
    )
