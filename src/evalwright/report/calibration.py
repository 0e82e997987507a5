"""Calibration and perplexity of one model's answers; None where nothing was measured.

A perplexity beyond what a float holds is None too: JSON has no infinity.
"""

import math

import numpy as np

from evalwright.report.fold import Column
from evalwright.report.report import CalibrationRow, PerplexityRow
from evalwright.stats.calibration import calibration
from evalwright.stats.perplexity import perplexity


def calibration_of(column: Column, *, bins: int) -> CalibrationRow:
    """Over every answer that came with a confidence and was judged right or wrong."""
    covered = len(column.confidences)
    found = calibration(
        np.asarray(column.confidences), np.asarray(column.verdicts, dtype=np.bool_), bins=bins
    )
    return CalibrationRow(
        ece=found.ece if covered else None,
        brier=found.brier if covered else None,
        reliability=found.parts.reliability if covered else None,
        resolution=found.parts.resolution if covered else None,
        uncertainty=found.parts.uncertainty if covered else None,
        bins=found.bins,
        populated_bins=found.populated_bins,
        covered=covered,
        n=column.outcomes,
    )


def perplexity_of(column: Column) -> PerplexityRow:
    """Of the answers whose log-probabilities the model gave."""
    value = perplexity(math.fsum(column.nlls), column.nll_tokens)
    return PerplexityRow(
        perplexity=value if math.isfinite(value) else None,
        tokens=column.nll_tokens,
        covered=len(column.nlls),
        n=column.outcomes,
    )
