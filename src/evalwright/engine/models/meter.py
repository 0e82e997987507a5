"""What an answer cost, beside it.

A client that knows what it was charged is believed; otherwise tokens times price. Without a known
price there is no meter, and the cost stays None.
"""

from msgspec import structs

from evalwright.engine.models.around import Around
from evalwright.engine.models.prices import Price
from evalwright.ports import Model
from evalwright.types import Completion, Request


class Metered(Around):
    """Adds the cost."""

    def __init__(self, model: Model, price: Price) -> None:
        super().__init__(model)
        self._price = price

    async def complete(self, request: Request) -> Completion:
        """Answer, with its cost in `usage.cost`."""
        completion = await self._ask(request)
        usage = completion.usage
        if usage.cost is not None:
            return completion
        return structs.replace(completion, usage=structs.replace(usage, cost=self._price.of(usage)))
