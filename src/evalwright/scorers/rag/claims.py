"""Claims: what a text states, one fact at a time, and whether an answer must have it.

    {"subject": "The Rhine", "predicate": "flows into", "object": "the North Sea"}

A dataset may bring its own, in a column: a list of such objects, or the JSON of one. So may it the
labels, `REQUIRED` or `OPTIONAL`, one a claim and in the same order.
"""

from collections.abc import Mapping, Sequence
from json import loads
from math import isnan
from typing import Any, Literal, cast

from msgspec import Struct

from evalwright.scorers.base import short

Label = Literal["REQUIRED", "OPTIONAL"]
LABELS: tuple[Label, ...] = ("REQUIRED", "OPTIONAL")
PARTS = ("subject", "predicate", "object")


class Claim(Struct, frozen=True):
    """One fact."""

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        """A sentence on one line."""
        return " ".join(f"{self.subject} {self.predicate} {self.object}".split())


def claims_from(value: Any, where: str) -> list[Claim]:
    """The claims in a list; ValueError says which is none, and where."""
    if not isinstance(value, list):
        raise ValueError(  # noqa: TRY004 - what a row or a judge gave is a value
            f"{where} must be a list of claims, each with {_quoted(PARTS)}, got {short(value)}"
        )
    return [_claim(one, f"claim {number} of {where}") for number, one in enumerate(value, start=1)]


def labels_from(value: Any, count: int, where: str) -> list[Label]:
    """The labels in a list, as many as there are claims; ValueError says what is wrong."""
    if not isinstance(value, list) or len(value) != count:
        got = f"{len(value)} of them" if isinstance(value, list) else short(value)
        raise ValueError(f"{where} must be a list of {count} labels, one a claim, got {got}")
    return [label_of(one, f"label {number} of {where}") for number, one in enumerate(value, 1)]


def label_of(value: Any, where: str) -> Label:
    """One label, in any case."""
    said = value.strip().upper() if isinstance(value, str) else value
    if said not in LABELS:
        raise ValueError(f"{where} must be {_quoted(LABELS, ' or ')}, got {short(value)}")
    return cast("Label", said)


def listed_in(row: Mapping[str, Any], column: str) -> Any:
    """What a column holds; a text is the JSON of it, as in a CSV file."""
    value = cell(row, column)
    if value is None:
        raise ValueError(f"{missing(row, column)}; a list of none is `[]`")
    if not isinstance(value, str):
        return value
    try:
        return loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"column `{column}` must hold JSON, got {short(value)}: {error}") from None


def cell(row: Mapping[str, Any], column: str) -> Any:
    """The value of a column; None where it is empty, which in a CSV file is to be missing."""
    value = row.get(column)
    if isinstance(value, str) and not value.strip():
        return None
    return None if isinstance(value, float) and isnan(value) else value


def missing(row: Mapping[str, Any], column: str) -> str:
    """What to say where a column must not be empty."""
    there = _quoted(sorted(map(str, row))) or "none"
    return f"column `{column}` is empty or missing in this sample, whose columns are {there}"


def _claim(value: Any, where: str) -> Claim:
    parts = [value.get(part) for part in PARTS] if isinstance(value, dict) else [value]
    texts = [one for one in parts if isinstance(one, str)]
    if len(texts) != len(PARTS) or not any(map(str.strip, texts)):
        raise ValueError(f"{where} must have the texts {_quoted(PARTS)}, got {short(value)}")
    return Claim(*(one.encode("utf-8", "replace").decode() for one in texts))  # half a pair: `?`


def _quoted(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"`{name}`" for name in names)
