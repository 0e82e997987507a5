"""What an interval is."""

from msgspec import Struct


class Interval(Struct, frozen=True):
    """Where the true value plausibly lies."""

    low: float
    high: float
    method: str
    """How it was made: `wilson`, `bca`, `bootstrap-t`, `bootstrap`, `student` or `bound`."""
