"""Stop a run when its budget of dollars or tokens is spent; it can be resumed.

One `Budget` is shared by all models of a run, judges included. Once the cap is reached, calls
raise `BudgetSpent`, which is not a failure of a sample. Near the cap, a call waits while those in
flight are likely to use up the rest, each as much as the average so far.

Does not:   know the price of a call before it is made: a run exceeds its cap by part of a
            call, or by more if the first ones together exceed it; nor what a failed call cost.
"""

import asyncio
import math

from evalwright.engine.models.base import ModelWrapper
from evalwright.errors import BudgetSpent
from evalwright.ports import Model
from evalwright.types import Completion, Request, Usage

_DIGITS = 4


class Budget:
    """The cap of a run, and what it has spent; `spent` is from earlier invocations."""

    def __init__(
        self,
        *,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        spent: Usage = Usage(),  # noqa: B008 - frozen
        command: str = "run",
    ) -> None:
        """`command` is the command that resumes the run."""
        self._command = command
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.cost = 0.0
        self.tokens = self._answered = 0
        self.add(spent)
        self._under_way = 0
        self._settled = asyncio.Event()
        self._untold = ""

    def add(self, spent: Usage) -> None:
        """Add what was spent earlier and is known only now."""
        self.cost += spent.cost or 0.0
        self.tokens += spent.total_tokens
        self._answered += spent.requests

    @property
    def overrun(self) -> str:
        """Return a note that the cap was exceeded, and by how much; empty if it was not."""
        if self.max_cost is not None and self.cost > self.max_cost:
            return f"the cap was exceeded: {_dollars(self.cost, self.max_cost)} spent"
        if self.max_tokens is not None and self.tokens > self.max_tokens:
            return f"the cap was exceeded: {self.tokens:,} of {self.max_tokens:,} tokens spent"
        return ""

    async def open(self) -> None:
        """Begin a call; `BudgetSpent` if there is nothing left for it."""
        self._check()
        while self._under_way and self._answered and self._would_reach_the_cap():
            await self._settled.wait()
            self._check()
        self._under_way += 1

    def settle(self, usage: Usage | None) -> None:
        """End a call with its usage; None if it failed."""
        self._under_way -= 1
        self._settled.set()  # wakes all that wait now
        self._settled.clear()
        if usage is None:
            return
        self._answered += 1
        self.cost += usage.cost or 0.0
        self.tokens += usage.total_tokens
        if usage.requests and not usage.total_tokens and self.max_tokens is not None:
            self._untold = "how many tokens a call used"
        if usage.cost is None and self.max_cost is not None:
            self._untold = "what a call cost"

    def _check(self) -> None:
        if self._untold:
            raise BudgetSpent(
                f"the server does not report {self._untold}, so the cap cannot be enforced",
                hint=f"{self._command} again without the cap to resume",
            )
        if self.max_cost is not None and self.cost >= self.max_cost:
            raise self._spent(_dollars(self.cost, self.max_cost))
        if self.max_tokens is not None and self.tokens >= self.max_tokens:
            raise self._spent(f"{self.tokens:,} of {self.max_tokens:,} tokens")

    def _spent(self, what: str) -> BudgetSpent:
        return BudgetSpent(
            f"the cap is reached: {what} spent",
            hint=f"raise the cap and {self._command} again to resume",
        )

    def _would_reach_the_cap(self) -> bool:
        factor = 1 + self._under_way / self._answered
        return (self.max_cost is not None and self.cost * factor >= self.max_cost) or (
            self.max_tokens is not None and self.tokens * factor >= self.max_tokens
        )


class CappedModel(ModelWrapper):
    """Queries the model while the budget lasts."""

    def __init__(self, model: Model, budget: Budget) -> None:
        super().__init__(model)
        self._budget = budget

    async def complete(self, request: Request) -> Completion:
        """Answer, and charge the budget."""
        await self._budget.open()
        usage: Usage | None = None
        try:
            completion = await self._ask(request)
            usage = completion.usage
            return completion
        finally:
            self._budget.settle(usage)


def _dollars(spent: float, cap: float) -> str:
    """Format dollars with enough digits for a small cap."""
    smallest = min((amount for amount in (spent, cap) if amount > 0), default=1.0)
    digits = max(_DIGITS, 1 - math.floor(math.log10(smallest)))
    return f"{spent:.{digits}f} of {cap:.{digits}f} USD"
