"""What stands in the evaluator for the candidate's exceptions.

Every exception class that comes from the candidate has a class here: `ValueError` too, as a
subclass of ours. Python's own names in a target therefore catch what the candidate raises, and a
name that the candidate has for `AssertionError` never catches what the target itself raises. A
class of the candidate's own has the same bases; its attributes are asked for. One of the standard
library is the library's, if its module does no more than look at values.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from . import judging, proxies, values

if TYPE_CHECKING:
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


class Exceptions:
    """Those of one candidate."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._classes: dict[int | type, Any] = {}

    def find_class(self, form: list[Any]) -> type[BaseException]:
        """A class of ours for one of the candidate's."""
        number, name, base, bases, module = form
        if type(name) is not str or type(base) is not str or type(bases) is not list:
            raise values.BadValue("no exception class")
        if number is None:
            return self._derive_builtin(_BUILTINS[name])
        if type(number) is not int or len(bases) > _MOST_BASES:
            raise values.BadValue("no exception class")
        if number not in self._classes:
            parents = tuple(self.find_class(each[1:]) for each in bases)
            parents = parents or (self._derive_builtin(_BUILTINS.get(base, Exception)),)
            library = _find_library_class(module, name)
            if library is not None:
                self._classes[number] = self._derive(library, parents)
            else:
                self._classes[number] = self._make_class(number, name, parents)
        return self._classes[number]  # type: ignore[no-any-return]

    def _derive_builtin(self, kind: Any) -> type[BaseException]:
        """A subclass that only exceptions of the candidate's are instances of."""
        if kind not in self._classes:
            parents = [
                self._derive_builtin(base)
                for base in kind.__bases__
                if issubclass(base, BaseException)
            ]
            if issubclass(kind, BaseExceptionGroup):
                parents = []
            self._classes[kind] = self._derive(kind, tuple(parents))
        return self._classes[kind]  # type: ignore[no-any-return]

    def _derive(self, kind: Any, parents: tuple[Any, ...]) -> type[BaseException]:
        members = {
            "__getattr__": _get_attribute,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "_p_link": self._link,
        }
        try:
            return type(kind.__name__, (kind, *parents), members)
        except TypeError:  # bases that do not go together here
            return type(kind.__name__, (kind,), members)

    def _make_class(
        self, number: int, name: str, parents: tuple[type[BaseException], ...]
    ) -> type[BaseException]:
        members = {
            "_p_number": number,
            "_p_link": self._link,
            "__new__": _construct,
            "__init__": lambda self, *args, **kwargs: None,  # noqa: ARG005 - done over there
            "__str__": _text,
            "__getattr__": _get_attribute,
            "__module__": "candidate",
        }
        if issubclass(parents[0], BaseExceptionGroup):
            parents = (self._derive_builtin(Exception),)
        try:
            return type(proxies.clean_name(name), parents, members)
        except TypeError:  # bases that do not go together here
            return type(proxies.clean_name(name), (self._derive_builtin(Exception),), members)

    def make(self, number: int, kind: list[Any], args: list[Any], text: str) -> BaseException:
        """An exception of ours for one of the candidate's."""
        own = self.find_class(kind)
        error: BaseException
        try:
            error = _make_bare(own, args) if "_p_number" in own.__dict__ else own(*args)
        except Exception:  # noqa: BLE001 - one that is made in another way
            try:
                error = _make_bare(own, args or [text])
            except TypeError:  # such as a group
                error = self._derive_builtin(RuntimeError)(f"{own.__name__}: {text}")
        error.__dict__["_p_text"] = text
        error.__dict__["_p_there"] = ["h", number]
        return error


def _make_bare(kind: Any, args: list[Any]) -> BaseException:
    error: BaseException = _find_builtin(kind).__new__(kind)
    error.args = tuple(args)
    return error


def _find_builtin(kind: type) -> Any:
    return next(base for base in kind.__mro__ if _BUILTINS.get(base.__name__) is base)


def _find_library_class(module: Any, name: str) -> type[BaseException] | None:
    if module not in _LIBRARY:
        return None
    __import__(module)
    kind = getattr(sys.modules[module], name, None)
    return kind if isinstance(kind, type) and issubclass(kind, BaseException) else None


def _construct(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """A target that makes one has it made over there, where its class is."""
    return kind._p_link.ask("call", kind, args, kwargs)  # noqa: SLF001 - a class of this module's


def _text(error: BaseException) -> str:
    return str(error.__dict__.get("_p_text", ""))


def _get_attribute(error: BaseException, name: str) -> Any:
    if name[:1] == "_" or "_p_there" not in error.__dict__:
        raise AttributeError(name)
    return type(error)._p_link.ask("attr", error, name)  # type: ignore[attr-defined]  # noqa: SLF001


def encode_exception(
    error: BaseException, encoder: values.Encoder, number: int | None
) -> list[Any]:
    """The form of an exception of the target: a builtin one. `number` is for its way back."""
    if isinstance(error, AssertionError):
        return ["X", number, "AssertionError"]  # its text may tell what was expected
    kind = _find_builtin(type(error))
    if kind is not type(error):
        return ["X", number, kind.__name__, judging.describe(error)]
    try:
        return ["X", number, kind.__name__, *encoder.encode_all(error.args)]
    except values.Unsendable:
        return ["X", number, kind.__name__, judging.describe(error)]


def make_wordless(kind: type[BaseException]) -> BaseException:
    """One of its nearest builtin class, which says nothing: words may tell what was expected."""
    for base in kind.__mro__:
        if _BUILTINS.get(base.__name__) is base:
            try:
                return base()
            except TypeError:  # one that is made of more
                continue
    return Exception()
