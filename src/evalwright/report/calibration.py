"""Calibration and perplexity of one model's answers; None where nothing was measured.

A perplexity beyond what a float holds is None too: JSON has no infinity.
"""

import math
from collections.abc import Sequence

from evalwright.report.report import CalibrationRow, PerplexityRow
from evalwright.stats.calibration import calibration
from evalwright.stats.perplexity import perplexity
from evalwright.types import Outcome


def calibration_of(outcomes: Sequence[Outcome], *, bins: int) -> CalibrationRow:
    """Over every answer that came with a confidence and was judged right or wrong."""
    judged = [
        (outcome.trace.confidence, score.correct)
        for outcome in outcomes
        if outcome.trace and outcome.trace.confidence is not None
        for score in outcome.scores.values()
        if score.correct is not None
    ]
    found = calibration(
        [confidence for confidence, _ in judged], [right for _, right in judged], bins=bins
    )
    return CalibrationRow(
        ece=found.ece if judged else None,
        brier=found.brier if judged else None,
        reliability=found.parts.reliability if judged else None,
        resolution=found.parts.resolution if judged else None,
        uncertainty=found.parts.uncertainty if judged else None,
        bins=found.bins,
        populated_bins=found.populated_bins,
        covered=len(judged),
        n=len(outcomes),
    )


def perplexity_of(outcomes: Sequence[Outcome]) -> PerplexityRow:
    """Of the answers whose log-probabilities the model gave."""
    rows = [
        (outcome.trace.nll, outcome.trace.nll_tokens)
        for outcome in outcomes
        if outcome.trace and outcome.trace.nll is not None
    ]
    value = perplexity([nll for nll, _ in rows], [tokens for _, tokens in rows])
    return PerplexityRow(
        perplexity=value if math.isfinite(value) else None,
        tokens=sum(tokens for _, tokens in rows),
        covered=len(rows),
        n=len(outcomes),
    )
