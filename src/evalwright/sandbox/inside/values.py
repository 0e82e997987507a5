"""Python values as tagged JSON, and back: by exact types, without pickle.

`None`, booleans, strings, floats and integers are themselves. All else is an array with a tag:

    i hex                      a large integer              b, B text        bytes, bytearray
    l items                    list                         c re, im         complex
    t, s, z items              tuple, set, frozenset        R, L a, b, c     range, slice
    d k, v, k, v               dict                         K, V, I items    views of a dict
    S name, …                  a value of the standard library, from a closed list
    C name, …                  a container of the standard library, likewise
    N, M dtype, shape, bytes   an array of numpy, a number of numpy
    q module, name             a function or class of the standard library, from a closed list
    E                          the ellipsis
    r number                   a container that came before in this exchange

Each side adds values and tags of its own by `_encode_other` and `decoders`. What can be changed in
place is numbered as it comes, on both sides alike, so that the called side can report changes.
"""

import json
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, ClassVar

from . import packages

Decoders = dict[str, Callable[[Any, list[Any]], Any]]

MAX_DEPTH = 100
CONTAINERS = {kind: kind.__name__ for kind in (Counter, OrderedDict, defaultdict, deque)}
_CONTAINER_CLASSES: dict[str, Any] = {name: kind for kind, name in CONTAINERS.items()}
# Their modules are not loaded before somebody needs them.
_STANDARD_VALUES = {
    "datetime": frozenset({"date", "datetime", "time", "timedelta", "timezone"}),
    "decimal": frozenset({"Decimal"}),
    "fractions": frozenset({"Fraction"}),
}
_DTYPE = re.compile(r"[<>|=]?[biufc]\d{1,2}")
_LARGE = 1 << 1024
_SCALARS = frozenset({type(None), bool, str, int, float})
_MODULES_OF_FUNCTIONS = frozenset({
    "bisect", "builtins", "cmath", "collections", "copy", "datetime", "decimal", "fractions",
    "functools", "heapq", "itertools", "math", "operator", "re", "statistics", "string",
})  # fmt: skip
# Where functions say they come from when they are written in C.
_ALIASES = {f"_{name}": name for name in ("bisect", "functools", "heapq", "operator")}
_BUILTINS = frozenset({
    "abs", "all", "any", "bin", "bool", "bytearray", "bytes", "chr", "complex", "dict", "divmod",
    "enumerate", "filter", "float", "frozenset", "hex", "int", "len", "list", "map", "max", "min",
    "oct", "ord", "pow", "range", "reversed", "round", "set", "slice", "sorted", "str", "sum",
    "tuple", "zip",
})  # fmt: skip
_FUNCTIONS = (type(len), type(lambda: 0), type)
_EMPTY: dict[str, str] = {}
_KEYS, _VALUES, _ITEMS = type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items())

dumps = json.JSONEncoder(check_circular=False, ensure_ascii=False, separators=(",", ":")).encode
_loads = json.loads


def pack(message: Any) -> bytes:
    """A message as bytes. Surrogates stay what they are, alone and in pairs."""
    return dumps(message).encode("utf-8", "surrogatepass")


def unpack(body: bytes) -> Any:
    """The message of those bytes."""
    return _loads(body.decode("utf-8", "surrogatepass"))


class Unsendable(TypeError):
    """A value that has no form in JSON."""


class BadValue(Exception):
    """JSON that does not represent a value: no honest candidate sends it."""


class Unreceivable(BadValue):
    """A value that exists over there and cannot be made here."""


