"""Read JSON Lines files (one object per line) and `.json` files (one list of objects).

Blank lines are skipped. A duplicate key in an object is an error. If a line is bad, rows are
yielded up to that line, and after the whole file has been read, one error lists all bad lines.

With a path (see `json_path`), the rows are the objects at this path in the `.json` file, or in each
line of the JSON Lines file.

`to_json` converts values of other libraries to JSON.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import msgspec

from evalwright.datasets.faults import UnreadableLine, UnreadableLines, explain_bytes
from evalwright.datasets.json_path import count_lines, locate, parse_path, select
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


class JsonFile:
    """The rows of a `.json` file: the objects in its list, or at the path `records`."""

    header: tuple[str, ...] | None = None

    def __init__(self, path: Path, *, records: str = "", skips_bad: bool = False) -> None:
        """`skips_bad` skips the items that are not objects."""
        self._path = str(path)
        self._records = records
        self._steps = parse_path(records or "$[*]")
        self._skips_bad = skips_bad
        self.unreadable = UnreadableLines(self._path, what="items are not objects")
        """The skipped items, complete after the first row."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the objects; raise `BadDataset` before the first if any item is something else."""
        content = self._read()
        value = self._decode(content)
        if not self._records and not isinstance(value, list):
            got = f"expected a list of objects, got {describe_type(value)}"
            raise BadDataset(f"{show_path(self._path)}: {got}", hint=_suggest_records(value))
        if key := find_repeated_key(value, content):
            where = f"{show_path(self._path)}: {_explain_repeated_key(key)}"
            raise BadDataset(where, hint=_REPEATED_HINT)
        try:
            items = list(select(value, self._steps))
        except ValueError as error:
            raise BadDataset(f"{show_path(self._path)}: {error}", hint=_LIST_HINT) from error
        if not all(type(item) is dict for item in items):
            self._refuse_items(content, items)
        yield from (item for item in items if type(item) is dict)

    def lines(self) -> Iterator[int]:
        """Yield the line in which each row starts."""
        content = self._read()
        items = select(self._decode(content), self._steps)
        for item, line in zip(items, self._item_lines(content), strict=False):
            if type(item) is dict:
                yield line

    def _refuse_items(self, content: bytes, items: Sequence[Any]) -> None:
        faults = self.unreadable = UnreadableLines(self._path, what="items are not objects")
        for item, line in zip(items, self._item_lines(content), strict=False):
            if type(item) is not dict:
                faults.rows += 1
                is_list = isinstance(item, list) and self._records
                hint = f"write `records: {self._records}[*]`" if is_list else _LIST_HINT
                detail = f"expected an object, got {describe_type(item)}"
                faults.add(UnreadableLine(line, None, detail, hint), once=False)
        if not self._skips_bad:
            raise faults.error(len(items))

    def _item_lines(self, content: bytes) -> Iterator[int]:
        text = content.decode()
        return count_lines(text, locate(text, self._steps))

    def _read(self) -> bytes:
        content = read_whole(self._path, limit=MOST_BYTES)
        if isinstance(content, BadLine):
            raise BadDataset(
                f"{show_path(self._path)}: more than {MOST_BYTES >> 20} MiB, or not text",
                hint="use a .jsonl file for a large dataset: it is read line by line",
            )
        return content

    def _decode(self, content: bytes) -> Any:
        try:
            return msgspec.json.decode(content)
        except (ValueError, RecursionError) as error:
            place, detail = _explain_document(content, str(error))
            raise BadDataset(
                f"{show_path(self._path)}{place}: {detail}", hint=_LIST_HINT
            ) from error


_LIST_HINT = "write a list of objects, `[{…}, {…}]`; one object per line is a .jsonl file"


def _suggest_records(value: Any) -> str:
    """Suggest the path of the only list of objects in an object."""
    items = value.items() if isinstance(value, dict) else ()
    lists = [
        key for key, item in items if isinstance(item, list) and item and type(item[0]) is dict
    ]
    if len(lists) == 1:
        key = f".{lists[0]}" if lists[0].isidentifier() else f"['{lists[0]}']"
        return f'if the rows are in `{lists[0]}`, set `records: "${key}[*]"` on the source'
    return _LIST_HINT


def _explain_document(content: bytes, message: str) -> tuple[str, str]:
    """Return the place, as `:3:6`, and the reason why a file is not JSON."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if fault := explain_bytes(number, line):
            return f":{number}:{fault.column}", fault.detail
    try:
        json.loads(content, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        return f":{error.lineno}:{error.colno}", f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
    except (ValueError, RecursionError):
        pass
    return "", message


def read_objects(
    path: str, convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None, *, hint: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the object in each line, up to the first bad line; at the end, raise for all bad lines.

    `convert` may return a different row. If it raises ValueError, the line is bad.
    """
    faults = UnreadableLines(path)
    return (row for _, row in read_numbered_objects(path, faults, convert, hint=hint))


class JsonLinesFile:
    """The rows of a JSON Lines file: its objects, or those at the path `records` in each line."""

    header: tuple[str, ...] | None = None

    def __init__(self, path: Path, *, records: str = "", skips_bad: bool = False) -> None:
        """`skips_bad` skips the lines that are not objects."""
        self._path = str(path)
        self._steps = parse_path(records) if records else ()
        self._skips_bad = skips_bad
        self.unreadable = UnreadableLines(self._path)
        """The skipped lines, complete after the last row."""

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the objects, up to the first bad line; at the end, raise for all bad lines."""
        return (row for _, row in self.located_rows())

    def lines(self) -> Iterator[int]:
        """Yield the line of each row."""
        return (line for line, _ in self.located_rows())

    def located_rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows with their lines."""
        faults = self.unreadable = UnreadableLines(self._path)
        lines = read_numbered_objects(self._path, faults, skips_bad=self._skips_bad)
        if not self._steps:
            yield from lines
            return
        for number, line in lines:
            try:
                items = list(select(line, self._steps))
            except ValueError as error:
                faults.add(UnreadableLine(number, None, str(error)))
                continue
            if wrong := next((item for item in items if type(item) is not dict), None):
                detail = f"expected an object, got {describe_type(wrong)}"
                faults.add(UnreadableLine(number, None, detail))
            elif self._skips_bad or not faults.count:
                yield from ((number, item) for item in items)
        faults.rows = faults.count
        if faults.count and not self._skips_bad:
            raise faults.error(number)


def read_numbered_objects(
    path: str,
    faults: UnreadableLines,
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    *,
    hint: str = "",
    skips_bad: bool = False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the same with line numbers; `skips_bad` adds bad lines to `faults` and goes on."""
    decode = msgspec.json.Decoder(dict[str, Any]).decode
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
        if skips_bad or not faults.count:
            yield number, row
    faults.rows = faults.count
    if faults.count and not skips_bad:
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
