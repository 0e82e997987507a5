"""Parse a line of text as JSON, and reject input that fast JSON parsers accept.

`BadJson`, with the column if known, is raised for duplicate keys (at any depth and with any
escapes), NaN, Infinity, numbers that are too large to store, lone surrogates, and nesting that is
too deep.
"""

import json
import re
from typing import Any, NamedTuple, NoReturn

from evalwright.vocabulary import MAX_DEPTH, MAX_DIGITS

_WHITESPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"\w{1,40}")
# Strings are whole tokens, so that nothing is found inside them. A string with group 2 is a key.
_TOKEN = re.compile(
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+")([ \t\n\r]*:)?|[{}]|NaN|-?Infinity|-?\d[-+.\deE]*'
)
# A key of an object and, if it is a string, its value.
_MEMBER = re.compile(
    r'[ \t\n\r]*[{,][ \t\n\r]*("[^"\\]*+(?:\\.[^"\\]*+)*+")([ \t\n\r]*:[ \t\n\r]*)'
    r'("[^"\\]*+(?:\\.[^"\\]*+)*+")?'
)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Whole surrogate pairs and all other escapes are skipped; group 1 is half a pair.
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)")
_MESSAGES = {
    "Expecting property name enclosed in double quotes": "expected a key in double quotes here",
    "Illegal trailing comma before end of object": "remove the comma before the closing brace",
    "Illegal trailing comma before end of array": "remove the comma before the closing bracket",
    "Expecting ',' delimiter": "a comma is missing here",
    "Expecting ':' delimiter": "a colon is missing here",
    "Unterminated string starting at": "this string is not closed",
    "Invalid control character at": "a control character inside a string; escape it",
    "Invalid \\escape": "JSON does not have this escape",
    "Invalid \\uXXXX escape": "a `\\u` escape needs four hexadecimal digits",
    "Extra data": "text after the record; write one record per line",
}
_OTHER_LANGUAGES = {"True": "true", "False": "false", "None": "null", "undefined": "null"}


class BadJson(ValueError):
    """Raised for a line that is not JSON, with reason and column."""

    def __init__(self, detail: str, column: int | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.column = column


def parse(text: str) -> Any:
    """Return the value of `text`, or raise `BadJson`."""
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise _translate_error(error) from None
    except _DuplicateKeyError:
        raise _find_repeated_key(text) from None
    except _LiteralError as error:
        raise BadJson(error.detail, _find_literal(text, error.literal)) from None
    except ValueError:  # Python's limit for digits may be lower than the default
        raise BadJson("an integer is out of range") from None
    except RecursionError:
        raise BadJson("nested too deeply") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and depth(value) > MAX_DEPTH:
        raise BadJson("nested too deeply")
    if _SURROGATE.search(text) and (half := _find_half_pair(text)):
        raise BadJson("a `\\u` escape is half of a surrogate pair", half)
    return value


def depth(value: Any) -> int:
    """Return the number of lists and objects around the innermost value."""
    levels, level = 0, [value]
    while inner := [item for item in level if isinstance(item, dict | list)]:
        levels += 1
        level = [
            child for item in inner for child in (item.values() if isinstance(item, dict) else item)
        ]
    return levels


class KeyPlace(NamedTuple):
    """Columns where a top-level key and its value start, from 1."""

    key: int
    value: int


def find_key(key: str, text: str) -> KeyPlace | None:
    """Return the place of a top-level key in an object that `parse` accepted."""
    at = 0
    while member := _MEMBER.match(text, at):
        if _decode_key(member[1]) == key:
            return KeyPlace(member.start(1) + 1, member.end(2) + 1)
        at = member.end() if member[3] else _scanner.raw_decode(text, member.end(2))[1]
    return None


def _decode_key(written: str) -> str:
    return str(json.loads(written)) if "\\" in written else written[1:-1]


class _DuplicateKeyError(ValueError):
    """Raised for a duplicate key in an object."""


class _LiteralError(ValueError):
    """Raised for a number that is not JSON or cannot be stored."""

    def __init__(self, literal: str, detail: str) -> None:
        super().__init__(detail)
        self.literal = literal
        self.detail = detail


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _DuplicateKeyError
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise _LiteralError(name, f"`{name}` is not a JSON number")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise _LiteralError(digits, f"the number `{digits[:40]}` is out of range")
    return number


def _parse_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _LiteralError(digits, f"an integer with {len(digits):,} digits is out of range")
    return int(digits)


_decoder = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_constant=_refuse_constant,
    parse_float=_parse_float,
    parse_int=_parse_int,
)
_scanner = json.JSONDecoder()


def _skip_space(text: str, at: int) -> int:
    match = _WHITESPACE.match(text, at)
    return match.end() if match else at


def _find_literal(text: str, literal: str) -> int | None:
    columns = (match.start() + 1 for match in _TOKEN.finditer(text) if match[0] == literal)
    return next(columns, None)


def _find_repeated_key(text: str) -> BadJson:
    objects: list[set[str]] = []
    for match in _TOKEN.finditer(text):
        if match[2]:
            key = _decode_key(match[1])
            if key in objects[-1]:
                return BadJson(f"duplicate key `{key[:60]}`", match.start() + 1)
            objects[-1].add(key)
        elif match[0] == "{":
            objects.append(set())
        elif match[0] == "}":
            objects.pop()
    return BadJson("duplicate key")


def _find_half_pair(text: str) -> int | None:
    columns = (match.start() + 1 for match in _ESCAPE.finditer(text) if match[1])
    return next(columns, None)


def _translate_error(error: json.JSONDecodeError) -> BadJson:
    text, at = error.doc, error.pos
    end = len(text.rstrip())
    if at >= end:
        return BadJson("the line ends before the record does", end + 1)
    before = text[:at].rstrip()
    if text[at] in "}]" and before.endswith(","):
        closing = "brace" if text[at] == "}" else "bracket"
        return BadJson(f"remove the comma before the closing {closing}", len(before))
    if error.msg.startswith("Invalid \\u"):
        at = text.rindex("\\", 0, at + 1)
    return BadJson(_explain_message(error.msg, text, at), at + 1)


def _explain_message(message: str, text: str, at: int) -> str:
    char, before = text[at], text[at - 1 : at]
    if message.startswith(("Expecting", "Extra")):
        if not char.isprintable():
            return f"unexpected character U+{ord(char):04X}"
        if before == "0" and char in "0123456789":
            return "a number must not start with 0"
        if before.isdigit() and (char in "._" or char.isalpha()):
            return "JSON does not allow this number"
    if message.startswith("Expecting value"):
        return _explain_no_value(text, at)
    for opening, sentence in _MESSAGES.items():
        if message.startswith(opening):
            return sentence
    return message


def _explain_no_value(text: str, at: int) -> str:
    if text[at] == "'":
        return "strings need double quotes"
    if match := _WORD.match(text, at):
        word = match[0]
        hint = f"; write `{_OTHER_LANGUAGES[word]}`" if word in _OTHER_LANGUAGES else ""
        return f"`{word}` is not a JSON value{hint}"
    return (
        "a value is missing here"
        if text[at] in ",:]}"
        else f"`{text[at]}` cannot start a JSON value"
    )
