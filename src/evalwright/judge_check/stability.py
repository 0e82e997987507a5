"""Count how many verdicts change when the judge is asked again.

    verdicts are    changed means
    labels          another label
    scores          more than a tenth of the range away

A verdict that is missing the second time is counted apart: it is no flip.
"""

from collections import Counter
from itertools import combinations

from msgspec import Struct, field

from evalwright.judge_check.agreement import (
    MAX_EXAMPLES,
    Verdict,
    estimate_mean,
    estimate_mean_difference,
    estimate_share,
    is_near,
)
from evalwright.report.judges import ProbeRow, RepeatsRow

_DIRECTIONS = {"true": "to correct", "false": "to incorrect"}
_MAX_DIRECTIONS = 12


def is_same_verdict(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts on a sample are the same."""
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return is_near(second - first)


class ProbeTally(Struct):
    """Verdicts before and after one probe."""

    probe: str
    n: int = 0
    directions: Counter[str] = field(default_factory=Counter)
    flipped: list[tuple[int, str]] = field(default_factory=list)
    """Ordinal and id of each sample whose verdict changed."""
    changes: list[float] = field(default_factory=list)
    failed: int = 0
    failure: str = ""
    not_applicable: int = 0
    reason: str = ""
    """Why it does not apply."""

    def add(self, sample: tuple[int, str], before: Verdict, after: Verdict) -> None:
        """Add both verdicts on a sample, given by its ordinal and id."""
        self.n += 1
        if not isinstance(before, str) and not isinstance(after, str):
            self.changes.append(after - before)
        if not is_same_verdict(before, after):
            self.flipped.append(sample)
            self.directions[_name_direction(before, after)] += 1

    def add_failure(self, failure: str) -> None:
        """Count a sample on which the judge gave no second verdict."""
        self.failed += 1
        self.failure = self.failure or failure

    def add_not_applicable(self, reason: str) -> None:
        """Count a sample to which the probe does not apply."""
        self.not_applicable += 1
        self.reason = self.reason or reason

    def to_row(self, *, seed: int = 0) -> ProbeRow:
        """Summarize, whatever the order in which verdicts landed."""
        reason = self.reason or self.failure
        directions = sorted(self.directions.items(), key=lambda item: (-item[1], item[0]))
        return ProbeRow(
            probe=self.probe,
            n=self.n,
            flips=estimate_share(
                len(self.flipped), self.n, undefined=reason or "nothing was judged again"
            ),
            directions=dict(directions[:_MAX_DIRECTIONS]),
            examples=[sample_id for _, sample_id in sorted(self.flipped)[:MAX_EXAMPLES]],
            change=estimate_mean_difference(self.changes, seed=seed) if self.changes else None,
            failed=self.failed,
            not_applicable=self.not_applicable,
            reason=reason,
            failure=self.failure,
        )


def _name_direction(before: Verdict, after: Verdict) -> str:
    if isinstance(before, str) or isinstance(after, str):
        return _DIRECTIONS.get(str(after), f"{before} → {after}")
    return "higher" if after > before else "lower"


class RepeatTally(Struct):
    """Several verdicts on the same samples, with nothing changed."""

    times: int
    n: int = 0
    equal: int = 0
    pairwise: list[float] = field(default_factory=list)
    spreads: list[float] = field(default_factory=list)
    failed: int = 0
    failure: str = ""

    def add(self, verdicts: list[Verdict], failure: str = "") -> None:
        """Add all verdicts on a sample; with fewer than `times` it only counts as failed."""
        if len(verdicts) < self.times:
            self.failed += 1
            self.failure = self.failure or failure
            return
        same = [is_same_verdict(first, second) for first, second in combinations(verdicts, 2)]
        self.n += 1
        self.equal += all(same)
        self.pairwise.append(sum(same) / len(same))
        scores = [verdict for verdict in verdicts if not isinstance(verdict, str)]
        if scores:
            self.spreads.append(max(scores) - min(scores))

    def to_row(self, *, seed: int = 0) -> RepeatsRow:
        """Summarize."""
        return RepeatsRow(
            times=self.times,
            n=self.n,
            all_equal=estimate_share(self.equal, self.n, undefined=self.failure),
            pairwise=estimate_mean(self.pairwise, seed=seed),
            spread=estimate_mean(self.spreads, seed=seed) if self.spreads else None,
            failed=self.failed,
            reason=self.failure,
        )
