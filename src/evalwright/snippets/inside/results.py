"""What an author's function returns, as JSON.

Objects become what their `to_json` gives (of arrays and their numbers, `tolist`; of pydantic's,
`model_dump`). Tuples become lists. NaN and the infinities become null: JSON has no others.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from .failed import Failed

_MAX_BITS = 4000
_MAX_DEPTH = 200
_CONVERSIONS = ("to_json", "tolist", "model_dump")


def encoded(value: object, place: str, max_bytes: int) -> bytes:
    """JSON, at most so much of it; `Failed` says which part is none."""
    try:
        text = _ENCODER.encode(value).encode()
    except BaseException:  # noqa: BLE001 - a value may be of any class, or too deep
        text = _mended(value, place)
    if len(text) > max_bytes:
        problem = f"expected at most {max_bytes} bytes of JSON, got {len(text)}"
        raise Failed("result", f"{place}: {problem}")
    return text


def _mended(value: object, place: str) -> bytes:
    """The same, slowly: part by part."""
    try:
        return _ENCODER.encode(_plain(value, "$", 0)).encode()
    except _NoJson as error:
        problem = str(error)
    except BaseException as error:  # noqa: BLE001 - the author wrote its conversion
        problem = f"the result cannot become JSON: {type(error).__name__}"
    raise Failed("result", f"{place}: {problem}")


class _NoJson(Exception):
    """Which part of a result cannot be JSON."""


def _converted(value: object) -> Any:
    for name in _CONVERSIONS:
        # Of a class itself the method is there, too, and cannot be called.
        if not isinstance(value, type) and callable(conversion := getattr(value, name, None)):
            return conversion()
    raise TypeError(f"expected JSON, got `{_named(value)}`")


_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_converted
)


def _plain(part: object, path: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise _NoJson(f"nested too deep, or holds itself - at `{path[:_MAX_DEPTH]}`")
    if part is None or isinstance(part, str | int | float):
        return _scalar(part, path)
    if isinstance(part, Mapping):
        return {_key(key, path): _plain(part[key], f"{path}.{key}", depth + 1) for key in part}
    if isinstance(part, list | tuple):
        return [_plain(one, f"{path}[{n}]", depth + 1) for n, one in enumerate(part)]
    try:
        other = _converted(part)
    except TypeError as error:
        raise _NoJson(f"{error} - at `{path}`") from None
    return _plain(other, path, depth + 1)


def _key(key: object, path: str) -> Any:
    if key is None or isinstance(key, str | int | float):
        return key
    raise _NoJson(f"expected a name, got a key of type `{_named(key)}` - at `{path}`")


def _scalar(part: Any, path: str) -> Any:
    if isinstance(part, float):
        return part if math.isfinite(part) else None
    if isinstance(part, str):
        if not part.isascii() and part.encode("utf-8", "replace").decode() != part:
            raise _NoJson(f"expected text, got half a surrogate - at `{path}`")
    elif isinstance(part, int) and part.bit_length() > _MAX_BITS:
        raise _NoJson(f"expected a number, got one too long - at `{path}`")
    return part


def _named(part: object) -> str:
    kind = type(part)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
