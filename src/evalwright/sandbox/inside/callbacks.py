"""Functions of a target that the program can call.

The program can call functions and classes that a target defines, iterators, and methods of plain
values. Any other callable could give access to this process.

An assertion in such a function is part of the verdict, and the program could swallow it or never
let it run. `find_fault` reports both. An error of a function keeps its number while the program
handles it: if the program raises it again, the target receives the same object.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from opcode import opmap
from types import BuiltinMethodType, CodeType, FunctionType, GeneratorType, MethodType
from typing import Any

from . import proxies, values

_ASSERTS: int = opmap.get("LOAD_ASSERTION_ERROR") or opmap["LOAD_COMMON_CONSTANT"]
PLAIN_TYPES = frozenset({
    *(str, bytes, list, dict, set, frozenset, tuple, bytearray, int, float, complex),
    *(Counter, OrderedDict, defaultdict, deque),
})  # fmt: skip
_HOLDS_VALUES = (list, tuple, dict)
_PARTS: dict[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"),
    partial: ("func", "args", "keywords"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget",),
}
_EMPTY: tuple[Any, ...] = ([], (), {}, set(), "", b"", range(0), {}.values(), {}.items())
_ITERATORS_OF_VALUES = frozenset(type(iter(empty)) for empty in _EMPTY)


class Callbacks:
    """The functions that the program has received, by number, and the errors that they raised."""

    def __init__(self) -> None:
        self.functions: list[Callable[..., Any]] = []
        self.errors: list[BaseException] = []
        self._numbers: dict[int, int] = {}
        self._code: CodeType | None = None
        self._is_expression = False
        self._unfinished: dict[int, Any] = {}
        """What the program received from this target and has not run to its end."""
        self._finished: set[int] = set()
        self._swallowed: dict[int, bool] = {}
        """Errors that have not come back, and whether the function had asked the program."""

    def begin_target(self, code: CodeType | None, *, is_expression: bool) -> None:
        """Forget what the previous target handed over."""
        self._code, self._is_expression = code, is_expression
        self._unfinished.clear()
        self._finished.clear()
        self._swallowed.clear()

    def add(self, function: Callable[..., Any], source: Any = None) -> int:
        """Return the number of a function; `source` is the iterator that it advances."""
        number = self._numbers.get(id(function))
        if number is None:
            number = self._numbers[id(function)] = len(self.functions)
            self.functions.append(function)
        if number not in self._finished:
            self._unfinished[number] = function if source is None else source
        return number

    def find_function(self, number: Any) -> Callable[..., Any]:
        """Return the function of that number."""
        if type(number) is not int or not 0 <= number < len(self.functions):
            raise values.BadValue("a call of a function that was never passed")
        return self.functions[number]

    def find_error(self, number: Any) -> BaseException:
        """Return the error of that number."""
        if type(number) is not int or not 0 <= number < len(self.errors):
            raise values.BadValue("an error that was never passed")
        return self.errors[number]

    def finish(self, number: int) -> None:
        """Note that a function ran to its end."""
        self._finished.add(number)
        self._unfinished.pop(number, None)

    def send_error(self, error: BaseException, *, has_asked: bool) -> int:
        """Return the number of an error that goes to the program instead of a result."""
        number = next((at for at, each in enumerate(self.errors) if each is error), None)
        if number is None:
            number = len(self.errors)
            self.errors.append(error)
        self._swallowed[number] = has_asked
        return number

    def take_error_back(self, error: BaseException) -> None:
        """Note that the program raised an error of the target again."""
        for number in [at for at in self._swallowed if self.errors[at] is error]:
            del self._swallowed[number]

    def find_fault(self) -> tuple[bool, str]:
        """Return whether the program decided the verdict, and what it did to an assertion."""
        for number, has_asked in self._swallowed.items():
            if isinstance(self.errors[number], AssertionError):
                return True, "the program swallows an assertion of the target"
            if has_asked or not (self._is_expression or _has_assertion(self._code)):
                return False, "the program swallows an error of the target"
        if any(self._may_assert(value, set()) for value in self._unfinished.values()):
            return False, "the program does not finish a function with an assertion of the target"
        return False, ""

    def _may_assert(self, value: Any, seen: set[int]) -> bool:
        """Whether a call of `value` can lead to an assertion of the target."""
        if id(value) in seen or proxies.candidate_form(value) is not None:
            return False
        seen.add(id(value))
        kind = type(value)
        if kind is FunctionType or kind is GeneratorType:
            code = value.__code__ if kind is FunctionType else value.gi_code
            if not code.co_filename.startswith("<target"):
                return False
            if _has_assertion(code):
                return True
        elif hasattr(kind, "__next__") and kind not in _ITERATORS_OF_VALUES:
            return _has_assertion(self._code)  # such as `map`: it does not say what it calls
        return any(self._may_assert(part, seen) for part in _find_called_parts(value))


def _find_called_parts(value: Any) -> Iterable[Any]:
    """What a call of `value` may call: over-estimated."""
    kind = type(value)
    if kind is FunctionType or kind is GeneratorType:
        return _find_reachable_values(value)
    if kind in _HOLDS_VALUES:
        parts: Iterable[Any] = value.values() if kind is dict else value
        return parts
    if issubclass(kind, type):
        is_own = value.__module__ == "candidate"
        return [*vars(value).values(), *value.__bases__] if is_own else ()
    if kind.__module__ == "candidate":
        return [kind, *getattr(value, "__dict__", {}).values()]
    return [getattr(value, name, None) for name in _PARTS.get(kind, ("__wrapped__",))]


def _find_reachable_values(value: Any) -> Iterator[Any]:
    """What a function or a generator reaches by name."""
    frame = getattr(value, "gi_frame", None)
    if frame is not None:
        yield from frame.f_locals.values()
    code = getattr(value, "__code__", None) or value.gi_code
    for cell in getattr(value, "__closure__", None) or ():
        if _is_filled(cell):
            yield cell.cell_contents
    yield from getattr(value, "__defaults__", None) or ()
    yield from (getattr(value, "__kwdefaults__", None) or {}).values()
    names = getattr(value, "__globals__", None) or getattr(frame, "f_globals", {})
    for name in _names(code):
        yield dict.get(names, name)  # past `__missing__`, which would ask the program


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _codes(code: CodeType | None) -> Iterator[CodeType]:
    if code is not None:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from _codes(constant)


def _names(code: CodeType | None) -> set[str]:
    return {name for each in _codes(code) for name in each.co_names}


def mentions(code: CodeType | None, name: str) -> bool:
    """Whether a target uses a name or an attribute of that name."""
    return any(name in each.co_names for each in _codes(code))


def _has_assertion(code: CodeType | None) -> bool:
    """Whether code has an `assert`, or calls a method such as `assertEqual`."""
    return any(
        _ASSERTS in each.co_code[::2] or any(name[:6] == "assert" for name in each.co_names)
        for each in _codes(code)
    )


def can_be_passed(value: Any) -> bool:
    """Whether the program may call it: a function of the target, or a method of a plain value."""
    kind = type(value)
    if kind is FunctionType:
        return bool(value.__code__.co_filename.startswith("<target"))
    if kind is MethodType:
        return can_be_passed(value.__func__)
    if kind is partial:
        return values.encode_function(value.func) is not None or can_be_passed(value.func)
    if kind is BuiltinMethodType:
        return type(value.__self__) in PLAIN_TYPES
    if issubclass(kind, type):
        return bool(value.__module__ == "candidate")
    if hasattr(value, "__wrapped__") and kind.__module__ == "functools":
        return can_be_passed(value.__wrapped__)
    return kind.__module__ == "candidate" and callable(value)
