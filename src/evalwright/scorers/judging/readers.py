"""What a verdict looks like to who reads it, and what is common to all ways of finding one."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from evalwright.scorers.judging.leads import Kind

Value = TypeVar("Value")
Read_co = TypeVar("Read_co", covariant=True)


class Reader(Protocol[Read_co]):
    """What a verdict looks like."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the JSON object that may hold it; the first that is there rules."""
        ...

    @property
    def also(self) -> tuple[str, ...]:
        """Keys that hold it only if what they hold is one."""
        ...

    @property
    def announced_by(self) -> frozenset[Kind]:
        """What announces it."""
        ...

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        ...

    @property
    def stands_out(self) -> bool:
        """Whether a line that is one can be told from any other line."""
        ...

    def value(self, given: Any) -> Read_co:
        """The verdict that a JSON value is; ValueError says why it is none."""
        ...

    def bare(self, text: str) -> Read_co | None:
        """The verdict that a text is, as a whole; None if it is none, ValueError if a bad one."""
        ...

    def alone(self, text: str) -> bool:
        """Whether this verdict may be a sentence, or only a line."""
        ...

    def ends(self, verdict: Any) -> bool:
        """Whether it is over where it ends: nothing that is added makes another verdict of it."""
        ...

    def another(self, prose: Sequence[str], verdict: Any, *, is_led: bool) -> str:
        """Another verdict that the words beside a verdict name, or what denies it; else empty.

        `is_led`: the verdict was announced, as in `Score: 8`.
        """
        ...

    def denied(self, prose: Sequence[str], verdict: Any) -> str:
        """What denies a verdict without a verdict of its own: `Wrong!`; else empty."""
        ...


class Verdict(NamedTuple, Generic[Value]):
    """What was found, and the object it was found in."""

    value: Value
    fields: dict[str, Any]
    closed: bool
    """Whether it is an object, whose end is known."""
    alone: bool
    """Whether there are no words beside it."""


class Unclear(ValueError):
    """Why there is no verdict, before the judge's words are added."""


def only(verdicts: list[Value]) -> Value:
    """The verdict that all of them are; `Unclear` if they are two."""
    for other in verdicts[1:]:
        if other != verdicts[0]:
            raise Unclear(f"two verdicts, {spelt(verdicts[0])} and {spelt(other)}")
    return verdicts[0]


def attempt(read: Callable[[Any], Value], given: Any) -> Value:
    """What is read; `Unclear` says why it is none."""
    try:
        return read(given)
    except ValueError as error:
        raise Unclear(str(error)) from None


def spelt(value: Any) -> str:
    """A verdict as messages have it."""
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
