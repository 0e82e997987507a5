"""The result of a call: a value as JSON, or the reason for its failure.

Values      Objects are converted by their `to_json`, `tolist` (arrays and their numbers),
            `model_dump` (pydantic) or `isoformat` (dates). Tuples become lists. NaN and infinities
            become null.
Failures    `tasks/x.yaml:14 in compute_scores: KeyError: 'foo'`. The location is the innermost line
            of the author's code, not of a library.
"""

import json
import math
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

_MAX_MESSAGE = 4000
_LIBRARY = os.path.dirname(os.__file__)  # noqa: PTH120 - frames have paths as strings
_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - the same
_MAX_BITS = 4000
_MAX_DEPTH = 200
_CONVERSIONS = ("to_json", "tolist", "model_dump", "isoformat")


class CallFailed(Exception):
    """A call failed. `kind` is the name of an exception, or `result`, `timeout` or `crashed`."""

    def __init__(self, kind: str, message: str, hint: str = "", ask: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.hint = kind, hint
        self.ask = ask
        """The failed model query, if its exception is the one that the author's function raised."""

    def copy(self) -> "CallFailed":
        """Return a copy to raise again, because an exception keeps the traceback of every raise."""
        return CallFailed(self.kind, str(self), self.hint, self.ask)

    def to_json(self) -> dict[str, Any]:
        """Return the failure as JSON for the engine."""
        return {"kind": self.kind, "message": str(self), "hint": self.hint, "ask": self.ask}


class NoAnswer(Exception):
    """Raised by `model.predict` if the model returned no usable answer."""

    def __init__(self, kind: str, message: str, ask: int) -> None:
        super().__init__(message)
        self.kind, self.ask = kind, ask


def describe_exception(error: BaseException, place: str, *, loading: bool = False) -> CallFailed:
    """Convert an exception from an author's code; `place` is used if no line of it is found."""
    name, message = "Exception", ""
    try:
        name = str(type(error).__name__)
        message = str(error)
    except BaseException as unprintable:  # noqa: BLE001 - the author wrote its __str__
        message = "the exception cannot be printed"
        del unprintable
    places = _find_places(error.__traceback__)
    if isinstance(error, SyntaxError) and loading:
        message = str(error.msg)
        places.append(f"{error.filename}:{error.lineno or 0}")
    ask = None
    if isinstance(error, NoAnswer):
        name, ask = error.kind, error.ask
    name = clean(name)
    place = places[-1] if places else place
    text = f"{place}: {name}: {message}" if message else f"{place}: {name}"
    hint = f"called from {places[-2]}" if len(places) > 1 else ""
    return CallFailed(name, clean(text), clean(hint), ask)


def clean(text: str) -> str:
    """Return the text on one line that can be stored and printed."""
    text = text[:_MAX_MESSAGE].encode("utf-8", "replace").decode()
    return " ".join(text.split("\n")) if "\n" in text else text


def _find_places(traceback: TracebackType | None) -> list[str]:
    places: list[str] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        file = code.co_filename
        foreign = file.startswith((_LIBRARY, _OURS, "<frozen ")) or "-packages" in file
        if not foreign:
            where = "" if code.co_name == "<module>" else f" in {code.co_name}"
            places.append(f"{file}:{traceback.tb_lineno}{where}")
        traceback = traceback.tb_next
    return places[-2:]


def encode_result(value: object, place: str, max_bytes: int) -> bytes:
    """Encode a result as JSON of at most `max_bytes`; `CallFailed` if this is not possible."""
    try:
        text = _ENCODER.encode(value).encode()
    except BaseException:  # noqa: BLE001 - a value may have any class or depth
        text = _encode_slowly(value, place)
    if len(text) > max_bytes:
        problem = f"expected at most {max_bytes} bytes of JSON, got {len(text)}"
        raise CallFailed("result", f"{place}: {problem}")
    return text


def _encode_slowly(value: object, place: str) -> bytes:
    try:
        return _ENCODER.encode(_to_plain(value, "$", 0)).encode()
    except _NoJson as error:
        problem = str(error)
    except BaseException as error:  # noqa: BLE001 - the author wrote its conversion
        problem = f"the result cannot be converted to JSON: {type(error).__name__}"
    raise CallFailed("result", f"{place}: {problem}")


class _NoJson(Exception):
    """Raised for a part of a result that is not JSON."""


def _convert(value: object) -> Any:
    for name in _CONVERSIONS:
        # A class also has the method, but it cannot be called on the class.
        if not isinstance(value, type) and callable(conversion := getattr(value, name, None)):
            return conversion()
    raise TypeError(f"expected JSON, got `{_type_name(value)}`")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_convert
)


def _to_plain(part: object, path: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise _NoJson(f"nested too deeply or recursive - at `{path[:_MAX_DEPTH]}`")
    if part is None or isinstance(part, str | int | float):
        return _to_scalar(part, path)
    if isinstance(part, Mapping):
        return {
            _check_key(key, path): _to_plain(part[key], f"{path}.{key}", depth + 1) for key in part
        }
    if isinstance(part, list | tuple):
        return [_to_plain(item, f"{path}[{n}]", depth + 1) for n, item in enumerate(part)]
    try:
        other = _convert(part)
    except TypeError as error:
        raise _NoJson(f"{error} - at `{path}`") from None
    return _to_plain(other, path, depth + 1)


def _check_key(key: object, path: str) -> Any:
    if key is None or isinstance(key, str | int | float):
        return key
    raise _NoJson(
        f"expected a string as a key, got a key of type `{_type_name(key)}` - at `{path}`"
    )


def _to_scalar(part: Any, path: str) -> Any:
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, str):
        if not part.isascii() and part.encode("utf-8", "replace").decode() != part:
            raise _NoJson(f"expected text, got a lone surrogate - at `{path}`")
    elif isinstance(part, int) and part.bit_length() > _MAX_BITS:
        raise _NoJson(f"the number is too long - at `{path}`")
    return part


def _type_name(part: object) -> str:
    kind = type(part)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
