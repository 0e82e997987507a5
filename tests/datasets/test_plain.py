import math
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from evalwright.components import Authored
from evalwright.datasets.json_files import to_json, to_json_row


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}, id="JSON"),
        pytest.param((1, (2,)), [1, [2]], id="tuples are lists"),
        pytest.param({1: "a"}, {"1": "a"}, id="keys are texts"),
        pytest.param(Authored("x", file="a.yaml", line=1), "x", id="a text forgets its place"),
        pytest.param(date(2026, 5, 12), "2026-05-12", id="a date"),
        pytest.param(time(10, 30), "10:30:00", id="a time"),
        pytest.param(Decimal(3), 3, id="a whole decimal"),
        pytest.param(Decimal("2.5"), 2.5, id="a decimal"),
        pytest.param(Decimal("Infinity"), math.inf, id="a decimal without end"),
        pytest.param(UUID(int=1), "00000000-0000-0000-0000-000000000001", id="a UUID"),
        pytest.param(b"x", "x", id="bytes of text"),
        pytest.param(np.float64(2.5), 2.5, id="a number of numpy"),
        pytest.param(np.array([[1, 2]]), [[1, 2]], id="an array"),
        pytest.param(np.bool_(True), True, id="a truth value of numpy"),  # noqa: FBT003
    ],
)
def test_as_json(value: Any, expected: Any) -> None:
    found = to_json(value)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param(object(), "column `a`: expected JSON, got a `object`", id="anything"),
        pytest.param([b"\xff"], "column `a`: expected text, got 1 bytes", id="bytes"),
        pytest.param(1j, "got a `complex`", id="a complex number"),
    ],
)
def test_what_has_no_json_is_refused_with_its_column(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        to_json_row({"a": value})

    assert said in str(caught.value)
