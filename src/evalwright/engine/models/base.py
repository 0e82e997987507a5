"""What every wrapper shares, and the counters that a progress line reads."""

from msgspec import Struct

from evalwright.ports import Model, weighs
from evalwright.types import Completion, Request


class ModelWrapper:
    """Forwards the attributes of the wrapped model; a subclass adds its own `complete`."""

    def __init__(self, model: Model) -> None:
        self._ask = model.complete
        self._close = model.close
        self.caveat = model.caveat
        self.fingerprint = model.fingerprint
        self.weighs = weighs(model)

    async def close(self) -> None:
        """Close the connections of the wrapped model."""
        await self._close()


class Counters(Struct):
    """Counters of a whole run; mutable, read by the progress line."""

    requests: int = 0
    """Calls that reached a client, each attempt of a retry included."""
    in_flight: int = 0
    retries: int = 0
    cache_hits: int = 0


class CountedModel(ModelWrapper):
    """The innermost wrapper: counts every attempt, but not calls that wait."""

    def __init__(self, model: Model, counters: Counters) -> None:
        super().__init__(model)
        self._counters = counters

    async def complete(self, request: Request) -> Completion:
        """Answer, and count the attempt."""
        self._counters.requests += 1
        self._counters.in_flight += 1
        try:
            return await self._ask(request)
        finally:
            self._counters.in_flight -= 1
