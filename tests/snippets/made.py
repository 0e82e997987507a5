"""A pool with one source, and what its calls came to."""

import asyncio
from collections.abc import Sequence
from typing import Any, Self

from evalwright.errors import SnippetFailed
from evalwright.ports import Predict
from evalwright.snippets.pool import SnippetPool
from evalwright.snippets.process import SnippetSettings
from evalwright.snippets.sources import Source

TIMEOUT_S = 20.0


class Made:
    """A pool with one source, whose lines stand in a file from line 10 on, and its log."""

    def __init__(
        self, text: str, settings: SnippetSettings | None = None, *, path: str = "tasks/x.yaml"
    ) -> None:
        self.log: list[str] = []
        sources = {"one": Source(text, path, 10)}
        self.pool = SnippetPool(sources, log=self.log.append, settings=settings, processes=1)

    async def f(self, *batch: Sequence[Any], timeout_s: float = TIMEOUT_S) -> list[Any]:
        """Call `f` with each list of arguments at once: values and failures."""
        calls = (self.pool.call("one:f", each, timeout_s=timeout_s) for each in batch)
        return await asyncio.gather(*calls, return_exceptions=True)

    async def ask(
        self, *batch: Sequence[Any], predict: Predict, timeout_s: float = TIMEOUT_S
    ) -> list[Any]:
        """Call `f` with each list of arguments, and a model behind them."""
        calls = (
            self.pool.call(
                "one:f",
                [*each, None],
                objects=[*[""] * len(each), "Model"],
                timeout_s=timeout_s,
                predict=predict,
            )
            for each in batch
        )
        return await asyncio.gather(*calls, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.pool.close()

    @property
    def pids(self) -> list[int]:
        """The processes that live."""
        return [
            worker._process.pid
            for worker in self.pool._batch_workers + self.pool._concurrent_workers
        ]


def call(text: str, *batch: Sequence[Any], timeout_s: float = TIMEOUT_S) -> list[Any]:
    """Call `f` of a source in a pool of its own."""

    async def work() -> list[Any]:
        async with Made(text) as made:
            return await made.f(*batch, timeout_s=timeout_s)

    return asyncio.run(work())


def told(results: Sequence[Any]) -> list[Any]:
    """Values, and the kinds of failures."""
    return [each.kind if isinstance(each, SnippetFailed) else each for each in results]
