"""Exceptions of the candidate's, as exceptions of the evaluator's.

A builtin one is the same here. A class of the candidate's own is a class here that derives from the
same bases, so that `except` finds it; its attributes are asked for. One of the standard library is
the library's, if its module is among those that do no more than look at values.
"""

from __future__ import annotations

import builtins
import sys

from . import judging, values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .link import Link

_BUILTINS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_LIBRARY = frozenset({
    "asyncio.exceptions", "binascii", "calendar", "copy", "dataclasses", "decimal", "json.decoder",
    "re", "re._constants", "statistics", "struct", "zlib",
})  # fmt: skip
_MOST_BASES = 20
_MAX_NAME = 80


class Exceptions:
    """Those of one candidate."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._classes: dict[int, type[BaseException]] = {}

    def class_of(self, form: list[Any]) -> type[BaseException]:
        """A class of ours for one of the candidate's."""
        number, name, base, bases, module = form
        if type(name) is not str or type(base) is not str or type(bases) is not list:
            raise values.BadValue("no exception class")
        if number is None:
            return _BUILTINS[name]
        if type(number) is not int or len(bases) > _MOST_BASES:
            raise values.BadValue("no exception class")
        if number not in self._classes:
            parents = tuple(self.class_of(each[1:]) for each in bases)
            self._classes[number] = _of_library(module, name) or self._new(
                number, name, parents or (_BUILTINS.get(base, Exception),)
            )
        return self._classes[number]

    def _new(
        self, number: int, name: str, parents: tuple[type[BaseException], ...]
    ) -> type[BaseException]:
        clean = name[:_MAX_NAME] if name.isidentifier() else "CandidateError"
        members = {
            "_number": number,
            "_link": self._link,
            "__new__": _construct,
            "__init__": lambda self, *args, **kwargs: None,  # noqa: ARG005 - done over there
            "__str__": _text,
            "__getattr__": _attribute,
            "__module__": "candidate",
        }
        if issubclass(parents[0], BaseExceptionGroup):
            parents = (Exception,)
        try:
            return type(clean, parents, members)
        except TypeError:  # bases that do not go together here
            return type(clean, (Exception,), members)

    def made(self, number: int, kind: list[Any], args: list[Any], text: str) -> BaseException:
        """An exception of ours for one of the candidate's."""
        own = self.class_of(kind)
        if _BUILTINS.get(own.__name__) is own:
            try:
                return own(*args)
            except Exception:  # noqa: BLE001 - one that is made in another way
                return RuntimeError(f"{own.__name__}: {text}")
        error = BaseException.__new__(own)
        error.args = tuple(args)
        error.__dict__.update(_text=text, _there=["h", number])
        return error


def _of_library(module: Any, name: str) -> type[BaseException] | None:
    if module not in _LIBRARY:
        return None
    __import__(module)
    found = getattr(sys.modules[module], name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _construct(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """A target that makes one has it made over there, where its class is."""
    return kind._link.ask("call", kind, args, kwargs)  # noqa: SLF001 - a class of this module's


def _text(error: BaseException) -> str:
    return str(error.__dict__.get("_text", ""))


def _attribute(error: BaseException, name: str) -> Any:
    if name[:1] == "_":
        raise AttributeError(name)
    return type(error)._link.ask("attr", error, name)  # type: ignore[attr-defined]  # noqa: SLF001


def form_of(error: BaseException, encoder: values.Encoder) -> list[Any]:
    """An exception of ours, for the candidate: a builtin one."""
    name = type(error).__name__
    if isinstance(error, AssertionError):
        return ["X", "AssertionError"]  # its text may tell what was expected
    if _BUILTINS.get(name) is not type(error):
        return ["X", "RuntimeError", judging.describe(error)]
    try:
        return ["X", name, *encoder.all(error.args)]
    except values.Unsendable:
        return ["X", name, judging.describe(error)]


def without_words(kind: type[BaseException]) -> BaseException:
    """One of its nearest builtin class, which says nothing: words may tell what was expected."""
    for base in kind.__mro__:
        if _BUILTINS.get(base.__name__) is base:
            try:
                return base()
            except TypeError:  # one that is made of more
                continue
    return Exception()


def no_end(error: BaseException) -> BaseException:
    """A loop of ours would take this for its end, and not for a mistake."""
    if isinstance(error, (StopIteration, StopAsyncIteration)):
        return RuntimeError(f"the candidate raised {type(error).__name__}")
    return error
