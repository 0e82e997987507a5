import pytest

from evalwright.judge_check.agreement import (
    estimate_mean,
    estimate_mean_difference,
    estimate_share,
    measure_label_agreement,
    measure_score_agreement,
)
from evalwright.stats.interval import wilson


def test_labels_are_counted_for_people_for_the_judge_and_for_both() -> None:
    found = measure_label_agreement(
        [("1", "a", "a"), ("2", "a", "b"), ("3", "b", "b"), ("4", "c", "b")],
        source="x",
        compared="labels",
        label_order=("b", "a"),
    )

    rows = {one.label: (one.human, one.judge, one.both) for one in found.labels}
    assert rows == {"b": (1, 3, 1), "a": (2, 1, 1), "c": (1, 0, 0)}
    assert [*rows] == ["b", "a", "c"]
    assert found.labels[2].precision.value is None
    assert found.labels[2].precision.reason == "the judge never gave this label"
    assert found.labels[2].recall.value == 0
    assert found.confusion == {"b": {"b": 1, "a": 0}, "a": {"b": 1, "a": 1}, "c": {"b": 1, "a": 0}}
    share = found.confusion_shares["a"]["b"]
    both = wilson(1, 2)
    assert (share.value, share.n, share.ci_low, share.ci_high) == (0.5, 2, both.low, both.high)


def test_the_order_of_samples_changes_no_figure() -> None:
    pairs = [(str(n), "ab"[n % 2], "ab"[n % 3 == 0]) for n in range(40)]

    one = measure_label_agreement(pairs, source="x", compared="labels")
    other = measure_label_agreement(pairs[::-1], source="x", compared="labels")

    assert one.figures == other.figures
    assert one.labels == other.labels


def test_only_some_disagreements_are_kept() -> None:
    pairs = [(str(n), "a", "b") for n in range(50)]

    assert len(measure_label_agreement(pairs, source="x", compared="labels").disagreements) == 10


def test_whole_scores_have_a_weighted_kappa_and_others_a_concordance() -> None:
    whole = measure_score_agreement([("1", 1.0, 2.0), ("2", 3.0, 3.0)], (1, 5), source="x")
    parts = measure_score_agreement([("1", 0.1, 0.2), ("2", 0.3, 0.3)], (0, 1), source="x")

    assert "quadratic_kappa" in whole.figures
    assert "concordance" in parts.figures


def test_scores_within_a_tenth_of_the_range_are_near() -> None:
    found = measure_score_agreement(
        [("1", 0.0, 1.0), ("2", 0.0, 1.1), ("3", 5.0, 5.0)], (0, 10), source="x"
    )

    assert found.figures["within_a_tenth"].value == pytest.approx(2 / 3)
    assert found.figures["exact"].value == pytest.approx(1 / 3)
    assert [one.sample_id for one in found.disagreements] == ["2"]


def test_scores_that_do_not_vary_correlate_with_nothing() -> None:
    found = measure_score_agreement([("1", 1.0, 1.0), ("2", 1.0, 1.0)], (0, 1), source="x")

    for name in ("pearson", "spearman", "quadratic_kappa"):
        assert found.figures[name].value is None
        assert "do not vary" in found.figures[name].reason
    assert found.figures["exact"].value == 1.0


def test_a_share_of_nothing_and_a_mean_of_nothing_are_not_defined() -> None:
    assert estimate_share(0, 0).value is None
    assert estimate_mean([]).value is None


@pytest.mark.parametrize("differences", [[0.0] * 10, [0.0, 0.5] * 5, [1.0] * 10], ids=str)
def test_differences_that_are_all_upward_could_still_have_gone_down(
    differences: list[float],
) -> None:
    up = estimate_mean_difference(differences)
    down = estimate_mean_difference([-one for one in differences])

    assert up.ci_low is not None
    assert up.ci_high is not None
    assert up.value is not None
    assert up.value == pytest.approx(sum(differences) / 10)
    assert up.ci_low < up.value
    assert (up.ci_low, up.ci_high) == pytest.approx((-(down.ci_high or 0), -(down.ci_low or 0)))


def test_no_difference_at_all_is_not_surely_none() -> None:
    found = estimate_mean_difference([0.0] * 10)

    assert found.value == 0
    assert (found.ci_low or 0) < 0 < (found.ci_high or 0)
    assert estimate_mean_difference([]).value is None
