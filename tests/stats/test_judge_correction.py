import numpy as np
import pytest

from evalwright.stats.judge_correction import JudgeTable, ppi_mean, rogan_gladen


def table(**changes: int) -> JudgeTable:
    counts = {"positive": 400, "n": 1000, "human_correct": 200, "human_incorrect": 200}
    return JudgeTable(**{**counts, "true_positive": 180, "true_negative": 140, **changes})


def test_the_published_example_of_rogan_and_gladen() -> None:
    corrected = rogan_gladen(table())

    assert corrected.value == pytest.approx(0.1667, abs=5e-5)
    assert corrected.interval is not None
    assert corrected.interval.low == pytest.approx(0.0564, abs=5e-5)
    assert corrected.interval.high == pytest.approx(0.2627, abs=5e-5)


def test_a_perfect_judge_needs_no_correction() -> None:
    corrected = rogan_gladen(table(true_positive=200, true_negative=200))

    assert corrected.value == pytest.approx(0.4)


def test_an_estimate_stays_within_the_range_of_a_share() -> None:
    corrected = rogan_gladen(table(positive=50, true_negative=120))

    assert corrected.value == 0.0
    assert corrected.interval is not None
    assert corrected.interval.low == 0.0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        pytest.param({"human_correct": 4, "true_positive": 4}, "at least 5 labels", id="few"),
        pytest.param({"true_positive": 60}, "unrelated to the labels", id="a coin"),
    ],
)
def test_what_cannot_be_corrected_has_a_reason(changes: dict[str, int], reason: str) -> None:
    corrected = rogan_gladen(table(**changes))

    assert corrected.value is None
    assert reason in corrected.reason


def graded(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of 100 samples, the judge's scores of these and of 900 others."""
    generator = np.random.default_rng(seed)
    truth = generator.beta(4, 2, 1000)
    judge = np.clip(truth + generator.normal(0.05, 0.15, 1000), 0, 1)
    return np.round(truth[:100], 3), np.round(judge[:100], 3), np.round(judge[100:], 3)


def test_graded_scores_are_corrected_as_ppi_python_does() -> None:
    """The numbers are those of ppi_mean_pointestimate and ppi_mean_ci in ppi-python 0.2.3."""
    corrected = ppi_mean(*graded(11))

    assert corrected.value == pytest.approx(0.65968612, abs=1e-8)
    assert corrected.interval is not None
    half = (corrected.interval.high - corrected.interval.low) / 2
    assert half == pytest.approx((0.68365114 - 0.63572109) / 2, rel=0.02)  # Student's t, not z


def test_a_useless_judge_is_ignored() -> None:
    labels, judged, others = graded(12)
    generator = np.random.default_rng(13)

    corrected = ppi_mean(labels, generator.permutation(judged)[::-1] * -1 + 1, others)

    assert corrected.weight == pytest.approx(0, abs=0.1)
    assert corrected.value == pytest.approx(labels.mean(), abs=0.01)


def test_few_or_constant_labels_have_a_reason() -> None:
    nothing = np.asarray([])
    same = np.full(20, 0.5)

    assert "at least 10 labels" in ppi_mean(same[:9], same[:9], nothing).reason
    assert "do not vary" in ppi_mean(same, same, nothing).reason


@pytest.mark.slow
def test_corrected_means_cover_the_truth_with_100_labels() -> None:
    """93 to 97 % of 2,000 runs, for binary verdicts and for graded scores."""
    generator = np.random.default_rng(14)
    covered = {"binary": 0, "graded": 0}
    for _ in range(2000):
        truth = (generator.random(1000) < 0.6).astype(float)
        verdict = np.where(generator.random(1000) < np.where(truth == 1, 0.9, 0.2), 1.0, 0.0)
        some = slice(0, 100)
        counts = JudgeTable(
            positive=int(verdict[100:].sum()),
            n=900,
            human_correct=int(truth[some].sum()),
            true_positive=int((truth[some] * verdict[some]).sum()),
            human_incorrect=int((1 - truth[some]).sum()),
            true_negative=int(((1 - truth[some]) * (1 - verdict[some])).sum()),
        )
        binary = rogan_gladen(counts).interval
        assert binary is not None
        covered["binary"] += binary.low <= 0.6 <= binary.high
        scores = generator.beta(4, 2, 1000)
        judged = np.clip(scores + generator.normal(0.05, 0.15, 1000), 0, 1)
        graded_interval = ppi_mean(scores[some], judged[some], judged[100:]).interval
        assert graded_interval is not None
        covered["graded"] += graded_interval.low <= 4 / 6 <= graded_interval.high

    assert {kind: 0.93 <= count / 2000 <= 0.97 for kind, count in covered.items()} == {
        "binary": True,
        "graded": True,
    }, covered
