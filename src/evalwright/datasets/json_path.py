"""Paths to the rows in a JSON document, in a small subset of JSONPath.

    $.outputs[*]           every item of the list `outputs`
    $.runs[0].samples[*]   the samples of the first run
    $['my key'][*]         quotes around a key with other characters than letters, digits, _ -

A path starts with `$`. `[*]` selects every item of a list, and every value of an object. Indices
start at 0. Filters, slices, unions and `..` are not supported.
"""

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, WithJsonSchema

EVERY = None
"""The step `[*]`."""
Step = str | int | None
_STEP = re.compile(
    r"\.(?P<key>[\w-]+)|\[(?P<index>[0-9]{1,9})\]|\[(?P<all>\*)\]"
    r"|\['(?P<single>[^'\\]*)'\]|\[\"(?P<double>[^\"\\]*)\"\]"
)
_SPACE = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode
_SHOWN_KEYS = 6


def parse_path(text: str) -> tuple[Step, ...]:
    """Return the steps of a path; ValueError if it is not one."""
    if not text.startswith("$"):
        raise ValueError(f"expected a path that starts with `$`, such as `$.rows[*]`, got `{text}`")
    steps: list[Step] = []
    place = 1
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            raise ValueError(
                f"expected `.key`, `[0]`, `[*]` or `['key']` at character {place + 1} of `{text}`"
            )
        if match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["all"] is not None:
            steps.append(EVERY)
        else:
            keys = (match["key"], match["single"], match["double"])
            steps.append(next(key for key in keys if key is not None))
        place = match.end()
    return tuple(steps)


def _check_path(text: str) -> str:
    parse_path(text)
    return text


RecordPath = Annotated[
    str, AfterValidator(_check_path), WithJsonSchema({"type": "string", "pattern": r"^\$"})
]
"""A path to the rows in a JSON document."""


def select(value: Any, steps: tuple[Step, ...], path: str = "$") -> Iterator[Any]:
    """Yield the values at a path; ValueError if a step leads nowhere."""
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step is EVERY and isinstance(value, list | dict):
        for item in value if isinstance(value, list) else value.values():
            yield from select(item, rest, f"{path}[*]")
    elif isinstance(step, str) and isinstance(value, dict) and step in value:
        yield from select(value[step], rest, f"{path}.{step}")
    elif isinstance(step, int) and isinstance(value, list) and step < len(value):
        yield from select(value[step], rest, f"{path}[{step}]")
    else:
        raise ValueError(_explain_missing(value, step, path))


def _explain_missing(value: Any, step: Step, path: str) -> str:
    if isinstance(step, str) and isinstance(value, dict):
        keys = [*value]
        more = ", …" if len(keys) > _SHOWN_KEYS else ""
        has = ", ".join(f"`{key}`" for key in keys[:_SHOWN_KEYS]) or "no key"
        return f"no `{step}` in `{path}`; it has {has}{more}"
    if isinstance(step, int) and isinstance(value, list):
        return f"no item {step} in `{path}`, which has {len(value)}"
    wanted = "a list or an object" if step is EVERY else "an object"
    wanted = "a list" if isinstance(step, int) else wanted
    return f"expected {wanted} at `{path}`, got {_KINDS.get(type(value), 'a number')}"


_KINDS = {
    list: "a list",
    dict: "an object",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}


class _JsonItem(NamedTuple):
    key: Step
    start: int


def locate(text: str, steps: tuple[Step, ...], start: int = 0) -> Iterator[int]:
    """Yield the position of each selected value in valid JSON, in the order of `select`."""
    start = _skip_space(text, start)
    if not steps:
        yield start
        return
    step, rest = steps[0], steps[1:]
    for item in _items(text, start):
        if step is EVERY or step == item.key:
            yield from locate(text, rest, item.start)
            if step is not EVERY:
                return


def _items(text: str, start: int) -> Iterator[_JsonItem]:
    """Yield the items of a list or an object that begins at `start`."""
    is_object = text[start] == "{"
    if not is_object and text[start] != "[":
        return
    place, index = _skip_space(text, start + 1), 0
    while text[place] not in "]}":
        key: Step = index
        if is_object:
            key, place = _decode(text, place)
            place = _skip_space(text, _skip_space(text, place) + 1)  # the colon
        yield _JsonItem(key, place)
        place = _skip_space(text, _decode(text, place)[1])
        if text[place] == ",":
            place = _skip_space(text, place + 1)
        index += 1


def _skip_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def count_lines(text: str, positions: Iterator[int]) -> Iterator[int]:
    """Yield the line of each position, from 1; positions must ascend."""
    line, before = 1, 0
    for position in positions:
        line += text.count("\n", before, position)
        before = position
        yield line
