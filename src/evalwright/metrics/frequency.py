"""`frequency`: how often each value of a score occurs.

    metrics:
      - type: frequency
        field: label

The shares of all values add up to 1.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from evalwright.metrics.base import MetricSpec, Name, left_out
from evalwright.metrics.measure import Measure
from evalwright.ports import Snippets

if TYPE_CHECKING:
    from evalwright.metrics.scores import Scores


class Frequency(MetricSpec):
    """The share of each value among the samples that have one. The shares sum to 1."""

    type: Literal["frequency"]
    field: Name
    """The score whose values are counted. Null is left out."""

    def fields(self) -> frozenset[str]:
        """The scores that it reads."""
        return frozenset({self.field})

    async def measure(
        self, scores: "Scores", *, seed: int, snippets: Snippets | None
    ) -> list[Measure]:
        """A figure for each value, `{field}_{value}`, in the order of their names.

        Where all are null, one without a value, by the name of the field.
        """
        import numpy as np

        from evalwright.stats.wilson import wilson

        del seed, snippets
        labels = scores.column(self.field).labels()
        counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.texts))
        n = int(counts.sum())
        absent = left_out(labels.codes.size - n, labels.codes.size)
        if absent and not n:
            return [Measure(self.field, None, None, 0, absent)]
        return [
            Measure(f"{self.field}_{text}", count / n, wilson(count, n), n, absent)
            for text, count in sorted(zip(labels.texts, counts.tolist(), strict=True))
        ]


def shares_over_runs(field: str, runs: "Sequence[Scores]", *, seed: int) -> list[Measure]:
    """Of each value the share in several runs on the same samples, with its interval over those.

    A sample counts with the share of runs that gave the value. Nothing, if a run lacks a value of
    some sample: over other samples in each run, the shares are no averages over samples.
    """
    import numpy as np

    from evalwright.stats.mean import mean_interval

    labels = [one.column(field).labels() for one in runs]
    if any((one.codes < 0).any() or not one.codes.size for one in labels):
        return []
    n = labels[0].codes.size
    measures = []
    for text in sorted({text for one in labels for text in one.texts}):
        times = np.zeros(n)
        for one in labels:
            if text in one.texts:
                times += one.codes == one.texts.index(text)
        shares = times / len(runs)
        interval = mean_interval(shares, seed=seed)
        measures.append(Measure(f"{field}_{text}", float(shares.mean()), interval, n))
    return measures