class Encoder:
    """Encodes the values of one message."""

    def __init__(self, known: list[Any], side: Any = None) -> None:
        """`known` are the containers of this exchange, by number; `side` is for subclasses."""
        self._known, self._side = known, side
        self._numbers = {id(value): number for number, value in enumerate(known)}
        self._depth = 0

    def encode(self, value: Any) -> Any:
        """The form of a value; `Unsendable` if it has none."""
        kind = type(value)
        if kind in _SCALARS:
            if kind is int and not -_LARGE < value < _LARGE:
                return ["i", hex(value)]
            return value
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH:
                raise Unsendable(f"nested more than {MAX_DEPTH} deep")
            make = _MAKERS.get(kind)
            return make(self, value) if make else self._encode_rare(value, kind)
        finally:
            self._depth -= 1

    def encode_all(self, some: Any) -> list[Any]:
        """The forms of several values."""
        values: list[Any] = list(some)
        kinds = set(map(type, values))
        if kinds <= _SCALARS:
            ints = [value for value in values if type(value) is int] if int in kinds else [0]
            if max(ints) < _LARGE and min(ints) > -_LARGE:
                return values
        return [self.encode(value) for value in values]

    def encode_contents(self, container: Any) -> Any:
        """What a numbered container holds, whether or not it was sent before."""
        make = _CONTENTS.get(type(container))
        return make(self, container) if make else ["N", *_array_parts(container)]

    def encode_changes(self, containers: list[Any], before: list[str]) -> list[Any]:
        """Numbers and contents of the containers that have changed."""
        changes = []
        for number, container in enumerate(containers):
            contents = self.encode_contents(container)
            if dumps(contents) != before[number]:
                changes.append([number, contents])
        return changes

    def _encode_container(self, value: Any) -> Any:
        number = self._numbers.get(id(value))
        if number is not None:
            return ["r", number]
        self._numbers[id(value)] = len(self._known)
        self._known.append(value)
        return self.encode_contents(value)

    def _encode_rare(self, value: Any, kind: type) -> Any:
        name = _standard_name(value)
        if name is not None:
            try:
                return ["S", name, *self.encode_all(PARTS[name](value))]
            except ValueError:  # such as a time in a zone of its own
                return self._encode_other(value)
        if kind in _FUNCTIONS or isinstance(value, type):
            return encode_function(value) or self._encode_other(value)
        numpy = sys.modules.get("numpy")
        if numpy is not None and (kind is numpy.ndarray or isinstance(value, numpy.generic)):
            if _DTYPE.fullmatch(value.dtype.str) is None:
                return self._encode_other(value)
            if kind is numpy.ndarray:
                return self._encode_container(value)
            return ["M", *_array_parts(value)]
        return self._encode_other(value)

    def _encode_other(self, value: Any) -> Any:
        raise Unsendable(f"a `{type(value).__name__}`")


def _encode_standard_contents(encoder: Encoder, value: Any) -> Any:
    name = CONTAINERS[type(value)]
    return ["C", name, *encoder.encode_all(PARTS[name](value))]


_CONTENTS: dict[type, Callable[[Encoder, Any], Any]] = {
    list: lambda encoder, value: ["l", *encoder.encode_all(value)],
    dict: lambda encoder, value: ["d", *encoder.encode_all(_flatten(value))],
    set: lambda encoder, value: ["s", *encoder.encode_all(value)],
    bytearray: lambda _, value: ["B", value.decode("latin-1")],
    **dict.fromkeys(CONTAINERS, _encode_standard_contents),
}
_MAKERS: dict[type, Callable[[Encoder, Any], Any]] = {
    **dict.fromkeys(_CONTENTS, Encoder._encode_container),  # noqa: SLF001 - its own table
    tuple: lambda encoder, value: ["t", *encoder.encode_all(value)],
    frozenset: lambda encoder, value: ["z", *encoder.encode_all(value)],
    bytes: lambda _, value: ["b", value.decode("latin-1")],
    complex: lambda _, value: ["c", value.real, value.imag],
    range: lambda encoder, value: ["R", *encoder.encode_all((value.start, value.stop, value.step))],
    slice: lambda encoder, value: ["L", *encoder.encode_all((value.start, value.stop, value.step))],
    type(...): lambda _, __: ["E"],
    _KEYS: lambda encoder, value: ["K", *encoder.encode_all(value)],
    _VALUES: lambda encoder, value: ["V", *encoder.encode_all(value)],
    _ITEMS: lambda encoder, value: ["I", *encoder.encode_all(_flatten(dict(value)))],
}


