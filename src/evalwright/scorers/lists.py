"""Lists that a template rendered: JSON, or Python's own spelling, which is how Jinja prints one."""

from ast import literal_eval
from json import loads
from typing import Any

from evalwright.scorers.base import short


def read_list(text: str, *, field: str) -> list[Any]:
    """The list; ValueError says what `field` rendered to instead."""
    for read in (loads, literal_eval):
        try:
            found = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: too deep
            continue
        if isinstance(found, list | tuple):
            return list(found)
    raise ValueError(f"`{field}` must render to a JSON or Python list, got {short(text)}")
