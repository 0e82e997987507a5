"""Evidence of a `rag_checker`: claims, labels, entailments, and the texts they come from.

    {"subject": "The Rhine", "predicate": "flows into", "object": "the North Sea"}

A claim is one fact that a text states. A dataset may bring its own claims in a column, as a list of
such objects, each alone or under the key `claim`, or the JSON of one, and labels, `REQUIRED` or
`OPTIONAL`, one per claim in the same order. Everything is read before the judge is queried, so that
an incomplete sample costs nothing.
Evidence is stored in the metadata of a score, so that other scores of the same answer need no call.
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
"""Whose claims are checked."""
_UNSUPPORTED: Mapping[Check, str] = {
    "in_target": "not in the target",
    "in_response": "not in the response",
    "response_in_chunks": "of the response, in no chunk",
    "target_in_chunks": "of the target, in no chunk",
}
_MOST_LISTED = 3


class Claim(Struct, frozen=True):
    """One fact."""

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        """A sentence on one line."""
        return " ".join(f"{self.subject} {self.predicate} {self.object}".split())


class EvidenceNeeds(Struct, frozen=True, kw_only=True):
    """What scores are computed from."""

    checks: frozenset[Check]
    labels: bool
    """Whether it matters which claims are required."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Whose claims are needed."""
        used = {CHECKED_SIDE[check] for check in self.checks}
        return tuple(side for side in SIDES if side in used)


class RagEvidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Claims, labels and entailments; None if they are not needed."""

    target_claims: tuple[Claim, ...] | None = None
    response_claims: tuple[Claim, ...] | None = None
    target_labels: tuple[Label, ...] | None = None
    response_labels: tuple[Label, ...] | None = None
    in_target: tuple[Entailment, ...] | None = None
    """Per claim of the response, against the target."""
    in_response: tuple[Entailment, ...] | None = None
    """Per claim of the target, against the response."""
    target_in_chunks: tuple[tuple[Entailment, ...], ...] | None = None
    """A row per claim of the target, with an entailment per chunk."""
    response_in_chunks: tuple[tuple[Entailment, ...], ...] | None = None
    """The same for claims of the response."""

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> "RagEvidence":
        """Read what `to_metadata` wrote; ignore anything else."""
        try:
            evidence = msgspec.convert(metadata, cls)
        except msgspec.ValidationError:
            return cls()
        return evidence if evidence.is_consistent() else cls()

    def to_metadata(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, Any])

    def claims(self, side: Side) -> tuple[Claim, ...] | None:
        """Return the claims of one side."""
        return self.target_claims if side == "target" else self.response_claims

    def labels(self, side: Side) -> tuple[Label, ...] | None:
        """Return the labels of one side."""
        return self.target_labels if side == "target" else self.response_labels

    def verdicts(self, check: Check) -> Sequence[Any] | None:
        """Return the results of one check: an entailment per claim, or a row of them."""
        verdicts: Sequence[Any] | None = getattr(self, check)
        return verdicts

    def is_consistent(self) -> bool:
        """Whether there is exactly one entailment and one label per claim."""
        lists = [(side, self.verdicts(check)) for check, side in CHECKED_SIDE.items()]
        lists += [(side, self.labels(side)) for side in SIDES]
        return all(
            entries is None
            or ((claims := self.claims(side)) is not None and len(entries) == len(claims))
            for side, entries in lists
        )

    def covers(self, needs: EvidenceNeeds) -> bool:
        """Whether everything needed is present."""
        return all(self.verdicts(check) is not None for check in needs.checks) and (
            not needs.labels or all(self.labels(side) is not None for side in needs.sides)
        )

    def checks(self, *, required_only: bool = False) -> Checks:
        """Return true for entailed claims; neutral and contradicted are both false.

        With `required_only`, claims that are labelled optional are left out.
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
    """Name the claims that count against the scores, on one line; empty if there are none."""
    checks = evidence.checks()
    reasons = [f"the {side} has no claims" for side in needs.sides if not evidence.claims(side)]
    for check, what in _UNSUPPORTED.items():
        if check in needs.checks:
            flags = getattr(checks, check)
            supported = map(any, flags) if check.endswith("_in_chunks") else flags
            claims = zip(evidence.claims(CHECKED_SIDE[check]) or (), supported, strict=True)
            reasons.append(_list_claims(what, [str(claim) for claim, there in claims if not there]))
    return "; ".join(filter(None, reasons))


def _list_claims(what: str, claims: list[str]) -> str:
    if not claims:
        return ""
    more = f" and {len(claims) - _MOST_LISTED} more" if len(claims) > _MOST_LISTED else ""
    return f"{what}: {', '.join(map(short, claims[:_MOST_LISTED]))}{more}"


def parse_claims(value: Any, where: str) -> tuple[Claim, ...]:
    """Return the claims in a list; ValueError says which is invalid, and where."""
    if not isinstance(value, list):
        raise ValueError(  # noqa: TRY004 - what a row or a judge gave is a value
            f"{where} must be a list of claims, each with {_quote(PARTS)}, got {short(value)}"
        )
    items = enumerate(value, start=1)
    return tuple(_parse_claim(item, f"claim {n} of {where}") for n, item in items)


def parse_labels(value: Any, count: int, where: str) -> tuple[Label, ...]:
    """Return the labels in a list, one per claim, in any case; ValueError says what is wrong."""
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
        raise ValueError(f"{where} must have the strings {_quote(PARTS)}, got {short(value)}")
    return Claim(*(text.encode("utf-8", "replace").decode() for text in texts))  # half a pair: `?`


def _quote(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names)
