"""What an interval is."""

from msgspec import Struct


class Interval(Struct, frozen=True):
    """Where the true value plausibly lies."""

    low: float
    high: float
    method: str
    """How it was made: `wilson`, `bca`, `bootstrap-t`, `bootstrap`, `student` or `bound`; of what
    is said of judges also `asymptotic` (kappa of many labels) and `fisher-z` (Spearman)."""
