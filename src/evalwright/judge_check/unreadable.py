"""Count a judge's replies without a verdict, by the rule that rejected them."""

from collections.abc import Iterable

from msgspec import Struct, field

from evalwright.report.judges import Judge, UnreadableReplies
from evalwright.types import Failure, Outcome

NO_VERDICT = "NoVerdict"
"""Failure type of replies without a verdict."""


class UnreadableTally(Struct):
    """Number of a judge's replies, and of its replies without a verdict."""

    replies: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, rule: str, sample_id: str) -> None:
        """Count a reply without a verdict."""
        self.counts[rule] = self.counts.get(rule, 0) + 1
        self.examples.setdefault(rule, sample_id)

    def to_rows(self) -> list[UnreadableReplies]:
        """Return one row per rule, the most frequent first."""
        rules = sorted(self.counts, key=lambda rule: (-self.counts[rule], rule))
        return [
            UnreadableReplies(rule=rule, count=self.counts[rule], example=self.examples[rule])
            for rule in rules
        ]


def count_unreadable(judge: Judge, outcomes: Iterable[Outcome]) -> UnreadableTally:
    """Count the replies of the judge among these outcomes.

    An outcome keeps only its first failure. If this is a different scorer's failure, the judge's
    reply is unknown and not counted.
    """
    tally = UnreadableTally()
    for outcome in outcomes:
        if judge.scorer in outcome.scores:
            tally.replies += 1
        elif outcome.failure is not None and _is_failure_of(judge, outcome.failure):
            tally.replies += 1
            tally.add(outcome.failure.rule, outcome.sample_id)
    return tally


def _is_failure_of(judge: Judge, failure: Failure) -> bool:
    if failure.stage != "score" or failure.type != NO_VERDICT:
        return False
    # If there are several scorers, the message starts with the name of the one that failed.
    return failure.message.startswith((f"`{judge.scorer}`: ", "the judge gave no verdict"))
