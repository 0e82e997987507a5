import pytest

from evalwright.report.amounts import dollars


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        pytest.param(None, "unknown", id="no price"),
        pytest.param(0.0, "$0.00", id="nothing"),
        pytest.param(1234.5, "$1,234.50", id="much"),
        pytest.param(0.5, "$0.50", id="cents"),
        pytest.param(0.042, "$0.042", id="a few cents"),
        pytest.param(0.001046, "$0.0010", id="less than a cent"),
        pytest.param(6.4000000000000006e-06, "$0.0000064", id="hardly anything"),
        pytest.param(1e-12, "$0.00000000", id="less than that"),
    ],
)
def test_an_amount_says_two_digits_at_least(cost: float | None, shown: str) -> None:
    assert dollars(cost) == shown
