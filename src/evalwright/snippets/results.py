"""What goes into a snippet's process, and what comes out."""

from typing import Any, Literal

from msgspec import Struct

ErrorKind = Literal["raised", "loading", "result", "timeout", "crashed"]


class Source(Struct, frozen=True):
    """A piece of Python that defines functions."""

    text: str
    path: str
    """The file it stands in, as tracebacks show it."""
    line: int = 1
    """Where in that file it begins."""


class Frame(Struct, frozen=True):
    """One line of a traceback."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


class SnippetError(Struct, frozen=True, kw_only=True):
    """Why a call has no value.

    raised    the function raised `type`
    loading   its source could not be run, or defines no such function
    result    what it returned is no JSON, or too large
    timeout   it ran longer than its deadline
    crashed   its process ended
    """

    kind: ErrorKind
    type: str
    """The name of the exception."""
    message: str
    frames: tuple[Frame, ...] = ()
    """The author's own lines, outermost first; none of a library's."""

    def __str__(self) -> str:
        text = f"{self.type}: {self.message}" if self.message else self.type
        return f"{self.frames[-1]}: {text}" if self.frames else text


class Result(Struct, frozen=True, kw_only=True):
    """One call: its `value`, or the `error` that prevented it."""

    value: Any = None
    error: SnippetError | None = None
