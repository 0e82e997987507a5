"""What a metric says: a figure, and how sure it is."""

from msgspec import Struct

from evalwright.stats.interval import Interval


class Measure(Struct, frozen=True):
    """One figure of a task."""

    name: str
    value: float | None
    """None where it is undefined: nothing to measure, or a denominator of zero."""
    interval: Interval | None
    n: int
    """How many samples it was made of."""
    reason: str = ""
    """Why there is no value or no interval, and what was left out."""
