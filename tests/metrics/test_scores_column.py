from typing import Any

import pytest

from evalwright.metrics.scores import Column


def column(*values: Any) -> Column:
    made = Column("x")
    for value in values:
        made.add(value)
    return made


@pytest.mark.parametrize(
    ("value", "label"),
    [
        pytest.param(True, "True", id="truth"),
        pytest.param(3, "3", id="integer"),
        pytest.param(3.0, "3.0", id="float"),
        pytest.param(-0.25, "-0.25", id="negative"),
        pytest.param("cat", "cat", id="text"),
        pytest.param("", "", id="empty text"),
        pytest.param(2**60 + 1, "1152921504606846977", id="an integer that is no float"),
        pytest.param({"a": [1]}, '{"a": [1]}', id="JSON"),
    ],
)
def test_a_value_as_a_text(value: Any, label: str) -> None:
    labels = column(None, value, value).labels()

    assert labels.codes.tolist() == [-1, 0, 0]
    assert labels.texts == [label]


def test_numbers_are_told_from_null() -> None:
    values, there = column(*[True, 2, None, 0.5, float("nan")]).numbers()

    assert values[there].tolist() == [1.0, 2.0, 0.5]
    assert there.tolist() == [True, True, False, True, False]


def test_an_empty_column_has_no_values() -> None:
    assert column().numbers()[0].size == 0
    assert column().labels().texts == []
