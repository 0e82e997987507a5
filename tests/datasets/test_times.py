from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalwright.datasets.times import Instant, is_between, to_seconds

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("2026-03-01T09:00:00Z", id="UTC"),
        pytest.param("2026-03-01 10:00:00+01:00", id="another zone"),
        pytest.param("2026-03-01T09:00", id="no zone"),
        pytest.param(datetime(2026, 3, 1, 9), id="a value of YAML"),  # noqa: DTZ001 - the point
    ],
)
def test_a_time_without_a_zone_is_utc(written: Any) -> None:
    assert TypeAdapter(Instant).validate_python(written) == NINE


def test_a_day_begins_at_midnight() -> None:
    midnight = NINE.replace(hour=0)

    assert TypeAdapter(Instant).validate_python("2026-03-01") == midnight
    assert TypeAdapter(Instant).validate_python(date(2026, 3, 1)) == midnight


@pytest.mark.parametrize("written", ["yesterday", "", 7, None, ["2026-03-01"]])
def test_what_is_no_time_is_refused(written: Any) -> None:
    with pytest.raises(ValidationError, match="expected a time such as"):
        TypeAdapter(Instant).validate_python(written)


def test_times_are_compared_from_the_start_and_before_the_end() -> None:
    assert is_between("2026-03-01T09:00:00", NINE, None)
    assert not is_between("2026-03-01T09:00:00", None, NINE)
    assert is_between("never", None, None)
    assert not is_between("never", NINE, None)
    assert to_seconds("2026-03-01T09:00:00Z", "2026-03-01T09:01:30Z") == 90
    assert to_seconds("2026-03-01T09:00:00Z", None) is None
