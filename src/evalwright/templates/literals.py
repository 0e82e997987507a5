"""A text as the Python literal that it looks like: the last step of a native template.

"3" → 3      "True" → True      "[1, 2]" → a list      "yes", " 3", "a b" → as they are
"""

import warnings
from ast import literal_eval, parse
from typing import Any

_BEGINS = frozenset("TFNbBrRuUs")
"""The letters that a literal can begin with: a name, a string's prefix, `set()`."""


def read_literal(text: Any) -> Any:
    """The value of a literal; any other text is itself, and so is what is no text."""
    if not isinstance(text, str) or not text or (text[0].isalpha() and text[0] not in _BEGINS):
        return text
    try:
        with warnings.catch_warnings():  # of `"\\d"`: it is data, and nobody can mend it
            warnings.simplefilter("ignore")
            # Parsed first, because `literal_eval` alone forgives leading spaces.
            return literal_eval(parse(text, mode="eval"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
