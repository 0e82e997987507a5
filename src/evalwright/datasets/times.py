"""Parse times in documents and logs."""

from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator


def parse_time(value: Any) -> datetime | None:
    """Parse an ISO 8601 time, in UTC if it has no time zone; None if it is not a time."""
    try:
        instant = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return instant.replace(tzinfo=UTC) if instant and not instant.tzinfo else instant


def _parse_instant(value: Any) -> datetime:
    instant = parse_time(value.isoformat() if isinstance(value, date) else value)
    if instant is None:
        raise ValueError(f"expected a time such as `2026-03-01T09:00:00Z`, got `{value}`")
    return instant


Instant = Annotated[datetime, BeforeValidator(_parse_instant)]
"""A time in a document; UTC if it has no time zone."""


def to_seconds(start: Any, end: Any) -> float | None:
    """Return the seconds between two ISO 8601 times; None if one is missing."""
    first, last = parse_time(start), parse_time(end)
    return (last - first).total_seconds() if first and last else None


def is_between(value: Any, start: datetime | None, end: datetime | None) -> bool:
    """Whether a time is at or after `start` and before `end`; true if both are None."""
    if start is None and end is None:
        return True
    instant = parse_time(value)
    return (
        instant is not None
        and (start is None or instant >= start)
        and (end is None or instant < end)
    )
