"""Why a score is not what it could be: the claims that count against it, in words."""

from collections.abc import Iterable, Sequence

from evalwright.scorers.base import short
from evalwright.scorers.rag.claims import Claim
from evalwright.scorers.rag.evidence import Evidence, Wanted

_MOST = 3


def reason_of(evidence: Evidence, wanted: Wanted) -> str:
    """What was not found where it should be, one line; empty where all was found."""
    checks = evidence.checks()
    target, response = evidence.target_claims or (), evidence.response_claims or ()
    said = [f"the {side} has no claims" for side in wanted.sides if not evidence.claims(side)]
    if "in_target" in wanted.checks:
        said.append(_listed("not in the target", _false(response, checks.in_target)))
    if "in_response" in wanted.checks:
        said.append(_listed("not in the response", _false(target, checks.in_response)))
    if "response_in_chunks" in wanted.checks:
        found = map(any, checks.response_in_chunks)
        said.append(_listed("of the response, in no chunk", _false(response, found)))
    if "target_in_chunks" in wanted.checks:
        found = map(any, checks.target_in_chunks)
        said.append(_listed("of the target, in no chunk", _false(target, found)))
    return "; ".join(filter(None, said))


def _false(claims: Sequence[Claim], found: Iterable[bool]) -> list[str]:
    return [str(claim) for claim, there in zip(claims, found, strict=True) if not there]


def _listed(what: str, claims: list[str]) -> str:
    if not claims:
        return ""
    more = f" and {len(claims) - _MOST} more" if len(claims) > _MOST else ""
    return f"{what}: {', '.join(map(short, claims[:_MOST]))}{more}"
