"""`cost`: the cost of the evaluated model's answer, in dollars.

    scorers:
      - type: cost
        limit: 0.01                         # optional

`cost` is the total price of the sample's requests to the evaluated model, including retries that
were charged. Requests from scorers and requests to other models are not included. The score is
`null` if the model's price is unknown, because costs are never estimated. It is also `null` if any
reply came from the cache or from a recording. Outcomes from earlier runs keep their original cost.
With `limit`, `is_within_limit` shows whether the answer was cheap enough. This scorer is an
evalwright extension.
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
    lower_is_better: ClassVar[tuple[str, ...]] = ("cost",)
    default_metrics: ClassVar[tuple[tuple[str, str], ...]] = (("mean", "cost"),)

    type: Literal["cost"]
    limit: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Maximum acceptable cost of an answer, in dollars."""

    def reuse(self, score: Score) -> None:
        """Return None, because the same answer may have had a different price."""
        del score

    async def score(self, case: Case) -> Score:
        """Score the cost of the trace."""
        trace = find_request(case)
        dollars = None if trace is None else trace.usage.cost
        if dollars is None or self.limit is None:
            return Score(values={"cost": dollars, "is_within_limit": None})
        within = dollars <= self.limit
        reason = "" if within else f"${dollars:g}, more than the limit of ${self.limit:g}"
        return Score(values={"cost": dollars, "is_within_limit": within}, reason=reason)