def encode_function(value: Any) -> list[str] | None:
    """The form of a function or class of the closed list; None for any other."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if type(module) is not str or type(name) is not str:
        return None
    module = _ALIASES.get(module, module)
    if not _is_common(module, name) or getattr(sys.modules.get(module), name, None) is not value:
        return None
    return ["q", module, name]


def _is_common(module: str, name: str) -> bool:
    if module == "builtins":
        return name in _BUILTINS
    return module in _MODULES_OF_FUNCTIONS and "." not in name and name[:1] != "_"


class Decoder:
    """Decodes the forms of one message. Whatever is wrong with one is `BadValue`."""

    def __init__(self, known: list[Any], side: Any = None) -> None:
        """`known` and `side` are as in `Encoder`."""
        self._known, self._side = known, side
        self._depth = 0

    def decode(self, form: Any) -> Any:
        """The value of a form."""
        if type(form) is not list:
            if type(form) is dict:
                raise BadValue("an object")
            return form
        if not form or type(form[0]) is not str:
            raise BadValue("an array without a tag")
        self._depth += 1
        try:
            if self._depth > MAX_DEPTH + 1:  # around all is what it is an answer to
                raise BadValue(f"nested more than {MAX_DEPTH} deep")
            make = self.decoders.get(form[0])
            if make is None:
                raise BadValue(f"an unknown tag {form[0][:20]!r}")
            return make(self, form[1:])
        except RecursionError:
            raise BadValue("nested deeper than there is room") from None
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise BadValue(f"`{form[0]}`: {error}") from None
        finally:
            self._depth -= 1

    def decode_all(self, forms: list[Any]) -> list[Any]:
        """The values of several forms."""
        if list in (kinds := set(map(type, forms))) or dict in kinds:
            return [self.decode(form) for form in forms]
        return forms

    def apply_changes(self, containers: list[Any], changes: Any) -> None:
        """Bring containers that were passed up to date."""
        for change in changes:
            match change:
                case [int(number), [str(tag), *rest]] if 0 <= number < len(containers):
                    try:
                        self._refill(containers[number], tag, rest)
                    except (TypeError, ValueError, LookupError, AttributeError) as error:
                        raise BadValue(f"a change: {error}") from None
                case _:
                    raise BadValue("no change")

    def _refill(self, container: Any, tag: str, forms: list[Any]) -> None:
        if tag == "N":
            container[...] = _make_array(forms)
        elif tag == "C" and forms[:1] == [CONTAINERS.get(type(container))]:
            self._fill(container, _split_parts(forms[0], forms[1:])[1])
        elif tag == _TAGS.get(type(container)):
            self._fill(container, forms)
        else:
            raise BadValue("the contents of another kind of container")

    def _fill(self, container: Any, forms: list[Any]) -> None:
        if type(container) is bytearray:
            (text,) = forms
            container[:] = text.encode("latin-1")
            return
        items = self.decode_all(forms)
        filled: Any = items
        if isinstance(container, dict):
            filled = _pairs(items)
        elif isinstance(container, set):
            filled = _hashable(set, items)
        container.clear()
        if type(container) is Counter:
            dict.update(container, filled)  # its own would count
        elif isinstance(container, (dict, set)):
            container.update(filled)
        else:
            container.extend(filled)

    def _decode_container(self, value: Any, forms: list[Any]) -> Any:
        """Fill a new container, numbered before its contents: it may hold itself."""
        self._known.append(value)
        self._fill(value, forms)
        return value

    def _decode_reference(self, form: list[Any]) -> Any:
        (number,) = form
        if type(number) is not int or number < 0:
            raise BadValue("a container without a number")
        return self._known[number]

    def _decode_array(self, form: list[Any]) -> Any:
        value = _make_array(form)
        self._known.append(value)
        return value

    def _decode_standard_container(self, form: list[Any]) -> Any:
        name, *parts = form
        first, rest = _split_parts(name, parts)
        option = self.decode(first)
        kind = _CONTAINER_CLASSES[name]
        if kind is deque:
            return self._decode_container(deque(maxlen=option), rest)
        return self._decode_container(defaultdict(option) if kind is defaultdict else kind(), rest)

    def _decode_standard_value(self, form: list[Any]) -> Any:
        name, *forms = form
        if type(name) is not str or name not in PARTS:
            raise BadValue("a value of an unknown class")
        parts = self.decode_all(forms)
        (module,) = [module for module, names in _STANDARD_VALUES.items() if name in names]
        kind = getattr(__import__(module), name)
        if name == "timezone":
            (offset,) = parts
            return kind(offset)
        if name in {"datetime", "time"}:
            *numbers, fold, zone = parts
            _check_types(int, numbers)
            return kind(*numbers, zone, fold=fold)
        _check_types(str if name == "Decimal" else int, parts)
        return kind(*parts)

    def _decode_function(self, form: list[Any]) -> Any:
        module, name = form
        if type(module) is not str or type(name) is not str or not _is_common(module, name):
            raise BadValue("a function that is not handed over by name")
        value = getattr(__import__(module), name)
        if type(value) not in _FUNCTIONS and not isinstance(value, type):
            raise BadValue("neither a function nor a class")
        return value

    decoders: ClassVar[Decoders] = {
        "i": lambda _, form: int(form[0], 16),
        "l": lambda self, form: self._decode_container([], form),
        "d": lambda self, form: self._decode_container({}, form),
        "s": lambda self, form: self._decode_container(set(), form),
        "B": lambda self, form: self._decode_container(bytearray(), form),
        "C": _decode_standard_container,
        "N": _decode_array,
        "r": _decode_reference,
        "t": lambda self, form: tuple(self.decode_all(form)),
        "z": lambda self, form: _hashable(frozenset, self.decode_all(form)),
        "b": lambda _, form: form[0].encode("latin-1"),
        "c": lambda _, form: complex(float(form[0]), float(form[1])),
        "R": lambda self, form: range(*self.decode_all(form)),
        "L": lambda self, form: slice(*self.decode_all(form)),
        "E": lambda _, __: ...,
        "K": lambda self, form: _hashable(dict.fromkeys, self.decode_all(form)).keys(),
        "V": lambda self, form: dict(enumerate(self.decode_all(form))).values(),
        "I": lambda self, form: _pairs(self.decode_all(form)).items(),
        "S": _decode_standard_value,
        "M": lambda _, form: _make_array(form)[()],
        "q": _decode_function,
    }
    """What makes a value of a form, by the form's tag."""


