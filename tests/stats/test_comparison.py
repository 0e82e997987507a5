import numpy as np
import pytest

from evalwright.metrics.ratios import f1
from evalwright.stats.comparison import cluster_terms, compare_means, compare_ratios
from evalwright.stats.significance import mcnemar_exact


def binary(n: int, rate: float, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(n) < rate).astype(float)


def test_binary_scores_are_tested_by_mcnemar() -> None:
    a, b = binary(200, 0.6, 1), binary(200, 0.75, 2)

    result = compare_means(a, b)

    assert result.test == "mcnemar"
    assert result.p_value == mcnemar_exact(result.wins, result.losses)
    assert result.difference == pytest.approx(b.mean() - a.mean())
    assert result.wins + result.losses + result.ties == result.n == 200


def test_graded_scores_and_means_over_trials_are_tested_by_sign_flips() -> None:
    a, b = binary(50, 0.5, 1), binary(50, 0.9, 2)

    assert compare_means(a * 0.5, b).test == "sign-flip"
    assert compare_means(a, b, is_single_trial=False).test == "sign-flip"


def test_dependent_samples_have_a_wider_interval() -> None:
    effects = np.repeat(np.random.default_rng(3).normal(0, 0.3, 20), 10)
    a, b = np.full(200, 0.5), np.clip(0.5 + effects, 0, 1)
    clusters = [str(place // 10) for place in range(200)]

    plain, clustered = compare_means(a, b), compare_means(a, b, clusters=clusters)

    assert clustered.clusters == 20
    assert clustered.difference == plain.difference
    assert clustered.high - clustered.low > 2 * (plain.high - plain.low)  # type: ignore[operator]
    assert clustered.p_value > plain.p_value  # type: ignore[operator]


def test_the_terms_of_clusters_have_the_mean_of_the_samples() -> None:
    values = np.asarray([1.0, 0.0, 1.0, 1.0, 0.5])

    terms = cluster_terms(values, ["a", "a", "b", "c", "c"])

    assert terms.size == 3
    assert terms.mean() == pytest.approx(values.mean())


def test_clusters_of_one_sample_are_samples() -> None:
    values = np.asarray([1.0, 0.0, 0.25])

    assert cluster_terms(values, ["a", "b", "c"]) == pytest.approx(values)


def test_a_ratio_is_compared_as_a_ratio() -> None:
    generator = np.random.default_rng(4)
    a = generator.integers(0, 3, (80, 3)).astype(float)
    b = a + np.asarray([1.0, 0.0, 0.0])

    result = compare_ratios(a, b, f1)

    assert result.value_a == pytest.approx(float(f1(a.sum(axis=0)[None, :])[0]))
    assert result.test == "bootstrap"
    assert result.difference > 0  # type: ignore[operator]
    assert result.low > 0  # type: ignore[operator]
    assert result.p_value < 0.01  # type: ignore[operator]


def test_no_samples_have_no_numbers() -> None:
    nothing = np.asarray([])

    assert compare_means(nothing, nothing).difference is None
    assert compare_ratios(nothing.reshape(0, 3), nothing.reshape(0, 3), f1).p_value is None


def test_equal_scores_differ_by_exactly_zero() -> None:
    a = np.asarray([0.1, 0.2, 0.3])

    result = compare_means(a, a.copy())

    assert (result.difference, result.p_value, result.ties) == (0.0, 1.0, 3)
