import math

import numpy as np
import pytest

from evalwright.stats.arrays import unit_values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param([0.5, 1.2], r"got `1.2` - at `scores\[1\]`", id="above 1"),
        pytest.param([-0.1], r"got `-0.1` - at `scores\[0\]`", id="below 0"),
        pytest.param([0, 1, math.nan], r"got `nan` - at `scores\[2\]`", id="NaN"),
        pytest.param([math.inf], r"got `inf` - at `scores\[0\]`", id="infinite"),
        pytest.param([2, 3], r"got `2.0` - at `scores\[0\]`", id="the first of several"),
    ],
)
def test_a_value_outside_the_unit_interval_is_refused_by_name(
    values: list[float], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        unit_values(values)


def test_the_ends_belong_to_the_unit_interval() -> None:
    assert unit_values([0, 1, True]).tolist() == [0.0, 1.0, 1.0]


def test_a_table_is_not_a_list_of_scores() -> None:
    with pytest.raises(ValueError, match="got 2 dimensions"):
        unit_values(np.zeros((2, 2)))
