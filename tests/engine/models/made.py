"""A model to wrap, a question to ask it, and a clock that moves only when told."""

import asyncio

from evalwright.errors import ModelError
from evalwright.types import Completion, Message, Request, Sample, TaskSpec, Usage

SAMPLE = Sample(
    "s",
    TaskSpec(
        task_id="s",
        category="arithmetic",
        prompt="2 + 2",
        targets=("4",),
        metric_name="exact_match",
        post_process="none",
    ),
)


def question(text: str = "2 + 2", *, trial: int = 0) -> Request:
    return Request(messages=(Message("user", text),), sample=SAMPLE, trial=trial)


def answer(text: str = "4", *, prompt: int = 3, completion: int = 1) -> Completion:
    usage = Usage(requests=1, prompt_tokens=prompt, completion_tokens=completion)
    return Completion(text=text, usage=usage)


def refused(retry_after_s: float | None = None) -> ModelError:
    return ModelError("rate_limited", "429: slow down", retryable=True, retry_after_s=retry_after_s)


class Says:
    """Answers with, or raises, one after the other; then the last of them for ever."""

    caveat = "a fake"
    fingerprint = "f"

    def __init__(self, *replies: Completion | Exception) -> None:
        self._replies = list(replies) or [answer()]
        self.asked: list[Request] = []
        self.closed = False

    async def complete(self, request: Request) -> Completion:
        reply = self._replies[min(len(self.asked), len(self._replies) - 1)]
        self.asked.append(request)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def close(self) -> None:
        self.closed = True


class Held(Says):
    """The same, once it is let go; knows how many wait for it."""

    def __init__(self, *replies: Completion | Exception) -> None:
        super().__init__(*replies)
        self.go = asyncio.Event()
        self.now = self.most = 0

    async def complete(self, request: Request) -> Completion:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.go.wait()
            return await super().complete(request)
        finally:
            self.now -= 1


class Clock:
    """Time passes only by sleeping, and sleeping takes none."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


async def settle() -> None:
    """Let every task that can move, move."""
    for _ in range(20):
        await asyncio.sleep(0)
