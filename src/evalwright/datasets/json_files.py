"""Read JSON Lines files (one object per line) and `.json` files (one list of objects).

Blank lines are skipped. A duplicate key in an object is an error. If a line is bad, rows are
yielded up to that line, and after the whole file has been read, one error lists all bad lines.

`to_json` converts values of other libraries to JSON.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from evalwright.datasets.faults import UnreadableLine, UnreadableLines, explain_bytes
from evalwright.errors import BadDataset
from evalwright.lines import BadLine, read_lines, read_whole, show_path

_encode = msgspec.json.Encoder().encode
MOST_BYTES = 256 * 1024 * 1024
_JSON_TYPES = (bool, int, float, str, type(None))
_TYPE_NAMES = {
    list: "a list",
    dict: "an object",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


def read_json_list(path: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in the list of a `.json` file."""
    content = read_whole(path, limit=MOST_BYTES)
    if isinstance(content, BadLine):
        raise BadDataset(
            f"{show_path(path)}: more than {MOST_BYTES >> 20} MiB, or not text",
            hint="use a .jsonl file for a large dataset: it is read line by line",
        )
    try:
        rows = msgspec.json.decode(content, type=list[dict[str, Any]])
    except (ValueError, RecursionError) as error:
        raise BadDataset(
            f"{show_path(path)}: {error}",
            hint="write a list of objects, `[{…}, {…}]`; one object per line is a .jsonl file",
        ) from error
    if key := find_repeated_key(rows, content):
        raise BadDataset(f"{show_path(path)}: {_explain_repeated_key(key)}", hint=_REPEATED_HINT)
    yield from rows


def read_objects(
    path: str, convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None, *, hint: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the object in each line, up to the first bad line; at the end, raise for all bad lines.

    `convert` may return a different row. If it raises ValueError, the line is bad.
    """
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    faults = UnreadableLines(path)
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        if not line and not isinstance(line, BadLine):
            continue
        try:
            row = decode(line)
        except (ValueError, RecursionError):  # includes whitespace
            faults.add(explain_line(number, line))
            continue
        if key := find_repeated_key(row, line):
            faults.add(UnreadableLine(number, None, _explain_repeated_key(key), _REPEATED_HINT))
            continue
        if convert:
            try:
                row = convert(row)
            except ValueError as error:
                faults.add(UnreadableLine(number, None, str(error), hint))
                continue
        if not faults.count:
            yield row
    if faults.count:
        raise faults.error(number)


_REPEATED_HINT = "keep one of the two"


def _explain_repeated_key(key: str) -> str:
    return f"duplicate key `{key[:60]}`"


def find_repeated_key(value: Any, text: bytes) -> str:
    """Return a duplicate key of any object in this JSON; empty if there is none.

    The text has at least one colon per key in the value. If it has no more, no key was dropped.
    """
    try:
        if text.count(b":") == _encode(value).count(b":") and b"\\u003" not in text:
            return ""
    except (ValueError, OverflowError, RecursionError):  # an integer beyond 64 bits
        pass
    repeated: list[str] = []

    def build(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated.append(next(key for key in counts if counts[key] > 1))

    json.loads(text, object_pairs_hook=build)
    return repeated[0] if repeated else ""


def explain_line(number: int, line: bytes) -> UnreadableLine | None:
    """Explain why a line is not a row; None for a blank line."""
    fault = explain_bytes(number, line)
    if fault or not line.strip():
        return fault
    return _explain_text(number, line.decode())


def _explain_text(number: int, text: str) -> UnreadableLine:
    try:
        value = json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:]
        return UnreadableLine(number, error.colno, f"not JSON: {message}", _hint(text))
    except _NotANumber as error:
        place = text.find(str(error)) + 1
        detail = f"not JSON: `{error}` is not a JSON value"
        return UnreadableLine(number, place, detail, "write null, or omit the key")
    except RecursionError:
        return UnreadableLine(number, None, "nested too deeply")
    except ValueError:  # a number with more than 4,300 digits
        return UnreadableLine(number, None, "number with too many digits")
    if not isinstance(value, dict):
        detail = f"expected an object, got {describe_type(value)}"
        return UnreadableLine(number, None, detail, 'write a row as {"column": value, …}')
    return UnreadableLine(number, None, "lone surrogate in a string, or number too large")


class _NotANumber(ValueError):
    """Raised for `NaN` and `Infinity`, which are not JSON."""


def refuse_constant(constant: str) -> NoReturn:
    """Raise ValueError for `NaN` and `Infinity`: a callback for `json.loads`."""
    raise _NotANumber(constant)


def _hint(text: str) -> str:
    start = text.lstrip()
    if start in {"[", "{"}:
        return "write one row per line; a file with one list must be named .json"
    if start.startswith("{'"):
        return "JSON needs double quotes"
    return ""


def describe_type(value: Any) -> str:
    """Return the name of a JSON value's type, for messages."""
    return _TYPE_NAMES.get(type(value), "a number")


def to_json_row(row: Any) -> dict[str, Any]:
    """Convert a row to JSON values; ValueError names the column that cannot be converted."""
    values = {}
    for name, value in row.items():
        try:
            values[str(name)] = to_json(value)
        except ValueError as error:
            raise ValueError(f"column `{name}`: {error}") from error
    return values


def to_json(value: Any) -> Any:
    """Convert to lists, dicts, strings, numbers, booleans and None; ValueError if impossible."""
    kind = type(value)
    if kind in _JSON_TYPES:
        return value
    if isinstance(value, str):  # a string subclass with a position in a document
        return str(value)
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        whole = value.is_finite() and value == value.to_integral_value()
        return int(value) if whole else float(value)
    if isinstance(value, UUID):
        return str(value)
    return _convert_other(value)


def _convert_other(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"expected text, got {len(value)} bytes that are not text") from None
    if callable(listed := getattr(value, "tolist", None)):  # NumPy arrays and numbers
        return to_json(listed())
    raise ValueError(f"expected JSON, got a `{type(value).__name__}`")
