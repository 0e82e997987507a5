"""`cost`: how many dollars the answer of the evaluated model cost.

    scorers:
      - type: cost
        limit: 0.01                         # optional

`cost` is the price of all requests of a sample to the evaluated model, including retries that were
charged. Requests of scorers and of other models are not included. The score is `null` if the price
of the model is unknown, because a cost is never estimated. It is also `null` if any reply was not
requested, but came from the cache or from a recording. An outcome of an earlier run keeps the cost
that it had then. With `limit`, `is_within_limit` shows whether the answer was cheap enough. This
scorer is an evalwright extension.
"""

from typing import ClassVar, Literal

from pydantic import Field

from evalwright.ports import Case
from evalwright.scorers.base import ScorerSpec
from evalwright.scorers.spent import find_request
from evalwright.types import Score


class Cost(ScorerSpec):
    """Scores `cost`, in dollars, and `is_within_limit`."""

    score_names: ClassVar[tuple[str, ...] | None] = ("cost", "is_within_limit")
    score_ranges: ClassVar[dict[str, tuple[float | None, float | None]]] = {"cost": (0, None)}
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "cost"),)

    type: Literal["cost"]
    limit: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Number of dollars within which an answer is cheap enough."""

    def reuse(self, score: Score) -> None:
        """Return nothing: the same answer may have had another price."""
        del score

    async def score(self, case: Case) -> Score:
        """Return the cost of the trace."""
        trace = find_request(case)
        dollars = None if trace is None else trace.usage.cost
        if dollars is None or self.limit is None:
            return Score(values={"cost": dollars, "is_within_limit": None})
        within = dollars <= self.limit
        reason = "" if within else f"${dollars:g}, more than the limit of ${self.limit:g}"
        return Score(values={"cost": dollars, "is_within_limit": within}, reason=reason)
