import time
from random import Random

from tests.metrics.cases import measure

FIELDS = {
    "type": "f1_score",
    "num_true_positives_field": "tp",
    "num_false_positives_field": "fp",
    "num_false_negatives_field": "fn",
}


def test_it_is_the_harmonic_mean_of_precision_and_recall() -> None:
    found = measure(FIELDS, [{"tp": 2, "fp": 1, "fn": 0}, {"tp": 1, "fp": 0, "fn": 3}])

    precision, recall = 3 / 4, 3 / 6
    assert found.name == "f1_score"
    assert found.value == 2 * precision * recall / (precision + recall)


def test_ten_thousand_samples_take_a_fraction_of_a_second() -> None:
    rng = Random(0)
    values = [{name: rng.randrange(10) for name in ("tp", "fp", "fn")} for _ in range(10_000)]
    started = time.process_time()

    found = measure(FIELDS, values)

    assert found.interval is not None
    assert time.process_time() - started < 2, "of CPU, on a machine that is busy"


def test_the_same_seed_gives_the_same_interval_in_any_order() -> None:
    values = [{"tp": i % 3, "fp": i % 5, "fn": i % 2} for i in range(60)]

    assert measure(FIELDS, values) == measure(FIELDS, values[::-1])
    assert measure(FIELDS, values) != measure(FIELDS, values, seed=1)
