"""What the judge has found: the claims, the labels and the verdicts that scores are made of.

It is kept in the metadata of a score, so that other scores of the same answer need no call.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.scorers.rag.claims import Claim, Label
from evalwright.scorers.rag.formulas import NEEDS, Check, Checks, ScoreName

Verdict = Literal["entailed", "neutral", "contradicted"]
Side = Literal["target", "response"]
SIDES: tuple[Side, ...] = ("target", "response")
OF: Mapping[Check, Side] = {
    "in_target": "response",
    "in_response": "target",
    "target_in_chunks": "target",
    "response_in_chunks": "response",
}
"""Whose claims are checked."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What has to be found out."""

    checks: frozenset[Check]
    labels: bool = False
    """Whether it matters which claims are required."""

    @classmethod
    def by(cls, scores: Iterable[ScoreName], *, labels: bool = False) -> "Wanted":
        """All that these scores are made of, and no more."""
        return cls(checks=frozenset[Check]().union(*(NEEDS[one] for one in scores)), labels=labels)

    @property
    def sides(self) -> tuple[Side, ...]:
        """Whose claims are needed."""
        used = {OF[check] for check in self.checks}
        return tuple(side for side in SIDES if side in used)


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found; None where nobody asked for it."""

    target_claims: tuple[Claim, ...] | None = None
    response_claims: tuple[Claim, ...] | None = None
    target_labels: tuple[Label, ...] | None = None
    response_labels: tuple[Label, ...] | None = None
    in_target: tuple[Verdict, ...] | None = None
    """A claim of the response each, against the target."""
    in_response: tuple[Verdict, ...] | None = None
    """A claim of the target each, against the response."""
    target_in_chunks: tuple[tuple[Verdict, ...], ...] | None = None
    """A row a claim of the target, in it a verdict a chunk."""
    response_in_chunks: tuple[tuple[Verdict, ...], ...] | None = None
    """The same for claims of the response."""

    @classmethod
    def kept_in(cls, metadata: Mapping[str, Any]) -> "Evidence":
        """What `kept` has made; of anything else, nothing."""
        try:
            found = msgspec.convert(metadata, cls)
        except msgspec.ValidationError:
            return NOTHING
        return found if found.fits() else NOTHING

    def kept(self) -> dict[str, Any]:
        """As JSON."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, Any])

    def claims(self, side: Side) -> tuple[Claim, ...] | None:
        """Of the target or of the response."""
        return self.target_claims if side == "target" else self.response_claims

    def labels(self, side: Side) -> tuple[Label, ...] | None:
        """Of the same."""
        return self.target_labels if side == "target" else self.response_labels

    def verdicts(self, check: Check) -> Sequence[Any] | None:
        """Of one check: a verdict a claim, or a row of them."""
        found: Sequence[Any] | None = getattr(self, check)
        return found

    def fits(self) -> bool:
        """Whether there is a verdict and a label for each claim, and for no others."""
        found = [(OF[check], self.verdicts(check)) for check in OF]
        found += [(side, self.labels(side)) for side in SIDES]
        claims = {side: self.claims(side) for side in SIDES}
        return all(
            each is None or ((of := claims[side]) is not None and len(each) == len(of))
            for side, each in found
        )

    def has(self, wanted: Wanted) -> bool:
        """Whether all that is wanted is there."""
        return all(self.verdicts(check) is not None for check in wanted.checks) and (
            not wanted.labels or all(self.labels(side) is not None for side in wanted.sides)
        )

    def checks(self) -> Checks:
        """True where a claim is entailed; neutral and contradicted are both false."""
        return Checks(
            in_target=_flags(self.in_target or ()),
            in_response=_flags(self.in_response or ()),
            target_in_chunks=[_flags(row) for row in self.target_in_chunks or ()],
            response_in_chunks=[_flags(row) for row in self.response_in_chunks or ()],
        )

    def required(self) -> Checks:
        """The same for required claims alone."""
        return self.checks().only(*(_required(self.labels(side)) for side in SIDES))


NOTHING = Evidence()


def _flags(verdicts: Iterable[Verdict]) -> list[bool]:
    return [one == "entailed" for one in verdicts]


def _required(labels: Sequence[Label] | None) -> list[bool] | None:
    return None if labels is None else [one == "REQUIRED" for one in labels]
