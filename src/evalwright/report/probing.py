"""Verdicts that were asked for again, folded into what changed and what did not.

    verdicts are    a changed one is
    labels          another label
    scores          one that is more than a tenth of the range away

A verdict that was not given this time is counted apart: it is no flip.
"""

from collections import Counter
from itertools import combinations

from msgspec import Struct, field

from evalwright.report.agreement import (
    MOST_EXAMPLES,
    NEAR,
    mean_difference_of,
    mean_of,
    share_of,
)
from evalwright.report.judges import Figure, ProbeRow, RepeatsRow

Verdict = str | float
_TO = {"true": "to correct", "false": "to incorrect"}
_MOST_DIRECTIONS = 12


def is_same(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts on a sample say the same."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return abs(other - one) <= NEAR + 1e-9


class Flips(Struct):
    """One probe, sample by sample."""

    probe: str
    n: int = 0
    directions: Counter[str] = field(default_factory=Counter)
    flipped: list[tuple[int, str]] = field(default_factory=list)
    """Place and id of each sample whose verdict changed."""
    changes: list[float] = field(default_factory=list)
    failed: int = 0
    not_applicable: int = 0
    reason: str = ""
    """Why it does not apply."""
    failure: str = ""

    def add(self, sample: tuple[int, str], before: Verdict, after: Verdict) -> None:
        """A sample that was judged again: its place and its id, and both verdicts."""
        self.n += 1
        if not isinstance(before, str) and not isinstance(after, str):
            self.changes.append(after - before)
        if is_same(before, after):
            return
        self.flipped.append(sample)
        self.directions[_direction(before, after)] += 1

    def lacks(self, why: str, *, applies: bool) -> None:
        """A sample without a second verdict."""
        if applies:
            self.failed += 1
            self.failure = self.failure or why
        else:
            self.not_applicable += 1
            self.reason = self.reason or why

    def row(self, *, seed: int = 0) -> ProbeRow:
        """What it has shown."""
        reason = self.reason or self.failure
        return ProbeRow(
            probe=self.probe,
            n=self.n,
            flips=share_of(len(self.flipped), self.n, reason=reason or "nothing was judged again"),
            directions=dict(sorted(self.directions.items(), key=_often)[:_MOST_DIRECTIONS]),
            examples=[id_ for _, id_ in sorted(self.flipped)[:MOST_EXAMPLES]],
            change=mean_difference_of(self.changes, seed=seed) if self.changes else None,
            failed=self.failed,
            not_applicable=self.not_applicable,
            reason=reason,
            failure=self.failure,
        )


def _often(direction: tuple[str, int]) -> tuple[int, str]:
    """The most frequent first, whichever landed first."""
    return -direction[1], direction[0]


def _direction(before: Verdict, after: Verdict) -> str:
    if isinstance(before, str) or isinstance(after, str):
        return _TO.get(str(after), f"{before} → {after}")
    return "higher" if after > before else "lower"


class Repeats(Struct):
    """The same question several times, sample by sample."""

    times: int
    n: int = 0
    equal: int = 0
    pairwise: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    failed: int = 0
    reason: str = ""

    def add(self, verdicts: list[Verdict], why: str = "") -> None:
        """All verdicts on a sample; with fewer than there should be, it only counts as failed."""
        if len(verdicts) < self.times:
            self.failed += 1
            self.reason = self.reason or why
            return
        same = [is_same(one, other) for one, other in combinations(verdicts, 2)]
        self.n += 1
        self.equal += all(same)
        self.pairwise.append(sum(same) / len(same))
        numbers = [one for one in verdicts if not isinstance(one, str)]
        if numbers:
            self.spreads.append(max(numbers) - min(numbers))

    def row(self, *, seed: int = 0) -> RepeatsRow:
        """What they have shown."""
        spread: Figure | None = mean_of(self.spreads, seed=seed) if self.spreads else None
        return RepeatsRow(
            times=self.times,
            n=self.n,
            all_equal=share_of(self.equal, self.n, reason=self.reason),
            pairwise=mean_of(self.pairwise, seed=seed),
            spread=spread,
            failed=self.failed,
            reason=self.reason,
        )