_TAGS: dict[type, str] = {list: "l", dict: "d", set: "s", bytearray: "B"}


def _pairs(items: list[Any]) -> dict[Any, Any]:
    pairs: dict[Any, Any] = _hashable(
        lambda keys: dict(zip(keys, items[1::2], strict=True)), items[::2]
    )
    return pairs


def _hashable(make: Callable[[Any], Any], items: list[Any]) -> Any:
    """Make a set or a dict; an object that has a hash over there may have none here."""
    try:
        return make(items)
    except TypeError as error:
        if any(type(item) in _TAGS for item in items):
            raise  # nobody has a list in a set
        raise Unreceivable(str(error)) from None


def take_snapshot(containers: list[Any], encoder: Encoder) -> list[str]:
    """The contents of every container, to compare before and after."""
    return [dumps(encoder.encode_contents(container)) for container in containers]


def _standard_name(value: Any) -> str | None:
    kind = type(value)
    if kind.__name__ not in _STANDARD_VALUES.get(kind.__module__, ()):
        return None
    listed = getattr(sys.modules.get(kind.__module__), kind.__name__, None)
    return kind.__name__ if listed is kind else None


def _flatten(pairs: dict[Any, Any]) -> list[Any]:
    return [part for pair in pairs.items() for part in pair]


def _clock_parts(value: Any) -> list[Any]:
    if value.tzinfo is not None and _standard_name(value.tzinfo) != "timezone":
        raise ValueError("a zone that is not a fixed one")
    time = [value.hour, value.minute, value.second, value.microsecond]
    return [*time, value.fold, value.tzinfo]


PARTS: dict[str, Callable[[Any], Any]] = {
    "Counter": _flatten,
    "OrderedDict": _flatten,
    "defaultdict": lambda value: [value.default_factory, *_flatten(value)],
    "deque": lambda value: [value.maxlen, *value],
    "date": lambda value: [value.year, value.month, value.day],
    "datetime": lambda value: [value.year, value.month, value.day, *_clock_parts(value)],
    "time": _clock_parts,
    "timedelta": lambda value: [value.days, value.seconds, value.microseconds],
    "timezone": lambda value: [value.utcoffset(None)],
    "Decimal": lambda value: [str(value)],
    "Fraction": lambda value: [value.numerator, value.denominator],
}


def _split_parts(name: str, parts: list[Any]) -> tuple[Any, list[Any]]:
    """The argument that only some containers are made with, and the contents."""
    if name in {"defaultdict", "deque"}:
        first, *rest = parts
        return first, rest
    return None, parts


def _check_types(kind: type, parts: list[Any]) -> None:
    if any(type(part) is not kind for part in parts):
        raise TypeError(f"it contains `{kind.__name__}`")


def _array_parts(value: Any) -> list[Any]:
    return [value.dtype.str, list(value.shape), value.tobytes().decode("latin-1")]


def _make_array(parts: list[Any]) -> Any:
    dtype, shape, text = parts
    if type(dtype) is not str or _DTYPE.fullmatch(dtype) is None:
        raise ValueError("an array of something else than numbers")
    _check_types(int, shape)
    if min(shape, default=0) < 0:
        raise ValueError("an array of no size")
    if "numpy" not in packages.NAMES and sys.modules.get("numpy") is None:
        raise ValueError("an array, where there is no numpy")
    numpy = __import__("numpy")
    return numpy.frombuffer(text.encode("latin-1"), dtype).reshape(shape).copy()
