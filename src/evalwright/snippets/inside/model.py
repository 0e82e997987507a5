"""The `model` that a function of an author's may ask.

    response = await model.predict(trace.items)     in an `async def`
    response = model.predict("Why?")                in a `def`, which waits

The question goes to the engine, and so through its retries, its limits, its cache and its accounts.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from types import ModuleType
from typing import Any

from .failed import Failed
from .results import encoded

Ask = Callable[[bytes], "asyncio.Future[Any] | Future[Any]"]
"""Input and keyword arguments in, as a JSON list, the raw output later.

To one who runs in the loop that answers, a future of that loop; to others, one for any thread.
"""

_MAX_BYTES = 1024**3


class Model:
    """The evaluated model."""

    def __init__(self, ask: Ask, objects: Callable[[], ModuleType]) -> None:
        self._ask = ask
        self._objects = objects

    def predict(self, items: Any, *, sample: Any = None, **kwargs: Any) -> Any:
        """A `ModelResponse`: to be awaited where something can be awaited, else at once."""
        if sample is not None:
            kwargs["sample"] = sample
        try:
            question = encoded([items, kwargs], "model.predict", _MAX_BYTES)
        except Failed as failed:
            raise TypeError(str(failed)) from None
        asked = self._ask(question)
        if isinstance(asked, asyncio.Future):
            return self._later(asked)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._response(asked.result())
        return self._later(asyncio.wrap_future(asked))

    async def _later(self, asked: "asyncio.Future[Any]") -> Any:
        return self._response(await asked)

    def _response(self, raw_output: Any) -> Any:
        return self._objects().ModelResponse.from_json(raw_output)
