"""`latency`: the time that the evaluated model took to answer, in seconds.

    scorers:
      - type: latency
        limit_s: 2                          # optional

`latency_s` is the total time between the sample's requests and their replies. It includes retries
and the time that requests spend waiting because of the concurrency limit or the rate limit. To
measure the model alone, use `--concurrency 1`.

The score is `null` if any reply came from the cache or from a recording. Outcomes from earlier runs
keep their original time. With `limit_s`, `is_within_limit` shows whether the answer was fast
enough. This scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from pydantic import Field

from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.spent import find_request
from evalwright.types import Score


class Latency(ScorerSpec):
    """Scores `latency_s`, in seconds, and `is_within_limit`."""

    score_names: ClassVar[tuple[str, ...] | None] = ("latency_s", "is_within_limit")
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {"latency_s": (0, None)}
    lower_is_better: ClassVar[tuple[str, ...]] = ("latency_s",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "latency_s"),)

    type: Literal["latency"]
    limit_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Maximum acceptable time for an answer, in seconds."""

    def reuse(self, score: Score) -> None:
        """Return None, because the same answer may have taken a different time."""
        del score

    async def score(self, case: Case) -> Score:
        """Score the duration of the trace."""
        trace = find_request(case)
        if trace is None:
            return Score(values={"latency_s": None, "is_within_limit": None})
        seconds = trace.latency_s
        if self.limit_s is None:
            return Score(values={"latency_s": seconds, "is_within_limit": None})
        within = seconds <= self.limit_s
        reason = "" if within else f"{seconds:.2f} s, more than the limit of {self.limit_s:g} s"
        return Score(values={"latency_s": seconds, "is_within_limit": within}, reason=reason)
