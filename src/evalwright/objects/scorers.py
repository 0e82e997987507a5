"""Scorers as classes: their annotated fields are arguments of the constructor.

    class LengthScorer(ScorerBase):
        limit: int = 100

        def compute_scores(self, sample, solver_output):
            return {"is_short": len(solver_output.output) <= self.limit}

    compute_scores = LengthScorer(limit=20)

An object is called as its method `compute_scores` is.
"""

from __future__ import annotations

import re
from typing import Any

from .model import LFBaseModel


class ScorerBase(LFBaseModel):
    """The base class that an author's scorer may derive from."""

    def compute_scores(self, sample: dict[str, Any], solver_output: Any) -> Any:
        """The scores of one sample."""
        raise NotImplementedError(f"{type(self).__name__} does not define `compute_scores`")

    def __call__(self, *arguments: Any) -> Any:
        """The same as `compute_scores`."""
        return self.compute_scores(*arguments)


class _AnswerScorer(ScorerBase):
    """Scores `is_correct` by the text of the answer."""

    case_sensitive: bool = True

    def compute_scores(self, sample: dict[str, Any], solver_output: Any) -> dict[str, Any]:
        """Whether the answer is right."""
        return {"is_correct": self._is_correct(str(solver_output), sample)}

    def _is_correct(self, answer: str, sample: dict[str, Any]) -> bool:
        raise NotImplementedError

    def _fold(self, value: Any) -> str:
        return str(value) if self.case_sensitive else str(value).casefold()


class ExactMatchScorer(_AnswerScorer):
    """Correct if the answer is the value of a column, without spaces around it."""

    target_field: str = "target"

    def _is_correct(self, answer: str, sample: dict[str, Any]) -> bool:
        return self._fold(answer).strip() == self._fold(sample[self.target_field]).strip()


class ContainsScorer(_AnswerScorer):
    """Correct if the answer contains the value of a column."""

    target_field: str = "target"

    def _is_correct(self, answer: str, sample: dict[str, Any]) -> bool:
        return self._fold(sample[self.target_field]) in self._fold(answer)


class RegexScorer(_AnswerScorer):
    """Correct if a regular expression matches somewhere in the answer."""

    pattern: str

    def _is_correct(self, answer: str, sample: dict[str, Any]) -> bool:
        del sample
        flags = re.NOFLAG if self.case_sensitive else re.IGNORECASE
        return re.search(self.pattern, answer, flags) is not None
