"""The promise: intervals of ECE and the Brier score hold the truth in about 95 of 100 cases.

ECE in more, where its gaps are small; nothing here in fewer than 91.
"""

from pathlib import Path

import pytest
from bench.calibration import FIGURES, MODELS, Answers, Figure, coverage

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "uncertainty.md"


def test_every_case_that_is_simulated_is_published() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [f"{figure.name}: {model.name}" for figure in FIGURES for model in MODELS]

    assert [name for name in names if f"\n| {name} |" not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_intervals_cover(model: Answers, figure: Figure, n: int) -> None:
    assert coverage(model, figure, n, repeats=400) >= 0.91
