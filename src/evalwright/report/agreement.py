"""Verdicts beside the labels of people, folded into an `Agreement`.

Only pairs are counted: memory is that of the distinct pairs for labels, and of two numbers a sample
for scores.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import structs

from evalwright.report.judges import Agreement, Compared, Figure, LabelRow, Pair
from evalwright.stats.any_mean import any_mean_interval
from evalwright.stats.correlation import (
    pearson,
    pearson_interval,
    spearman,
    spearman_interval,
)
from evalwright.stats.interval import Interval
from evalwright.stats.kappa import (
    cohen_kappa,
    cohen_kappa_interval,
    quadratic_kappa,
    quadratic_kappa_interval,
)
from evalwright.stats.wilson import wilson

NEAR = 0.1
"""Scores within this share of the range are the same verdict."""
MOST_EXAMPLES = 10
_ONE_LABEL = "people and judge gave every sample one and the same label"
_NO_SPREAD = "no interval: too few samples, or too little spread among them"
_FLAT = "one of the two does not vary"


class Scale:
    """The numbers that a judge may give, from lowest to highest."""

    def __init__(self, lowest: float, highest: float) -> None:
        self.lowest, self.highest = lowest, highest

    def share(self, difference: float) -> float:
        """A difference as a share of the range."""
        width = self.highest - self.lowest
        return difference / width if width else 0.0


def share_of(count: int, n: int, *, reason: str = "nothing was compared") -> Figure:
    """A proportion, with Wilson's interval."""
    if not n:
        return Figure(value=None, reason=reason)
    return figure(count / n, wilson(count, n), n)


def mean_of(values: Sequence[float], *, seed: int = 0) -> Figure:
    """A mean, with the interval that suits the values."""
    if not values:
        return Figure(value=None, reason="nothing was compared")
    mean = float(np.mean(values))
    return figure(mean, any_mean_interval(values, seed=seed), len(values))


def mean_difference_of(differences: Sequence[float], *, seed: int = 0) -> Figure:
    """A mean of what may be from -1 to 1, of whatever sign those that were seen are.

    As scores from 0 to 1 they have the interval that suits such; that of differences is it again.
    """
    if not differences:
        return Figure(value=None, reason="nothing was compared")
    found = mean_of([min(1.0, max(0.0, (one + 1) / 2)) for one in differences], seed=seed)
    if found.ci_low is None or found.ci_high is None:
        return structs.replace(found, value=float(np.mean(differences)))
    return structs.replace(
        found,
        value=float(np.mean(differences)),
        ci_low=2 * found.ci_low - 1,
        ci_high=2 * found.ci_high - 1,
    )


def figure(
    value: float | None, interval: Interval | None, n: int, *, undefined: str = ""
) -> Figure:
    """A number, with its interval if there is one."""
    if value is None:
        return Figure(value=None, n=n, reason=undefined)
    if interval is None:
        return Figure(value=value, n=n, reason=_NO_SPREAD)
    return Figure(
        value=value, ci_low=interval.low, ci_high=interval.high, interval=interval.method, n=n
    )


def label_agreement(
    pairs: Iterable[tuple[str, str, str]],
    *,
    source: str,
    compared: Compared,
    order: Sequence[str] = (),
    seed: int = 0,
) -> Agreement:
    """Of (sample id, human label, judge's label); `order` is that of the labels in tables."""
    counts: Counter[tuple[str, str]] = Counter()
    disagreements: list[Pair] = []
    for sample_id, human, judge in pairs:
        counts[human, judge] += 1
        if human != judge and len(disagreements) < MOST_EXAMPLES:
            disagreements.append(Pair(sample_id=sample_id, human=human, judge=judge))
    n = counts.total()
    equal = sum(count for (human, judge), count in counts.items() if human == judge)
    return Agreement(
        source=source,
        compared=compared,
        n=n,
        figures={
            "agreement": share_of(equal, n),
            "kappa": figure(
                cohen_kappa(counts),
                cohen_kappa_interval(counts, seed=seed),
                n,
                undefined=_ONE_LABEL if n else "nothing was compared",
            ),
        },
        labels=_label_rows(counts, order),
        confusion=(confusion := _confusion(counts, order)),
        confusion_shares={
            human: {judge: share_of(count, sum(row.values())) for judge, count in row.items()}
            for human, row in confusion.items()
        },
        disagreements=disagreements,
    )


def _label_rows(counts: Mapping[tuple[str, str], int], order: Sequence[str]) -> list[LabelRow]:
    human: Counter[str] = Counter()
    judge: Counter[str] = Counter()
    for (one, other), count in counts.items():
        human[one] += count
        judge[other] += count
    rows = []
    for label in _ordered(human | judge, order):
        both = counts.get((label, label), 0)
        rows.append(
            LabelRow(
                label=label,
                human=human[label],
                judge=judge[label],
                both=both,
                recall=share_of(both, human[label], reason="no person gave this label"),
                precision=share_of(both, judge[label], reason="the judge never gave this label"),
            )
        )
    return rows


def _confusion(
    counts: Mapping[tuple[str, str], int], order: Sequence[str]
) -> dict[str, dict[str, int]]:
    human = _ordered({one for one, _ in counts}, order)
    judge = _ordered({other for _, other in counts}, order)
    return {one: {other: counts.get((one, other), 0) for other in judge} for one in human}


def _ordered(labels: Iterable[str], order: Sequence[str]) -> list[str]:
    """As the author lists them; others after these, by their names."""
    known = list(dict.fromkeys(order))
    found = set(labels)
    return [*(one for one in known if one in found), *sorted(found - set(known))]


def score_agreement(
    pairs: Iterable[tuple[str, float, float]], scale: Scale, *, source: str, seed: int = 0
) -> Agreement:
    """Of (sample id, human score, judge's score), both on the judge's scale."""
    human: list[float] = []
    judge: list[float] = []
    disagreements: list[Pair] = []
    for sample_id, one, other in pairs:
        human.append(one)
        judge.append(other)
        far = abs(scale.share(other - one)) > NEAR + 1e-9
        if far and len(disagreements) < MOST_EXAMPLES:
            disagreements.append(Pair(sample_id=sample_id, human=one, judge=other))
    n = len(human)
    apart = [scale.share(other - one) for one, other in zip(human, judge, strict=True)]
    whole = all(one.is_integer() for one in (*human, *judge))
    concordance = figure(
        quadratic_kappa(human, judge),
        quadratic_kappa_interval(human, judge, seed=seed),
        n,
        undefined=_FLAT,
    )
    return Agreement(
        source=source,
        compared="scores",
        n=n,
        figures={
            "exact": share_of(sum(abs(one) <= 1e-9 for one in apart), n),  # noqa: PLR2004
            "within_a_tenth": share_of(sum(abs(one) <= NEAR + 1e-9 for one in apart), n),
            "mean_absolute_difference": mean_of([abs(one) for one in apart], seed=seed),
            "mean_difference": mean_difference_of(apart, seed=seed),
            ("quadratic_kappa" if whole else "concordance"): concordance,
            "pearson": figure(
                pearson(human, judge),
                pearson_interval(human, judge, seed=seed),
                n,
                undefined=_FLAT,
            ),
            "spearman": figure(
                spearman(human, judge), spearman_interval(human, judge), n, undefined=_FLAT
            ),
        },
        disagreements=disagreements,
    )


def counted(agreement: Agreement, **counts: int) -> Agreement:
    """The same, with what was left out."""
    return structs.replace(agreement, **counts)
