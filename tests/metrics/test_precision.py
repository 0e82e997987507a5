import pytest
from tests.metrics.cases import measure

FIELDS = {"type": "precision", "num_true_positives_field": "tp", "num_false_positives_field": "fp"}


def test_the_counts_are_summed_first() -> None:
    found = measure(FIELDS, [{"tp": 1, "fp": 0}, {"tp": 1, "fp": 8}])

    assert (found.name, found.value) == ("precision", 0.2)


def test_its_interval_is_a_bootstrap_over_samples() -> None:
    found = measure(FIELDS, [{"tp": 3, "fp": 1}, {"tp": 1, "fp": 3}] * 50)

    assert found.value == 0.5
    assert found.interval is not None
    assert found.interval.method == "bootstrap"
    # Samples of 3/4 and 1/4 vary as a coin does: ± 1.98 · 0.25 / √100.
    assert found.interval.low == pytest.approx(0.45, abs=0.006)
    assert found.interval.high == pytest.approx(0.55, abs=0.006)


def test_a_field_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="no score has the field `fp`"):
        measure(FIELDS, [{"tp": 1}])
