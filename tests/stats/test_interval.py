import msgspec
import pytest

from evalwright.stats.interval import Interval


def test_an_interval_is_never_edited() -> None:
    interval = Interval(0.1, 0.9, "wilson")

    with pytest.raises(AttributeError):
        interval.low = 0.2  # type: ignore[misc]  # the point of the test


def test_an_interval_is_plain_json() -> None:
    encoded = msgspec.json.encode(Interval(0.25, 0.75, "bca"))

    assert encoded == b'{"low":0.25,"high":0.75,"method":"bca"}'
