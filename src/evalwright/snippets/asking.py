"""Answer the questions of one call to the model, and remember how they failed."""

import asyncio
from collections.abc import Callable
from typing import Any

from evalwright.errors import ModelError, Stopped
from evalwright.ports import Predict

Answered = Callable[[int, Any, tuple[str, str] | None], None]
"""The number of a question, the answer, or the kind and the message of the failure."""


class Asking:
    """The questions of one call. A failure is the engine's own exception, whoever caught it."""

    def __init__(self, predict: Predict) -> None:
        self._predict = predict
        self._tasks: set[asyncio.Task[dict[str, Any]]] = set()
        self._failures: dict[int, BaseException] = {}
        self.stopped: Stopped | None = None
        """Why the run ends: no author's business."""
        self.asked = False
        """Whether there was any question."""

    @property
    def waits(self) -> bool:
        """Whether a question has no answer yet."""
        return bool(self._tasks)

    def begin(self, ask: int, question: tuple[Any, dict[str, Any]], answered: Answered) -> None:
        """Have one answered, in the loop that runs."""
        self.asked = True

        async def predict() -> dict[str, Any]:
            return await self._predict(*question)

        def end(task: asyncio.Task[dict[str, Any]]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                answered(ask, None, ("cancelled", "the call was cancelled"))
                return
            failure = task.exception()
            if failure is None:
                answered(ask, task.result(), None)
                return
            self._failures[ask] = failure
            if isinstance(failure, Stopped):
                self.stopped = failure
            kind = failure.kind if isinstance(failure, ModelError) else type(failure).__name__
            answered(ask, None, (kind, str(failure)))

        task = asyncio.create_task(predict())
        self._tasks.add(task)
        task.add_done_callback(end)

    def failure(self, ask: int | None) -> BaseException | None:
        """What a question failed with."""
        return None if ask is None else self._failures.get(ask)

    def cancel(self) -> None:
        """Wait for no answer any more."""
        for task in list(self._tasks):
            task.cancel()
