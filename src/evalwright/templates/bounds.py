"""Limits on the cost of a template, counted in advance.

    work      16 Mi units per render: 1 per byte of created text, 8 per item of a list,
              16 for a step of a loop, 64 for an object, 512 for a call; comparing and searching
              cost a sixteenth of the text
    output    1 MiB
    range     10,000 numbers
    integers  10,000 bits as operands
    patterns  2 s of CPU per `regex_replace`

Promises:  `{{ "a" * 10**9 }}`, `{{ 9**9**9 }}`, `{{ x|center(10**9) }}`, a string that doubles in
           a loop, a list that contains itself twice, a list that grows while a loop runs over it,
           nested loops: each ends within seconds with a ValueError, and takes less than 64 MB.
Does not:  bound a regular expression outside of the main thread.
"""

import operator
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from sys import getsizeof
from threading import current_thread, main_thread
from typing import Any

from jinja2.utils import Namespace

MAX_OUTPUT = 1 << 20
MAX_WORK = 1 << 24
MAX_RANGE = 10_000
MAX_BITS = 10_000
_ITEM, _STEP, _CALL = 8, 16, 512
OBJECT = 64
"""The work for an object that is created for each item or piece."""
_REGEX_S = 2.0
_MAX_WIDTH = 4
"""Maximum digits of a width or a precision in a format."""

_CONVERSION = re.compile(r"%(?:\([^)]*\))?[-#0 +]*([*\d]*)(?:\.([*\d]*))?")


class TooExpensive(ValueError):
    """More than a template may cost."""


