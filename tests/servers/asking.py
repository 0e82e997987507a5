"""Ask a model one question, from outside any loop: for tests of clients."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from evalwright.errors import ModelError
from evalwright.ports import Model
from evalwright.types import Completion, Message, MLTask, Request, Sample, TaskSpec


def question(prompt: str = "2 + 2 =", *, trial: int = 0, system: str = "") -> Request:
    """What a solver would ask."""
    task = TaskSpec(
        task_id=prompt,
        category="arithmetic",
        prompt=prompt,
        targets=("4",),
        metric_name="exact_match",
        post_process="none",
    )
    told = (Message("system", system),) if system else ()
    messages = (*told, Message("user", prompt))
    return Request(messages=messages, sample=Sample(prompt, task), trial=trial)


def chat(*said: str, row: dict[str, Any] | None = None, keys: Any = None) -> Request:
    """A conversation that users and assistants take turns in, about a row."""
    messages = tuple(
        Message("assistant" if place % 2 else "user", text) for place, text in enumerate(said)
    )
    return Request(messages=messages, sample=Sample("0", row or {}), input=keys)


def asking(task: MLTask, given: Any) -> Request:
    """What is no chat."""
    return Request(sample=Sample("0", {}), task=task, input=given)


def answers(model: Model, requests: Sequence[Request]) -> list[Completion | BaseException]:
    """What becomes of all of them, asked at once; the model is closed afterwards."""

    async def ask() -> list[Completion | BaseException]:
        try:
            asked = (model.complete(request) for request in requests)
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(ask())


def answered(model: Model, request: Request | None = None) -> Completion:
    """The answer."""
    (found,) = answers(model, [request or question()])
    if isinstance(found, BaseException):
        raise found
    return found


def failed(model: Model, request: Request | None = None) -> ModelError:
    """The error, which there must be."""
    with pytest.raises(ModelError) as caught:
        answered(model, request)
    return caught.value
