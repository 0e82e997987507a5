"""The values of one field of all scores, nine bytes a value.

Numbers are kept as numbers, a text as its place in a table of texts. So a million labels, or a
million truth values, are arrays, and a metric over them takes milliseconds.
"""

from array import array
from json import dumps
from math import isnan
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from evalwright.stats.unit import Floats

NULL, BOOL, INT, FLOAT, TEXT = range(5)
_EXACT = 1 << 53
"""Integers beyond it are not all floats."""


class Labels(Struct, frozen=True):
    """Values as texts: which text each value is, -1 where there is none."""

    codes: NDArray[np.int64]
    texts: list[str]


class Column:
    """What the scores say under one name."""

    def __init__(self, field: str) -> None:
        self.field = field
        self.present = 0
        """In how many scores the field is."""
        self._kinds = array("B")
        self._numbers = array("d")
        self._texts: dict[str, int] = {}

    def add(self, value: Any) -> None:
        """The value of the next score."""
        self.present += 1
        kind = type(value)
        if kind is bool:
            self._put(BOOL, value)
        elif kind is float:
            self._put(NULL if isnan(value) else FLOAT, value)
        elif kind is int and -_EXACT <= value <= _EXACT:
            self._put(INT, value)
        elif value is None:
            self._put(NULL, 0.0)
        else:
            text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
            self._put(TEXT, self._texts.setdefault(text, len(self._texts)))

    def skip(self) -> None:
        """The next score does not have the field."""
        self._put(NULL, 0.0)

    def numbers(self) -> tuple[Floats, NDArray[np.bool_]]:
        """The numbers, and where there is one; ValueError if there is something else."""
        kinds = self._kinds_array()
        wrong = np.flatnonzero(kinds == TEXT)
        if wrong.size:
            shown = list(self._texts)[int(self._numbers[int(wrong[0])])][:80]
            raise ValueError(
                f"expected numbers in `{self.field}`, got `{shown}` in the score "
                f"{int(wrong[0]) + 1}; {wrong.size} of {kinds.size} are not numbers"
            )
        return np.frombuffer(self._numbers, dtype=np.float64), kinds != NULL

    def labels(self) -> Labels:
        """Each value as a text: `True`, `3`, `0.5`, `cat`."""
        kinds = self._kinds_array()
        values = np.frombuffer(self._numbers, dtype=np.float64)
        codes = np.full(kinds.size, -1, dtype=np.int64)
        places: dict[str, int] = {}
        texts = list(self._texts)
        for kind in (BOOL, INT, FLOAT, TEXT):
            here = kinds == kind
            distinct, inverse = np.unique(values[here], return_inverse=True)
            named = [_label(kind, float(one), texts) for one in distinct]
            known = [places.setdefault(name, len(places)) for name in named]
            if known:
                codes[here] = np.asarray(known, dtype=np.int64)[inverse]
        return Labels(codes, list(places))

    def _put(self, kind: int, number: float) -> None:
        self._kinds.append(kind)
        self._numbers.append(number)

    def _kinds_array(self) -> NDArray[np.uint8]:
        return np.frombuffer(self._kinds, dtype=np.uint8)


def _label(kind: int, number: float, texts: list[str]) -> str:
    if kind == BOOL:
        return str(bool(number))
    if kind == INT:
        return str(int(number))
    return texts[int(number)] if kind == TEXT else str(number)
