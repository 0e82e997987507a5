"""`bradley_terry`: ranks contestants by their wins against each other.

    scorers:
      - type: pairwise_judge
        model_key: openai/gpt-4.1-mini
        value: "{{ sample.answer_a }}"
        opponent: "{{ sample.answer_b }}"
        metrics:
          - type: bradley_terry
            field: score
            contestant: "{{ sample.model_a }}"
            opponent: "{{ sample.model_b }}"

The score of a sample is 1 if the contestant won, 0 if the opponent won, and 0.5 for a tie, which
counts as half a win for both. A contestant with strength s wins against one with strength t with
probability s / (s + t); the geometric mean of all strengths is 1.
"""

from typing import Literal

from msgspec import Struct

from evalwright.metrics.base import NOTHING, Name, ScoreMetric, describe_missing, join_reasons
from evalwright.metrics.scores import Measure, Scores
from evalwright.stats.arrays import Booleans, Floats, Integers, np
from evalwright.stats.bradley_terry import FitIntervals, count_wins, find_reach, fit, resample
from evalwright.templates import Native

_MOST_CONTESTANTS = 1_000
_MOST_RESAMPLED = 100
_MOST_NAMED = 5


class BradleyTerry(ScoreMetric):
    """The strength and the rank of each contestant. Equal strengths share a rank.

    A contestant that never lost has a rank, but no finite strength. If no chain of comparisons
    decides which of two contestants is better, they have no rank.
    """

    type: Literal["bradley_terry"]
    field: Name
    """Score from 0 to 1: the share of the win that goes to the contestant. Null is excluded."""
    contestant: Native = Native("{{ model }}")
    """Name of the contestant. May refer to `sample` and `model`. Default: the evaluated model."""
    opponent: Native
    """Name of the contestant that it is compared with. May refer to `sample` and `model`."""

    @property
    def expressions(self) -> tuple[Native, ...]:
        """The templates of the groups and of both names."""
        return (*super().expressions, self.contestant, self.opponent)

    def compute(self, scores: Scores, *, seed: int) -> list[Measure]:
        """Compute `{name}_rank` and `{name}_strength`, the strongest contestant first."""
        comparisons = self._read(scores)
        names, n = comparisons.names, int(comparisons.scores.size)
        if not n:
            reason = comparisons.excluded or NOTHING
            if len(names) == 1:
                reason = f"undefined: there is only one contestant, `{names[0]}`"
            return [Measure(self.type, None, None, 0, reason)]
        if len(names) > _MOST_CONTESTANTS:
            raise ValueError(
                f"expected at most {_MOST_CONTESTANTS:,} contestants, got {len(names):,}, such as "
                f"`{names[0]}`: check `contestant` and `opponent`"
            )
        table = comparisons.count_wins()
        whole = fit(table[None])
        ranking = _Ranking(
            names=names,
            ranks=whole.ranks[0],
            strengths=whole.strengths[0],
            reach=find_reach(table[None])[0],
            is_connected=find_reach(table[None] + table.T[None])[0][0],
        )
        intervals = comparisons.find_intervals(seed=seed)
        measures = []
        for place in ranking.order:
            for kind, value, interval in (
                ("rank", ranking.ranks[place], intervals.ranks[place]),
                ("strength", ranking.strengths[place], intervals.strengths[place]),
            ):
                name, known = f"{names[place]}_{kind}", float(value)
                if not np.isfinite(known):
                    reason = join_reasons(ranking.explain_undefined(place), comparisons.excluded)
                    measures.append(Measure(name, None, None, n, reason))
                    continue
                shown = None if ranking.is_alone(place) else interval
                why = "" if shown else ranking.explain_no_interval(place)
                reason = join_reasons(why, comparisons.excluded)
                measures.append(Measure(name, known, shown, n, reason))
        return measures

    def _read(self, scores: Scores) -> "_Comparisons":
        values, known = scores.column(self.field).numbers()
        wrong = values[known & ~((values >= 0) & (values <= 1))]
        if wrong.size:
            raise ValueError(f"expected scores from 0 to 1 in `{self.field}`, got `{wrong[0]:g}`")
        sides = [scores.labels(each.source) for each in (self.contestant, self.opponent)]
        complete = known & (sides[0].codes >= 0) & (sides[1].codes >= 0)
        texts = [np.asarray([*side.texts, ""], dtype=object)[side.codes] for side in sides]
        names = sorted({*texts[0][complete].tolist(), *texts[1][complete].tolist()})
        places = {name: place for place, name in enumerate(names)}
        first, second = (
            np.asarray([places[name] for name in side[complete].tolist()], dtype=np.int64)
            for side in texts
        )
        differ = first != second
        itself = int(first.size - differ.sum())
        return _Comparisons(
            names=names,
            first=first[differ],
            second=second[differ],
            scores=values[complete][differ],
            excluded=join_reasons(
                describe_missing(int(known.size - complete.sum()), known.size),
                f"{itself} comparisons of a contestant with itself are excluded" if itself else "",
            ),
        )


