"""What failed, by kind: how often, in which samples, and the message of the first."""

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from evalwright.report.report import FailureRow
from evalwright.types import Failure, Outcome, Row

_SHOWN_IDS = 5
_MOST_COMPARED = 1_000
"""Failures whose messages are compared: of a million, the first say enough."""

FailureKinds = dict[tuple[str, str, str], "FailureKind"]
"""By model, stage and type."""


class FailureKind(Struct):
    """Failures of one model, stage and type."""

    count: int = 0
    sample_ids: list[str] = field(default_factory=list)


def count_failure(kinds: FailureKinds, row: Row, failure_type: str) -> None:
    """Count a row that failed."""
    key = (row.model, row.failure_stage or "", failure_type)
    kind = kinds.setdefault(key, FailureKind())
    kind.count += 1
    if len(kind.sample_ids) < _SHOWN_IDS:
        kind.sample_ids.append(row.sample_id)


def failure_rows(
    kinds: Mapping[tuple[str, str, str], FailureKind], failed: Iterator[Outcome]
) -> list[FailureRow]:
    """Return a row per kind, with the message of its first failure."""
    first: dict[tuple[str, str, str], Failure] = {}
    messages: dict[tuple[str, str, str], set[str]] = {}
    for number, outcome in enumerate(failed):
        if failure := outcome.failure:
            key = (outcome.model, failure.stage, failure.type)
            first.setdefault(key, failure)
            if number < _MOST_COMPARED:
                messages.setdefault(key, set()).add(failure.message)
        if number >= _MOST_COMPARED and len(first) == len(kinds):
            break
    return [
        FailureRow(
            model=key[0],
            stage=key[1],
            type=key[2],
            message=first[key].message,
            hint=first[key].hint,
            count=kind.count,
            sample_ids=kind.sample_ids,
            messages=len(messages.get(key, ())) or 1,
        )
        for key, kind in sorted(kinds.items())
        if key in first
    ]
