"""Tell what the loop is at: each task says whose call it serves, step by step."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import ContextVar
from typing import Any

from .marks import Marks

current: ContextVar[int] = ContextVar("call")
"""The number of the call that this code runs for. What it starts inherits it."""


class _Steps(Coroutine[Any, Any, Any]):
    def __init__(self, inner: Any, number: int, marks: Marks) -> None:
        self._inner, self._number, self._marks = inner, number, marks

    def send(self, value: Any) -> Any:
        self._marks.begin(self._number)
        try:
            return self._inner.send(value)
        finally:
            self._marks.end()

    def throw(self, *error: Any) -> Any:
        self._marks.begin(self._number)
        try:
            return self._inner.throw(*error)
        finally:
            self._marks.end()

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._inner.__await__())


def marked(marks: Marks) -> Callable[..., "asyncio.Task[Any]"]:
    """How a loop makes tasks whose steps are marked."""

    def make(loop: asyncio.AbstractEventLoop, inner: Any, **more: Any) -> "asyncio.Task[Any]":
        number = current.get(0)
        return asyncio.Task(_Steps(inner, number, marks) if number else inner, loop=loop, **more)

    return make