class _Comparisons(Struct, frozen=True, kw_only=True):
    """Comparisons of different contestants, as places in `names`."""

    names: list[str]
    first: Integers
    second: Integers
    scores: Floats
    excluded: str
    """What is not compared, and why."""

    def count_wins(self) -> Floats:
        return count_wins(self.first, self.second, self.scores, len(self.names))

    def find_intervals(self, *, seed: int) -> FitIntervals:
        names = len(self.names)
        if names > _MOST_RESAMPLED:
            return FitIntervals([None] * names, [None] * names)
        return resample(self.first, self.second, self.scores, names, seed=seed)


class _Ranking(Struct, frozen=True, kw_only=True):
    names: list[str]
    ranks: Floats
    strengths: Floats
    reach: Booleans
    """Which contestant is connected to which by a chain of wins."""
    is_connected: Booleans
    """Which contestants any comparisons connect with the first one."""

    @property
    def order(self) -> list[int]:
        """The contestants by rank; those without a rank last."""
        ranks = np.nan_to_num(self.ranks, nan=np.inf)
        return sorted(range(len(self.names)), key=lambda place: (ranks[place], self.names[place]))

    def is_alone(self, place: int) -> bool:
        """Whether resampling cannot move it: no chain of wins leads there and back."""
        return int((self.reach[place] & self.reach[:, place]).sum()) == 1

    def explain_undefined(self, place: int) -> str:
        """Return why it has no rank or no strength."""
        if not self.is_connected.all():
            return (
                f"undefined: no comparison connects {self._list(self.is_connected)} with "
                f"{self._list(~self.is_connected)}"
            )
        is_open = ~(self.reach[place] | self.reach[:, place])
        if is_open.any():
            return (
                f"undefined: the comparisons do not decide between `{self.names[place]}` and "
                f"{self._list(is_open)}"
            )
        top = next(
            column
            for row, column in zip(self.reach, self.reach.T, strict=True)
            if not (column & ~row).any()
        )
        return f"undefined: {self._list(top)} never lost to {self._list(~top)}"

    def explain_no_interval(self, place: int) -> str:
        """Return why it has a value without an interval."""
        if len(self.names) > _MOST_RESAMPLED:
            return f"no interval: more than {_MOST_RESAMPLED} contestants"
        if self.is_alone(place):
            return (
                f"no interval: against each other contestant, `{self.names[place]}` has only wins "
                "or only losses"
            )
        return "no interval: resamples are all equal, or mostly leave contestants unconnected"

    def _list(self, chosen: Booleans) -> str:
        listed = [f"`{self.names[place]}`" for place in np.flatnonzero(chosen)]
        more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
        return f"{', '.join(listed[:_MOST_NAMED])}{more}"
