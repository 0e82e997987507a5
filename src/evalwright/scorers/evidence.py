"""The scorer of a system task: calls the task's snippet once, without a sample.

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
from evalwright.ports import Case, Scorer
from evalwright.scorers.base import cut
from evalwright.types import Sample, Score

KEY = "evidence"
"""Name of the scorer in reports."""


class EvidenceScorer(Scorer):
    """Calls `compute_evidence` and uses the returned metrics as scores."""

    name = KEY
    version = 1

    def __init__(self, snippet: Snippet, context: Mapping[str, Any]) -> None:
        """`context` is passed to the function if it takes an argument."""
        self._snippet, self._context = snippet, dict(context)

    def describe_inputs(self, sample: Sample) -> str:
        """Return the snippet and its context. There is no sample."""
        del sample
        return f"{self._snippet.text_for_keys}{dumps(self._context, sort_keys=True, default=str)}"

    async def score(self, case: Case) -> Score:
        """Call the snippet; raise if it does not return metrics."""
        if case.snippets is None:
            raise ValueError("a system task needs snippets, but they are not available")
        function = self._snippet.function("compute_evidence")
        returned = await case.snippets.call(function, [self._context])
        with self._snippet.locate_errors("compute_evidence"):
            metrics = returned.get("metrics") if isinstance(returned, dict) else None
            if not isinstance(metrics, dict):
                raise ValueError(  # noqa: TRY004 - a wrong return value of the author's code
                    'compute_evidence must return {"metrics": {name: {"value": number}}}, '
                    f"got {cut(repr(returned))}"
                )
            for name, entry in metrics.items():
                _check_metric(name, entry)
        reasons = {name: str(entry.get("reason") or "") for name, entry in metrics.items()}
        return Score(
            values={name: _parse_value(entry["value"]) for name, entry in metrics.items()},
            metadata={name: reason for name, reason in reasons.items() if reason},
        )


def _check_metric(name: str, entry: Any) -> None:
    value = entry.get("value", "") if isinstance(entry, dict) else ""
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise ValueError(  # noqa: TRY004 - the same
            f'compute_evidence: metric `{name}` must be {{"value": number}}, got {cut(repr(entry))}'
        )
    if unknown := entry.keys() - {"value", "reason"}:
        raise ValueError(
            f"compute_evidence: `{name}` may have only `value` and `reason`, not `{min(unknown)}`"
        )


def _parse_value(value: float | None) -> float | None:
    """Return the number; None if it is undefined (null or not finite)."""
    return None if value is None or not math.isfinite(value) else float(value)