class WorkBudget:
    """The remaining work of one render."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, units: int) -> None:
        """Spend work; raise TooExpensive if none is left."""
        self.left -= units
        if self.left < 0:
            raise TooExpensive(
                "the template is too expensive: its loops or strings grow beyond the limit"
            )

    def pay_for(self, value: Any) -> Any:
        """Spend work for everything in a value (repeated parts count again), and return it."""
        self.spend(weight(value, self.left))
        return value

    def steps(self, values: Any) -> Any:
        """Spend work for a loop: at once if its length is known, otherwise step by step."""
        try:
            self.spend(_STEP * len(values))
        except TypeError:
            return self._count_steps(values)
        return values

    def slice_of(self, value: Any) -> Any:
        """Spend work for a part of a text or a list, and return it."""
        size = weight(value, self.left) if isinstance(value, str) else _ITEM * _length(value)
        self.spend(size)
        return value

    def text_of(self, value: Any) -> str:
        """Return a value as text; spend work if it was none."""
        if isinstance(value, str):
            return str(value)
        text = str(value)
        self.spend(len(text))
        return text

    def _count_steps(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.spend(_STEP)
            yield value


def weight(value: Any, most: int) -> int:
    """Return how many characters and items a value has, or a number above `most`."""
    if isinstance(value, str):
        return _size(value)
    total = 0
    waiting = [value]
    while waiting and total <= most:
        item = waiting.pop()
        total += _ITEM
        if isinstance(item, str | bytes):
            total += _size(item)
        elif isinstance(item, int):
            total += item.bit_length() >> 2  # it has as many digits
        elif isinstance(item, list | tuple | set | frozenset | dict):
            if total + _ITEM * len(item) > most:
                return total + _ITEM * len(item)
            waiting.extend(item)
            if isinstance(item, dict):
                waiting.extend(item.values())
        elif type(item) is Namespace:  # it prints what is in it
            waiting.append(object.__getattribute__(item, "_Namespace__attrs"))
    return total


def _size(text: str | bytes) -> int:
    """Return the number of bytes in memory."""
    return len(text) + 1 if isinstance(text, bytes) or text.isascii() else getsizeof(text)


def _length(value: Any) -> int:
    return len(value) if hasattr(value, "__len__") else 0


def cost_of_comparing(left: Any, right: Any, budget: WorkBudget) -> int:
    """Return the work to compare two values."""
    if isinstance(left, str) or isinstance(right, str):
        return min(_length(left), _length(right)) >> 4
    if not hasattr(left, "__len__") or not hasattr(right, "__len__"):
        return 0
    return min(weight(left, budget.left), weight(right, budget.left)) >> 2


def cost_of_searching(value: Any, container: Any, budget: WorkBudget) -> int:
    """Return the work to look for a value in a text or a list."""
    if isinstance(container, str | bytes):
        return len(container) >> 4
    if isinstance(container, Mapping | AbstractSet | range) or not hasattr(container, "__len__"):
        return 0
    return len(container) * (_ITEM + (weight(value, budget.left) >> 4))


@contextmanager
def limited_pattern() -> Iterator[None]:
    """Stop a regular expression that takes too much CPU; only the main thread can be stopped."""
    if current_thread() is not main_thread():
        yield
        return
    is_running = True

    def stop(*_: object) -> None:
        if is_running:
            raise TooExpensive(f"a regular expression took more than {_REGEX_S:.0f} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _REGEX_S)
    try:
        yield
    finally:
        is_running = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def bounded_range(*numbers: int) -> range:
    """Return a range of at most 10,000 numbers."""
    values = range(*numbers)
    if len(values) > MAX_RANGE:
        raise TooExpensive(f"a range may have at most {MAX_RANGE:,} numbers, got {len(values):,}")
    return values


def _plus(left: Any, right: Any, budget: WorkBudget) -> Any:
    if isinstance(left, int | float):
        return left + right
    budget.spend(weight(left, budget.left))
    budget.spend(weight(right, budget.left))
    return left + right


def _times(left: Any, right: Any, budget: WorkBudget) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    elif isinstance(left, int) and not isinstance(right, float):
        budget.spend(max(left, 0) * weight(right, budget.left))
    elif isinstance(right, int) and not isinstance(left, float):
        budget.spend(max(right, 0) * weight(left, budget.left))
    return left * right


def _power(left: Any, right: Any, budget: WorkBudget) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        _check_bits(left.bit_length() * right)
    budget.spend(1)
    return left**right


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise TooExpensive(f"an integer may have at most {MAX_BITS:,} bits")


def percent(left: Any, right: Any, budget: WorkBudget) -> Any:
    """Return the remainder, or a text formatted with `%`."""
    if not isinstance(left, str | bytes):
        return left % right
    text = left if isinstance(left, str) else left.decode("latin-1")
    for match in _CONVERSION.finditer(text):
        for width in match.groups(default=""):
            check_width(width)
            budget.spend(int(width or 0))
    budget.spend(len(left) + text.count("%") * weight(right, budget.left))
    return left % right


def check_width(spec: str) -> None:
    """Raise TooExpensive for a width or a precision of five digits, or one from an argument."""
    if "*" in spec or any(len(digits) > _MAX_WIDTH for digits in re.findall(r"\d+", spec)):
        raise TooExpensive(
            f"a width in a format may have at most {_MAX_WIDTH} digits, got `{spec[:20]}`"
        )


OPERATORS: dict[str, Callable[[Any, Any, WorkBudget], Any]] = {
    "+": _plus,
    "*": _times,
    "**": _power,
    "%": percent,
}


def check_operands(left: Any, right: Any) -> None:
    """Raise TooExpensive for integers that are too large to divide and to multiply."""
    for operand in (left, right):
        if isinstance(operand, int):
            _check_bits(operand.bit_length())


PLAIN_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "-": operator.sub,
    "/": operator.truediv,
    "//": operator.floordiv,
}


def before_call(function: Any, arguments: tuple[Any, ...], budget: WorkBudget) -> None:
    """Spend work for a call, and for the result of a string method."""
    budget.spend(_CALL + _ITEM * len(arguments))
    function = getattr(function, "__wrapped__", function)
    text = getattr(function, "__self__", None)
    if isinstance(text, str | bytes):
        budget.spend(len(text) >> 4)
        cost = _METHODS.get(getattr(function, "__name__", ""))
        if cost is not None:
            budget.spend(cost(text, arguments, budget))
    elif isinstance(text, int):
        budget.spend(_width_cost("", arguments, budget))  # `to_bytes`
    elif isinstance(text, list | tuple | dict | set | frozenset | range):
        budget.spend(_ITEM * len(text))
        budget.spend(sum(cost_of_searching(value, text, budget) for value in arguments))
    elif text is not None:  # `loop.changed` compares them
        budget.pay_for(arguments)


def before_change(function: Any, arguments: tuple[Any, ...], budget: WorkBudget) -> None:
    """Pay for the arguments of a call, and for what a method of a list or a dict goes through."""
    for argument in arguments:
        budget.pay_for(argument)
        if not isinstance(argument, str) and hasattr(argument, "__len__"):
            budget.spend(_ITEM * len(argument))  # a range is short, what it adds is not
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if not isinstance(owner, list | dict | set):
        return
    if name in _SHIFTING:
        budget.spend(len(owner) >> 3)
    elif name not in _IN_PLACE:
        budget.pay_for(owner)
    if name == "sort":
        budget.spend(len(owner) * (_CALL if arguments else _STEP))


_SHIFTING = frozenset({"insert", "pop", "reverse"})
"""The methods that move the items after a place."""
_IN_PLACE = frozenset(
    {"add", "append", "clear", "discard", "extend", "get", "popitem", "setdefault", "update"}
)
"""The methods that look at no other item."""


def cost_of_replacing(text: Any, old: Any, new: Any) -> int:
    """Return an upper bound of the length after a replacement."""
    return len(text) + (len(text) // max(len(old), 1) + 1) * len(new)


def cost_of_joining(separator: Any, values: Iterable[Any], budget: WorkBudget) -> int:
    """Return the length of the joined text; the argument must be iterable twice."""
    return sum(weight(value, budget.left) + len(separator) for value in values)


def _width_cost(text: Any, arguments: Sequence[Any], _: WorkBudget) -> int:
    widths = [abs(number) for number in arguments if isinstance(number, int)]
    is_wide = any(isinstance(each, str) and not each.isascii() for each in (text, *arguments))
    return max(widths, default=0) * (4 if is_wide else 1)


def pieces_cost(text: Any) -> int:
    """Return the work for the words or lines of a text: at most one per white space."""
    if isinstance(text, bytes):
        return OBJECT * (len(text) // 2 + 1)
    spaces: int = sum(map(text.count, _SPACES))
    return OBJECT * (spaces + 1) + len(text)


_SPACES = [chr(code) for code in range(0x3001) if chr(code).isspace()]


def _split_cost(text: Any, arguments: tuple[Any, ...], _: WorkBudget) -> int:
    separators = [each for each in arguments if isinstance(each, type(text)) and each]
    count = sum(int(text.count(each)) for each in separators)
    return OBJECT * (count + 1) if separators else pieces_cost(text)


def _strip_cost(text: Any, arguments: tuple[Any, ...], _: WorkBudget) -> int:
    return len(text) * sum(map(_length, arguments)) >> 4


def _encode_cost(text: Any, arguments: tuple[Any, ...], _: WorkBudget) -> int:
    return len(text) * (_LONGEST_NAME if _LONG_HANDLERS.intersection(arguments) else 4)


_LONG_HANDLERS = {"namereplace", "xmlcharrefreplace", "backslashreplace"}
_LONGEST_NAME = 90


def striptags_cost(text: str) -> int:
    """Return the work for removing tags: each is a copy of the text."""
    return len(text) + (text.count("<") * len(text) >> 6)


def _striptags_cost(text: Any, _: tuple[Any, ...], __: WorkBudget) -> int:
    return striptags_cost(text)


def _replace_cost(text: Any, arguments: tuple[Any, ...], _: WorkBudget) -> int:
    return cost_of_replacing(text, *arguments[:2]) if len(arguments) > 1 else 0


def _join_cost(text: Any, arguments: tuple[Any, ...], budget: WorkBudget) -> int:
    (values,) = arguments if len(arguments) == 1 else ((),)
    if not isinstance(values, list | tuple | str | dict | range):
        raise TooExpensive(f"expected a list to join, got `{type(values).__name__}`: write `|join`")
    return cost_of_joining(text, values, budget)


def _expandtabs_cost(text: Any, arguments: tuple[Any, ...], _: WorkBudget) -> int:
    tab = b"\t" if isinstance(text, bytes) else "\t"
    return int(text.count(tab)) * _width_cost(text, arguments, _)


def _translate_cost(text: Any, arguments: tuple[Any, ...], budget: WorkBudget) -> int:
    table = arguments[0] if arguments and isinstance(arguments[0], Mapping) else {}
    return len(text) * max((weight(text, budget.left) for text in table.values()), default=1)


def _format_cost(text: Any, arguments: tuple[Any, ...], budget: WorkBudget) -> int:
    fields = int(text.count("{"))
    widths = sum(int(digits) for digits in _DIGITS.findall(text) if len(digits) <= _MAX_WIDTH)
    if _NESTED.search(text):
        widths += fields * 10**_MAX_WIDTH
    return len(text) + widths + fields * weight(arguments, budget.left)


_DIGITS = re.compile(r"\d+")
_NESTED = re.compile(r":[^{}]*\{")


_METHODS: dict[str, Callable[[Any, tuple[Any, ...], WorkBudget], int]] = {
    "center": _width_cost,
    "ljust": _width_cost,
    "rjust": _width_cost,
    "zfill": _width_cost,
    "replace": _replace_cost,
    "join": _join_cost,
    "expandtabs": _expandtabs_cost,
    "translate": _translate_cost,
    "split": _split_cost,
    "rsplit": _split_cost,
    "splitlines": lambda text, _, __: pieces_cost(text),
    "strip": _strip_cost,
    "lstrip": _strip_cost,
    "rstrip": _strip_cost,
    "encode": _encode_cost,
    "striptags": _striptags_cost,
    "format": _format_cost,
    "format_map": _format_cost,
}
