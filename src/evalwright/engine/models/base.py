"""What every wrapper shares, and the counters that a progress line reads."""

from msgspec import Struct

from evalwright.ports import Model, weighs
from evalwright.types import Completion, Request


class ModelWrapper:
    """The face of the model inside; a wrapper adds its own `complete`."""

    def __init__(self, model: Model) -> None:
        self._ask = model.complete
        self._close = model.close
        self.caveat = model.caveat
        self.fingerprint = model.fingerprint
        self.weighs = weighs(model)

    async def close(self) -> None:
        """Let the model inside let go of its connections."""
        await self._close()


class Counters(Struct):
    """Of a whole run; the one noun here that changes, for those who watch."""

    requests: int = 0
    """Calls that reached a client, each attempt of a retry included."""
    in_flight: int = 0
    retries: int = 0
    cache_hits: int = 0


class CountedModel(ModelWrapper):
    """Innermost: sees every single attempt, and nothing that waits."""

    def __init__(self, model: Model, counters: Counters) -> None:
        super().__init__(model)
        self._counters = counters

    async def complete(self, request: Request) -> Completion:
        """Answer, and be counted."""
        self._counters.requests += 1
        self._counters.in_flight += 1
        try:
            return await self._ask(request)
        finally:
            self._counters.in_flight -= 1
