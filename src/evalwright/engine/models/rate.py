"""So many requests, and so many tokens, a minute.

Each call claims its share and is told when it is due. Shares are spread evenly, so no minute
holds more than the limit (to the precision of the timer), and no call waits twice.

Tokens are guessed from the length of the messages, four characters each, and put right when the
answer says what was used: a guess that was low delays those that claim next.

Does not:   know of other processes that use the same key.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from evalwright.engine.models.around import Around
from evalwright.ports import Model
from evalwright.types import Completion, Request

_CHARACTERS_A_TOKEN = 4


class Rate(Struct, frozen=True, kw_only=True):
    """What a server allows; None is no limit."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class Bucket:
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


class RateLimited(Around):
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
        guess = _guess(request)
        await self._until(max(wait, self._tokens.claim(guess)))
        completion = await self._ask(request)
        if used := completion.usage.total_tokens:  # a server that does not say leaves the guess
            self._tokens.correct(used - guess)
        return completion

    async def _until(self, wait: float) -> None:
        if wait > 0:
            await self._sleep(wait)


def _bucket(per_minute: float | None, clock: Callable[[], float]) -> Bucket | None:
    return None if per_minute is None else Bucket(per_minute, clock)


def _guess(request: Request) -> int:
    characters = sum(len(message.content) for message in request.messages)
    return 1 + characters // _CHARACTERS_A_TOKEN
