"""One request for several trials: what the parameter `n` buys.

With `n=4` the trials 0 to 3 of a sample share one request, and its prompt is paid for once. The
first of them to arrive asks, the others wait for the same reply and take their own choice. If the
request fails, it fails for all who waited; whoever tries again asks again. The tokens are counted
with the trial whose choice is the first to be taken.

Does not:   Keep choices that nobody takes for long: with fewer trials than `n` the rest is lost,
            and paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Generic, TypeVar

import msgspec

from evalwright.types import Message, Request

Reply = TypeVar("Reply")
Group = tuple[str, tuple[Message, ...], bytes, int]

_MOST_GROUPS = 1000


class Choices(Generic[Reply]):
    """Hands out the `n` choices of a reply, one a trial."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._open: dict[Group, _Shared[Reply]] = {}

    async def take(
        self, request: Request, ask: Callable[[Request], Coroutine[None, None, Reply]]
    ) -> tuple[Reply, int, bool]:
        """The reply, which of its choices is this trial's, and whether it is the first taken."""
        number, place = divmod(request.trial, self.n)
        keys = msgspec.json.encode(request.input, order="deterministic")
        group = (request.sample.id, request.messages, keys, number)
        shared = self._open.get(group)
        if shared is None or place not in shared.left:
            shared = self._begin(group, ask(request))
        shared.left.discard(place)
        if not shared.left and self._open.get(group) is shared:
            del self._open[group]
        reply = await asyncio.shield(shared.reply)  # one trial's end is not the others'
        first, shared.first = shared.first, False
        return reply, place, first

    async def close(self) -> None:
        """Give up what nobody waits for any more."""
        asked = [shared.reply for shared in self._open.values()]
        self._open.clear()
        for reply in asked:
            reply.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    def _begin(self, group: Group, asking: Coroutine[None, None, Reply]) -> _Shared[Reply]:
        shared = _Shared(asyncio.ensure_future(asking), set(range(self.n)))

        def forget(reply: asyncio.Future[Reply]) -> None:
            failed = reply.cancelled() or reply.exception() is not None
            if failed and self._open.get(group) is shared:
                del self._open[group]

        shared.reply.add_done_callback(forget)  # before any who waits is told, and asks again
        self._open[group] = shared
        if len(self._open) > _MOST_GROUPS:
            del self._open[next(iter(self._open))]
        return shared


class _Shared(Generic[Reply]):
    def __init__(self, reply: asyncio.Future[Reply], left: set[int]) -> None:
        self.reply = reply
        self.left = left
        self.first = True
