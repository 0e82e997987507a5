"""Evidence of a `rag_checker`: claims, labels and entailments.

    {"subject": "The Rhine", "predicate": "flows into", "object": "the North Sea"}

A claim is one fact that a text states. A dataset may provide claims in a column, as a list of such
objects or as JSON. Each object may also be under the key `claim`. A second column may provide
labels, `REQUIRED` or `OPTIONAL`, one per claim in the same order. All columns are read before the
judge is queried, so that an incomplete sample costs nothing. Evidence is stored in the metadata of
a score, so that further scores of the same answer need no call.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from evalwright.scorers.base import short
from evalwright.scorers.rag.formulas import Check, Checks

Label = Literal["REQUIRED", "OPTIONAL"]
LABELS: tuple[Label, ...] = ("REQUIRED", "OPTIONAL")
PARTS = ("subject", "predicate", "object")
Entailment = Literal["entailed", "neutral", "contradicted"]
Side = Literal["target", "response"]
SIDES: tuple[Side, ...] = ("target", "response")
CHECKED_SIDE: Mapping[Check, Side] = {
    "in_target": "response",
    "in_response": "target",
    "target_in_chunks": "target",
    "response_in_chunks": "response",
}
"""The side whose claims are checked, for each check."""
_UNSUPPORTED: Mapping[Check, str] = {
    "in_target": "claims not in the target",
    "in_response": "claims not in the response",
    "response_in_chunks": "response claims in no chunk",
    "target_in_chunks": "target claims in no chunk",
}
_MOST_LISTED = 3


class Claim(Struct, frozen=True):
    """One fact."""

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        """Return the claim as a sentence on one line."""
        return " ".join(f"{self.subject} {self.predicate} {self.object}".split())


class EvidenceNeeds(Struct, frozen=True, kw_only=True):
    """The evidence that the scores need."""

    checks: frozenset[Check]
    labels: bool
    """Whether the scores distinguish required from optional claims."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides whose claims are needed."""
        used = {CHECKED_SIDE[check] for check in self.checks}
        return tuple(side for side in SIDES if side in used)


class RagEvidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Claims, labels and entailments; None if they are not needed."""

    target_claims: tuple[Claim, ...] | None = None
    response_claims: tuple[Claim, ...] | None = None
    target_labels: tuple[Label, ...] | None = None
    response_labels: tuple[Label, ...] | None = None
    in_target: tuple[Entailment, ...] | None = None
    """One entailment per claim of the response, checked against the target."""
    in_response: tuple[Entailment, ...] | None = None
    """One entailment per claim of the target, checked against the response."""
    target_in_chunks: tuple[tuple[Entailment, ...], ...] | None = None
    """One row per claim of the target, with one entailment per chunk."""
    response_in_chunks: tuple[tuple[Entailment, ...], ...] | None = None
    """One row per claim of the response, with one entailment per chunk."""

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> "RagEvidence":
        """Read the output of `to_metadata`; ignore other keys."""
        try:
            evidence = msgspec.convert(metadata, cls)
        except msgspec.ValidationError:
            return cls()
        return evidence if evidence.is_consistent() else cls()

    def to_metadata(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, Any])

    def claims(self, side: Side) -> tuple[Claim, ...] | None:
        """Return the claims of one side."""
        return self.target_claims if side == "target" else self.response_claims

    def labels(self, side: Side) -> tuple[Label, ...] | None:
        """Return the labels of one side."""
        return self.target_labels if side == "target" else self.response_labels

    def verdicts(self, check: Check) -> Sequence[Any] | None:
        """Return the results of one check: an entailment, or a row of entailments, per claim."""
        verdicts: Sequence[Any] | None = getattr(self, check)
        return verdicts

    def is_consistent(self) -> bool:
        """Whether every claim has exactly one entailment and one label."""
        lists = [(side, self.verdicts(check)) for check, side in CHECKED_SIDE.items()]
        lists += [(side, self.labels(side)) for side in SIDES]
        return all(
            entries is None
            or ((claims := self.claims(side)) is not None and len(entries) == len(claims))
            for side, entries in lists
        )

    def covers(self, needs: EvidenceNeeds) -> bool:
        """Whether all needed evidence is present."""
        return all(self.verdicts(check) is not None for check in needs.checks) and (
            not needs.labels or all(self.labels(side) is not None for side in needs.sides)
        )

    def checks(self, *, required_only: bool = False) -> Checks:
        """Return true for each entailed claim, and false for neutral and contradicted claims.

        With `required_only`, claims labeled optional are excluded.
        """
        flags: dict[str, list[Any]] = {}
        for check, side in CHECKED_SIDE.items():
            verdicts = self.verdicts(check) or ()
            labels = self.labels(side) if required_only else None
            if labels is not None and verdicts:
                pairs = zip(verdicts, labels, strict=True)
                verdicts = [verdict for verdict, label in pairs if label == "REQUIRED"]
            flags[check] = [_to_flags(verdict) for verdict in verdicts]
        return Checks(**flags)


def _to_flags(verdict: Any) -> bool | list[bool]:
    if isinstance(verdict, str):
        return verdict == "entailed"
    return [entailment == "entailed" for entailment in verdict]


def explain_score(evidence: RagEvidence, needs: EvidenceNeeds) -> str:
    """List the claims that lower the scores, on one line; empty if there are none."""
    checks = evidence.checks()
    reasons = [f"the {side} has no claims" for side in needs.sides if not evidence.claims(side)]
    for check, heading in _UNSUPPORTED.items():
        if check in needs.checks:
            flags = getattr(checks, check)
            supported = map(any, flags) if check.endswith("_in_chunks") else flags
            claims = zip(evidence.claims(CHECKED_SIDE[check]) or (), supported, strict=True)
            unsupported = [str(claim) for claim, is_supported in claims if not is_supported]
            reasons.append(_format_claims(heading, unsupported))
    return "; ".join(filter(None, reasons))


def _format_claims(heading: str, claims: list[str]) -> str:
    if not claims:
        return ""
    more = f" and {len(claims) - _MOST_LISTED} more" if len(claims) > _MOST_LISTED else ""
    return f"{heading}: {', '.join(map(short, claims[:_MOST_LISTED]))}{more}"


def parse_claims(value: Any, where: str) -> tuple[Claim, ...]:
    """Parse a list of claims; ValueError names the invalid claim and its place."""
    if not isinstance(value, list):
        raise ValueError(  # noqa: TRY004 - invalid data from a row or a judge
            f"{where} must be a list of claims, each with {_quote(PARTS)}, got {short(value)}"
        )
    items = enumerate(value, start=1)
    return tuple(_parse_claim(item, f"claim {n} of {where}") for n, item in items)


def parse_labels(value: Any, count: int, where: str) -> tuple[Label, ...]:
    """Parse a list of labels, one per claim, in upper or lower case; ValueError if invalid."""
    if not isinstance(value, list) or len(value) != count:
        got = f"{len(value)} of them" if isinstance(value, list) else short(value)
        raise ValueError(f"{where} must be a list of {count} labels, one per claim, got {got}")
    labels: tuple[Any, ...] = tuple(
        item.strip().upper() if isinstance(item, str) else item for item in value
    )
    for number, (label, item) in enumerate(zip(labels, value, strict=True), start=1):
        if label not in LABELS:
            expected = _quote(LABELS, " or ")
            raise ValueError(f"label {number} of {where} must be {expected}, got {short(item)}")
    return labels


def _parse_claim(value: Any, where: str) -> Claim:
    if isinstance(value, dict) and isinstance(value.get("claim"), dict):
        value = value["claim"]
    parts = [value.get(part) for part in PARTS] if isinstance(value, dict) else [value]
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) != len(PARTS) or not any(map(str.strip, texts)):
        raise ValueError(f"{where} must contain the strings {_quote(PARTS)}, got {short(value)}")
    # Lone surrogates become `?`.
    return Claim(*(text.encode("utf-8", "replace").decode() for text in texts))


def _quote(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names)
