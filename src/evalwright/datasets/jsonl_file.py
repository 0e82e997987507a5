"""JSON Lines: one object a line, its types kept.

A blank line is skipped. A line that is no object costs the whole file, but not before every other
bad line is counted: rows come out up to the first bad line, and at the end of the file the error.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from evalwright.datasets.faults import Fault, Faults, not_text, not_utf8
from evalwright.lines import BadLine, read_batches


class JsonlFile:
    """The rows of a `.jsonl` file."""

    header: tuple[str, ...] | None = None
    """Only the rows know which columns there are."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One a line; `BadDataset` if there is a bad line."""
        decode = msgspec.json.Decoder(dict[str, Any]).decode
        faults = Faults(self._path)
        number = 0
        for batch in read_batches(self._path):
            for number, line in enumerate(batch, start=number + 1):  # noqa: B020 - it goes on
                try:
                    row = decode(line)
                except (ValueError, RecursionError):  # a blank line too
                    faults.add(explained(number, line))
                    continue
                if not faults.count:
                    yield row
        if faults.count:
            raise faults.error(number)


def explained(number: int, line: bytes) -> Fault | None:
    """Why a line is no row; None for a blank one."""
    if isinstance(line, BadLine):
        return not_text(number, line)
    if not line.strip():
        return None
    return not_utf8(number, line) or _not_a_row(number, line.decode())


def _not_a_row(number: int, text: str) -> Fault:
    try:
        found = json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        return Fault(number, error.colno, f"not JSON: {_plain(error.msg)}", _hint(text))
    except _NotANumber as error:
        place = text.find(str(error)) + 1
        detail = f"not JSON: `{error}` is no value of JSON"
        return Fault(number, place, detail, "write null, or leave the key out")
    except RecursionError:
        return Fault(number, None, "nested too deeply")
    except ValueError:  # a number of more than 4,300 digits
        return Fault(number, None, "a number with too many digits")
    if not isinstance(found, dict):
        detail = f"expected an object, got {_kind(found)}"
        return Fault(number, None, detail, 'a row is written {"column": value, …}')
    return Fault(number, None, "a text with half a surrogate pair, or a number too large")


class _NotANumber(ValueError):
    """`NaN` or `Infinity`, which Python writes and JSON does not know."""


def _refused(constant: str) -> NoReturn:
    raise _NotANumber(constant)


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:]


def _hint(text: str) -> str:
    start = text.lstrip()
    if start in {"[", "{"}:
        return "one row a line; a file with one list in it is named .json"
    if start.startswith("{'"):
        return "JSON has double quotes"
    return ""


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
