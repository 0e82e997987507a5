"""Concurrency limit and rate limit of a model.

    Gate(8)                          eight calls at once, always
    AdaptiveGate(start=8, most=64)   half as many when the server says 429; one more after a
                                     window of calls that went well with the gate full

A window is as many calls as the gate is wide; until the first refusal, every call is one, so the
gate doubles in the time of a call (as TCP starts: RFC 5681). A gate halves once for one wave of
refusals: a call that was let in before the last halving says nothing about the level after it.

    Rate(requests_per_minute=60, tokens_per_minute=10_000)

Each call claims its share and is told when it is due. Shares are spread evenly, so no minute
holds more than the limit (to the precision of the timer), and no call waits twice. Tokens are
guessed from the length of the messages, four characters each, and corrected when the answer says
what was used: a guess that was low delays those that claim next.

Holds:      first come, first served; a cancelled task, waiting or inside, costs no place.
Does not:   send anybody back out: after a halving the surplus finishes what it has begun. Nor
            know of other processes that use the same key.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from evalwright.engine.models.base import ModelWrapper
from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.types import Completion, Request


class Gate:
    """Lets `limit` in at once."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"expected a gate for 1 or more, got `{limit}`")
        self.limit = limit
        self.inside = 0
        self.level = 0
        """How often the limit has been halved."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter_at_once(self) -> bool:
        """Go in if there is room. Then nobody waits: `_let_in` has run since room was made."""
        if self.inside >= self.limit:
            return False
        self.inside += 1
        return True

    async def enter(self) -> None:
        """Go in, or queue."""
        if self.enter_at_once():
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the place was already given: pass it on
                self.leave()
            raise

    def leave(self) -> None:
        """Make room for the next."""
        self.inside -= 1
        self._let_in()

    def went_well(self, level: int) -> None:
        """A call that was let in at this level was answered."""

    def pushed_back(self, level: int) -> None:
        """A call that was let in at this level came too fast for the server."""

    def _let_in(self) -> None:
        while self._waiting and self.inside < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():  # a cancelled one has gone away
                self.inside += 1  # here, not when it wakes: nobody may slip in between
                turn.set_result(None)


class AdaptiveGate(Gate):
    """A gate that widens by one and narrows by half."""

    def __init__(self, start: int, most: int) -> None:
        super().__init__(start)
        if most < start:
            raise ValueError(f"expected `most` of at least `{start}`, got `{most}`")
        self._most = most
        self._good = 0

    def went_well(self, level: int) -> None:
        """One more, after a window of them with the gate full: an idle gate proves nothing."""
        if level != self.level or self.inside < self.limit or self.limit >= self._most:
            return
        self._good += 1
        if self._good >= self.limit or self.level == 0:
            self._good = 0
            self.limit += 1  # who leaves next lets two in

    def pushed_back(self, level: int) -> None:
        """Half as many, unless that has already been done for this wave."""
        if level == self.level:
            self.level += 1
            self._good = 0
            self.limit = max(1, self.limit // 2)


class LimitedModel(ModelWrapper):
    """Asks when the gate lets it."""

    def __init__(self, model: Model, gate: Gate) -> None:
        super().__init__(model)
        self._gate = gate

    async def complete(self, request: Request) -> Completion:
        """Answer, in turn."""
        gate = self._gate
        if not gate.enter_at_once():
            await gate.enter()
        level = gate.level
        try:
            completion = await self._ask(request)
        except ModelError as error:
            if error.kind == "rate_limited":
                gate.pushed_back(level)
            raise
        else:
            gate.went_well(level)
            return completion
        finally:
            gate.leave()


_CHARACTERS_PER_TOKEN = 4


class Rate(Struct, frozen=True, kw_only=True):
    """What a server allows; None is no limit."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class TokenBucket:
    """Gives out `per_minute` shares a minute, evenly."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        if not per_minute > 0:
            raise ValueError(f"expected a rate above 0, got `{per_minute}`")
        self._seconds_each = 60 / per_minute
        self._clock = clock
        self._free_at = float("-inf")

    def claim(self, shares: float) -> float:
        """Take so many; the seconds until they are due."""
        now = self._clock()
        due = max(now, self._free_at)
        self._free_at = due + shares * self._seconds_each
        return due - now

    def correct(self, shares: float) -> None:
        """Take so many more, or give them back if negative."""
        self._free_at += shares * self._seconds_each


class RateLimitedModel(ModelWrapper):
    """Asks when it is due."""

    def __init__(
        self,
        model: Model,
        rate: Rate,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._requests = _bucket(rate.requests_per_minute, clock)
        self._tokens = _bucket(rate.tokens_per_minute, clock)
        self._sleep = sleep

    async def complete(self, request: Request) -> Completion:
        """Answer, when it is due."""
        wait = self._requests.claim(1) if self._requests else 0.0
        if self._tokens is None:
            await self._until(wait)
            return await self._ask(request)
        guess = _guess_tokens(request)
        await self._until(max(wait, self._tokens.claim(guess)))
        completion = await self._ask(request)
        if used := completion.usage.total_tokens:  # a server that does not say leaves the guess
            self._tokens.correct(used - guess)
        return completion

    async def _until(self, wait: float) -> None:
        if wait > 0:
            await self._sleep(wait)


def _bucket(per_minute: float | None, clock: Callable[[], float]) -> TokenBucket | None:
    return None if per_minute is None else TokenBucket(per_minute, clock)


def _guess_tokens(request: Request) -> int:
    characters = sum(len(message.content) for message in request.messages)
    return 1 + characters // _CHARACTERS_PER_TOKEN
