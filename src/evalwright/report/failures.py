"""What broke, kind by kind: how often, for example where, and in the words of the first of them."""

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from evalwright.report.report import FailureRow
from evalwright.types import Failure, Outcome, Row

_SHOWN_IDS = 5
_MOST_LOOKED_AT = 1_000
"""Failures whose messages are compared: of a million, the first say enough."""

Kinds = dict[tuple[str, str, str], "FailureKind"]
"""By model, stage and type."""


class FailureKind(Struct):
    """Failures of one model, stage and type."""

    count: int = 0
    sample_ids: list[str] = field(default_factory=list)


def count(kinds: Kinds, row: Row) -> None:
    """One more, if the row failed."""
    if row.failure_type is None:
        return
    key = (row.model, row.failure_stage or "", row.failure_type)
    kind = kinds.setdefault(key, FailureKind())
    kind.count += 1
    if len(kind.sample_ids) < _SHOWN_IDS:
        kind.sample_ids.append(row.sample_id)


def failure_rows(
    kinds: Mapping[tuple[str, str, str], FailureKind], failed: Iterator[Outcome]
) -> list[FailureRow]:
    """Each kind, with the words of the first of them."""
    said: dict[tuple[str, str, str], Failure] = {}
    words: dict[tuple[str, str, str], set[str]] = {}
    for number, outcome in enumerate(failed):
        if found := outcome.failure:
            key = (outcome.model, found.stage, found.type)
            said.setdefault(key, found)
            if number < _MOST_LOOKED_AT:
                words.setdefault(key, set()).add(found.message)
        if number >= _MOST_LOOKED_AT and len(said) == len(kinds):
            break
    return [
        FailureRow(
            model=key[0],
            stage=key[1],
            type=key[2],
            message=first.message,
            hint=first.hint,
            count=kind.count,
            sample_ids=kind.sample_ids,
            messages=len(words.get(key, ())) or 1,
        )
        for key, kind in sorted(kinds.items())
        if (first := said.get(key))
    ]
