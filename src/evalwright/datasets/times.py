"""Times as documents and logs write them."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator


def _to_utc(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)


Instant = Annotated[datetime, AfterValidator(_to_utc)]
"""A time; without a zone it is UTC."""


def parse_time(value: Any) -> datetime | None:
    """Return the time of an ISO 8601 text; None if it is none."""
    try:
        return _to_utc(datetime.fromisoformat(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def to_seconds(start: Any, end: Any) -> float | None:
    """Return the time between two ISO 8601 texts; None if one is missing."""
    first, last = parse_time(start), parse_time(end)
    return (last - first).total_seconds() if first and last else None


def is_between(value: Any, start: datetime | None, end: datetime | None) -> bool:
    """Tell whether a text is a time from `start` on and before `end`; no bounds hold every time."""
    if start is None and end is None:
        return True
    instant = parse_time(value)
    return (
        instant is not None
        and (start is None or instant >= start)
        and (end is None or instant < end)
    )
