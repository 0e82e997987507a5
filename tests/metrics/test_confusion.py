from typing import Any

from evalwright.metrics.confusion import accuracy, confusion_matrix, f1_of, precision_of, recall_of
from evalwright.metrics.scores import Column


def column(*values: Any) -> Column:
    made = Column("x")
    for value in values:
        made.add(value)
    return made


def test_a_table_counts_pairs_of_known_classes() -> None:
    truth, said = column("a", "a", "b", "z", None), column("a", "b", "b", "a", "a")

    assert confusion_matrix(truth, said, ["a", "b"]).tolist() == [[1, 1], [0, 1]]


def test_what_is_read_from_a_table() -> None:
    truth, said = column(*"aaabbc"), column(*"aabbcc")
    counts = confusion_matrix(truth, said, ["a", "b", "c"])

    assert accuracy("x", counts, "").value == 4 / 6
    assert precision_of("x", counts, 0, absent="").value == 1.0
    assert recall_of("x", counts, 0, absent="").value == 2 / 3
    assert f1_of("x", counts, 0, absent="").value == 0.8
