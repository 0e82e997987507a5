"""Concurrency limit and rate limit of a model.

    Gate(8)                          eight calls at once, always
    AdaptiveGate(start=8, most=64)   halved when the server answers 429; one more after a
                                     window of successful calls with the gate full

A window is as many calls as the gate allows; until the first refusal, it is one call, so the
gate doubles in the time of a call (like TCP slow start, RFC 5681). A gate halves once per wave of
refusals: a call that entered before the last halving says nothing about the new limit.

    Rate(requests_per_minute=60, tokens_per_minute=10_000)

Each call claims its share and gets the time when it is due. Shares are spread evenly, so no minute
holds more than the limit (to the precision of the timer), and no call waits twice. Tokens are
estimated from the length of the messages, four characters each, and corrected when the answer
reports its usage: a low estimate delays the next calls.

Holds:      first come, first served; a cancelled task, waiting or inside, frees its slot.
Does not:   cancel calls: after a halving, calls that are in flight finish. Nor
            know about other processes that use the same API key.
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
    """Allows `limit` concurrent calls."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"expected a limit of 1 or more, got `{limit}`")
        self.limit = limit
        self.inside = 0
        self.level = 0
        """Number of times the limit has been halved."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    def enter_at_once(self) -> bool:
        """Enter if there is room. Then no call waits: `_let_in` has run since room was made."""
        if self.inside >= self.limit:
            return False
        self.inside += 1
        return True

    async def enter(self) -> None:
        """Enter, or wait in the queue."""
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
        """Leave, and let the next call enter."""
        self.inside -= 1
        self._let_in()

    def went_well(self, level: int) -> None:
        """Note that a call that entered at this level was answered."""

    def pushed_back(self, level: int) -> None:
        """Note that the server refused a call that entered at this level as too frequent."""

    def _let_in(self) -> None:
        while self._waiting and self.inside < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():  # a cancelled one has gone away
                self.inside += 1  # here, not when it wakes: nobody may slip in between
                turn.set_result(None)


class AdaptiveGate(Gate):
    """A gate whose limit grows by one and is halved on refusal."""

    def __init__(self, start: int, most: int) -> None:
        super().__init__(start)
        if most < start:
            raise ValueError(f"expected `most` of at least `{start}`, got `{most}`")
        self._most = most
        self._good = 0

    def went_well(self, level: int) -> None:
        """Raise the limit after a window of successes; an idle gate proves nothing."""
        if level != self.level or self.inside < self.limit or self.limit >= self._most:
            return
        self._good += 1
        if self._good >= self.limit or self.level == 0:
            self._good = 0
            self.limit += 1  # who leaves next lets two in

    def pushed_back(self, level: int) -> None:
        """Halve the limit, unless that was already done for this wave."""
        if level == self.level:
            self.level += 1
            self._good = 0
            self.limit = max(1, self.limit // 2)


class LimitedModel(ModelWrapper):
    """Queries the model within a concurrency limit."""

    def __init__(self, model: Model, gate: Gate) -> None:
        super().__init__(model)
        self._gate = gate

    async def complete(self, request: Request) -> Completion:
        """Answer when the gate allows it."""
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
    """Rate limits of a server; None for no limit."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class TokenBucket:
    """Grants `per_minute` shares per minute, evenly."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        if not per_minute > 0:
            raise ValueError(f"expected a rate above 0, got `{per_minute}`")
        self._seconds_each = 60 / per_minute
        self._clock = clock
        self._free_at = float("-inf")

    def claim(self, shares: float) -> float:
        """Claim shares; return the seconds until they are due."""
        now = self._clock()
        due = max(now, self._free_at)
        self._free_at = due + shares * self._seconds_each
        return due - now

    def correct(self, shares: float) -> None:
        """Claim more shares, or return some if negative."""
        self._free_at += shares * self._seconds_each


class RateLimitedModel(ModelWrapper):
    """Queries the model within a rate limit."""

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
        """Answer when the call is due."""
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
