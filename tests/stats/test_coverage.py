"""The promise: 95 % intervals hold the truth in 93 to 97 of 100 cases, from 20 scores on."""

from pathlib import Path

import numpy as np
import pytest
from bench.coverage import (
    ANY,
    COMPUTED,
    COUNTED,
    FIGURES,
    GRADED,
    HARD,
    HARD_ANY,
    HARD_NULLS,
    HARD_WEIGHED,
    NULLS,
    PRIORS,
    RARE,
    WEIGHED,
    Computed,
    Counts,
    Figure,
    Null,
    Numbers,
    Shape,
    Weighed,
    any_mean_coverage,
    averaged_binary_coverage,
    binary_coverage,
    binary_tables,
    coverage,
    deviation_coverage,
    false_alarms,
    python_coverage,
    rate_coverage,
    ratio_coverage,
)

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "uncertainty.md"
REPEATS = 4000
RESAMPLES = 1000
METRIC_REPEATS = 1000
METRIC_RESAMPLES = 500


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_binary_intervals_cover(prior: tuple[float, float], n: int) -> None:
    assert 0.93 <= averaged_binary_coverage(n, *prior) <= 0.97


def test_a_single_true_rate_covers_in_steps() -> None:
    """By hand: at n = 20, 0 to 2 right answers have an interval that holds a rate of 0.05.

    0.95^20 + 20 · 0.05 · 0.95^19 + 190 · 0.05² · 0.95^18 = 0.9245
    """
    assert binary_coverage(20, np.array([0.05])) == pytest.approx(0.9245, abs=5e-5)


def test_the_exact_tables_are_the_published_ones() -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()

    assert [line for line in binary_tables() if line not in page] == []


def test_every_case_that_is_simulated_is_published() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [
        *(one.name for one in GRADED + HARD),
        *(one.name for one in NULLS + HARD_NULLS),
        *(one.name for one in ANY + HARD_ANY),
        *(one.name for one in COMPUTED),
        *(one.name for one in WEIGHED + HARD_WEIGHED),
        *(f"{figure.name}: {counts.name}" for counts in COUNTED + RARE for figure in FIGURES),
    ]

    assert [name for name in names if f"\n| {name} |" not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("shape", GRADED, ids=lambda shape: shape.name)
def test_graded_intervals_cover(shape: Shape, n: int) -> None:
    found = coverage(shape, n, repeats=REPEATS, resamples=RESAMPLES)

    assert 0.93 <= found.held <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("shape", GRADED, ids=lambda shape: shape.name)
def test_few_graded_scores_err_on_the_wide_side(shape: Shape, n: int) -> None:
    found = coverage(shape, n, repeats=REPEATS // 2, resamples=RESAMPLES)

    assert found.held >= 0.92


@pytest.mark.slow
@pytest.mark.parametrize("shape", HARD[:-1], ids=lambda shape: shape.name)
def test_ceilings_are_covered(shape: Shape) -> None:
    found = coverage(shape, 50, repeats=REPEATS // 2, resamples=RESAMPLES)

    assert found.held >= 0.925


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20, 50])
@pytest.mark.parametrize("null", NULLS, ids=lambda null: null.name)
def test_equal_models_are_seldom_called_different(null: Null, n: int) -> None:
    assert false_alarms(null, n, repeats=REPEATS // 2, resamples=RESAMPLES) <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("null", HARD_NULLS, ids=lambda null: null.name)
def test_skewed_differences_are_right_only_in_the_long_run(null: Null) -> None:
    few, many = (
        false_alarms(null, n, repeats=REPEATS // 2, resamples=RESAMPLES) for n in (10, 200)
    )

    assert few < 0.1
    assert many < 0.065


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
@pytest.mark.parametrize("numbers", ANY, ids=lambda numbers: numbers.name)
def test_the_mean_of_numbers_is_covered(numbers: Numbers, n: int) -> None:
    found = any_mean_coverage(numbers, n, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert (0.92 if n >= 10 else 0.9) <= found.held <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("numbers", HARD_ANY, ids=lambda numbers: numbers.name)
def test_the_mean_of_hard_numbers_is_covered_less(numbers: Numbers, n: int) -> None:
    found = any_mean_coverage(numbers, n, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert found.held >= 0.87


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
@pytest.mark.parametrize("counts", COUNTED, ids=lambda counts: counts.name)
def test_ratios_of_sums_are_covered(counts: Counts, figure: Figure, n: int) -> None:
    found = ratio_coverage(counts, figure, n, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert 0.92 <= found.held <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
@pytest.mark.parametrize("counts", RARE, ids=lambda counts: counts.name)
def test_ratios_of_rare_things_are_covered_from_fifty_samples_on(
    counts: Counts, figure: Figure, n: int
) -> None:
    found = ratio_coverage(counts, figure, n, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert found.held >= (0.92 if n >= 50 else 0.87)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("numbers", ANY[:4], ids=lambda numbers: numbers.name)
def test_deviations_are_covered(numbers: Numbers, n: int) -> None:
    found = deviation_coverage(numbers, n, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert 0.91 <= found.held <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 20, 50, 200])
@pytest.mark.parametrize("figure", COMPUTED[:2], ids=lambda figure: figure.name)
def test_figures_of_ones_own_code_are_covered(figure: Computed, n: int) -> None:
    found = python_coverage(figure, n, repeats=METRIC_REPEATS)

    assert 0.91 <= found.held <= 0.98


@pytest.mark.slow
def test_fewer_than_ten_samples_would_be_too_sure() -> None:
    """Why a `python` metric of four samples has no interval."""
    assert python_coverage(COMPUTED[0], 4, repeats=METRIC_REPEATS).held < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
@pytest.mark.parametrize("weighed", WEIGHED, ids=lambda weighed: weighed.name)
def test_rates_of_documents_are_covered(weighed: Weighed, n: int) -> None:
    found = rate_coverage(weighed, n, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert (0.915 if n >= 50 else 0.87) <= found.held <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize("weighed", HARD_WEIGHED, ids=lambda weighed: weighed.name)
def test_rates_of_hard_documents_are_covered_less(weighed: Weighed) -> None:
    found = rate_coverage(weighed, 200, repeats=METRIC_REPEATS, resamples=METRIC_RESAMPLES)

    assert found.held >= 0.88
