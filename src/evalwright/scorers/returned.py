"""What an author's `compute_scores` may return for one sample.

    {"accuracy": 0.95, "is_correct": True}                              scores only
    {"scores": {"accuracy": 0.95}, "metadata": {"tokens": 123}}         scores with metadata

It is the second form if, and only if, `scores` is a dict and nothing but `metadata` is beside it:
`{"scores": 3}` is one score that is called `scores`.
"""

from typing import Any

from evalwright.scorers.base import short
from evalwright.types import Score

_STRUCTURED = {"scores", "metadata"}


def score_of(returned: Any, *, where: str = "compute_scores") -> Score:
    """The score; ValueError says what `where` should have given, and what it gave.

    It counts as right or wrong where one of the values is called `is_correct` and is a bool.
    """
    values = _named(returned, expected=f"{where} must return a dict of scores")
    metadata = None
    if values.keys() <= _STRUCTURED and isinstance(values.get("scores"), dict):
        metadata = values.get("metadata")
        values = _named(values["scores"], expected=f"`scores` of {where} must be a dict")
        if metadata is not None:
            _named(metadata, expected=f"`metadata` of {where} must be a dict")
    correct = values.get("is_correct")
    return Score(
        values=values,
        correct=correct if isinstance(correct, bool) else None,
        metadata=metadata or {},
    )


def _named(found: Any, *, expected: str) -> dict[str, Any]:
    if found is None:
        raise ValueError(f"{expected}, got `None`: is a `return` missing?")
    if not isinstance(found, dict):
        raise ValueError(f"{expected}, got `{type(found).__name__}`: {short(found)}")  # noqa: TRY004 - what an author's function gave is a value
    for name in found:
        if not isinstance(name, str):
            raise ValueError(f"{expected} with names that are strings, got {name!r}")  # noqa: TRY004 - the same
    return found
