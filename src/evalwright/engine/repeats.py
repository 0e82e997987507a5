"""The same task run several times: how far the runs agree.

A sample counts in all runs or in none: it counts if every run has its score and no rule takes it
out in any. So what differs between the figures of two runs is the answers, never the samples.

    figures     one for each run; their mean is the task's, and its interval is over the samples,
                each averaged over the runs: the runs ask the same samples, so more runs do not
                make more of them
    agreement   of each sample and score, the share of runs that give the most common value
    flaky       the samples whose runs do not all agree, the worst first

Memory: nine bytes a sample, run and score that a metric reads; eight a sample and score for the
agreement; and the worst samples, a fixed number of them.
"""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from evalwright.engine.finishing import Agreement, Flaky
from evalwright.engine.trials import together
from evalwright.stats.agreement import score_agreement

MOST_FLAKY = 50
"""How many flaky samples are kept."""
_MOST_NAMES = 100
"""Scores of one scorer that are compared; what gives more names makes them up."""
_MOST_VALUES = 5


class Agreements:
    """Gathers how far runs agree, sample by sample."""

    def __init__(self) -> None:
        self._shares: dict[tuple[str, str], array[float]] = {}
        self._names: Counter[str] = Counter()
        self._heap: list[tuple[float, int, Flaky]] = []
        self.flaky = 0
        """Samples that are flaky in any score."""

    def add(
        self, ordinal: int, sample_id: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]
    ) -> None:
        """One more sample: of each scorer, the values of every run."""
        worst: tuple[float, str, str, list[Any]] | None = None
        for scorer, values in runs.items():
            for name in dict.fromkeys(name for one in values for name in one):
                found = [one.get(name) for one in values]
                share = self._share(scorer, name, found)
                if share < (worst[0] if worst else 1):
                    worst = share, scorer, name, found
        if worst is not None:
            self.flaky += 1
            self._keep(ordinal, sample_id, *worst)

    def _keep(
        self, ordinal: int, sample_id: str, share: float, scorer: str, score: str, found: list[Any]
    ) -> None:
        """A flaky sample, if it is among the worst."""
        place = (-share, -ordinal)
        if len(self._heap) == MOST_FLAKY and place < self._heap[0][:2]:
            return
        flaky = Flaky(
            sample_id=sample_id,
            scorer=scorer,
            score=score,
            agreement=share,
            values=_counted(found),
        )
        heapq.heappush(self._heap, (*place, flaky))
        if len(self._heap) > MOST_FLAKY:
            heapq.heappop(self._heap)

    def _share(self, scorer: str, name: str, found: Sequence[Any]) -> float:
        """How far they agree; of a name too many, nobody asks."""
        shares = self._shares.get((scorer, name))
        if shares is None:
            if self._names[scorer] >= _MOST_NAMES:
                return 1.0
            self._names[scorer] += 1
            shares = self._shares[scorer, name] = array("d")
        same = [_same(one) for one in found]
        share = 1.0 if same.count(same[0]) == len(same) else score_agreement(same)
        shares.append(share)
        return share

    def worst(self) -> list[Flaky]:
        """The most flaky first; of equals, the first."""
        return [entry[2] for entry in sorted(self._heap, key=lambda one: (-one[0], -one[1]))]

    def found(self, *, seed: int) -> Iterator[Agreement]:
        """Of each score, the mean agreement of its samples."""
        import numpy as np

        from evalwright.stats.mean import mean_interval

        for (scorer, score), shares in self._shares.items():
            values = np.frombuffer(shares, dtype=np.float64)
            yield Agreement(
                scorer=scorer,
                score=score,
                mean=math.fsum(values) / values.size,
                interval=mean_interval(values, seed=seed),
                n=int(values.size),
                flaky=int(np.count_nonzero(values < 1)),
            )


def averaged(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The values of a sample, averaged over the runs: those that are numbers in all of them."""
    made = together(runs, ())
    return {name: one for name, one in made.values.items() if name not in made.again}


def _same(value: Any) -> Hashable:
    """Equal for what is the same: true is 1, NaN is null, a list is what is in it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, int):
        return value
    return ("json", dumps(value, sort_keys=True, ensure_ascii=False, default=str))


def _counted(found: Sequence[Any]) -> tuple[tuple[str, int], ...]:
    first: dict[Hashable, Any] = {}
    for one in found:
        first.setdefault(_same(one), one)
    counts = Counter(map(_same, found)).most_common(_MOST_VALUES)
    return tuple((_shown(first[same]), count) for same, count in counts)


def _shown(value: Any) -> str:
    """Whole: what is cut before secrets are taken out may keep half of one."""
    return value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)
