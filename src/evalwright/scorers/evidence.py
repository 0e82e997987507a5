"""The evidence of a system task: what its snippet has found, once, about no sample in particular.

definition:
  type: system_task
  compute_evidence_snippet: |
    def compute_evidence():
        return {"metrics": {"open findings": {"value": 3, "reason": "see the register"}}}
"""

import math
from collections.abc import Mapping
from json import dumps
from typing import Any

from evalwright.components import Snippet
from evalwright.ports import Case
from evalwright.types import Sample, Score

KEY = "evidence"
"""What reports call it."""


class Evidence:
    """Calls `compute_evidence`, and takes its metrics for scores."""

    name = KEY
    version = 1

    def __init__(self, snippet: Snippet, context: Mapping[str, Any]) -> None:
        """`context` is what a function that takes an argument gets."""
        self._snippet, self._context = snippet, dict(context)

    def describe_inputs(self, sample: Sample) -> str:
        """The snippet and what it is told: there is no sample to speak of."""
        del sample
        return f"{self._snippet.keyed}{dumps(self._context, sort_keys=True, default=str)}"

    def reuse(self, score: Score) -> Score:
        """As it was stored."""
        return score

    async def score(self, case: Case) -> Score:
        """What was found; raise when the snippet returned something else."""
        if case.snippets is None:
            raise ValueError("a system task needs snippets, and there are none")
        function = self._snippet.function("compute_evidence")
        found = await case.snippets.call(function, [self._context])
        with self._snippet.blamed("compute_evidence"):
            entries = _entries(found)
        return Score(
            values={name: value for name, (value, _) in entries.items()},
            metadata={name: reason for name, (_, reason) in entries.items() if reason},
        )


def _entries(found: Any) -> dict[str, tuple[float | None, str]]:
    metrics = found.get("metrics") if isinstance(found, dict) else None
    if not isinstance(metrics, dict):
        raise ValueError(  # noqa: TRY004 - what an author's function gave is a value
            'compute_evidence must return {"metrics": {name: {"value": number}}}, '
            f"got {_short(found)}"
        )
    return {name: _entry(name, entry) for name, entry in metrics.items()}


def _entry(name: str, entry: Any) -> tuple[float | None, str]:
    """Value and reason; null is a figure that is not defined."""
    value = entry.get("value") if isinstance(entry, dict) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(entry, dict) or not (is_number or ("value" in entry and value is None)):
        raise ValueError(
            f'compute_evidence: metric `{name}` must be {{"value": number}}, got {_short(entry)}'
        )
    odd = entry.keys() - {"value", "reason"}
    if odd:
        raise ValueError(
            f"compute_evidence: metric `{name}` has `value` and `reason`, and no `{min(odd)}`"
        )
    reason = entry.get("reason")
    defined = is_number and math.isfinite(value or 0)
    return (float(value) if defined and value is not None else None), str(reason or "")


def _short(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
