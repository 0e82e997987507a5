import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalwright.generation.synthesis import to_json_row, write_lines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "generated" / "rows-1.jsonl"


def test_a_file_is_there_when_all_of_it_is(path: Path) -> None:
    path.parent.mkdir()

    def lines() -> Iterator[bytes]:
        yield b"1"
        assert not path.exists()
        yield b"2"

    assert write_lines(path, lines()) == 2
    assert path.read_bytes() == b"1\n2\n"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_file_that_breaks_leaves_nothing_and_the_old_one_stays(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("old")

    def lines() -> Iterator[bytes]:
        yield b"1"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_lines(path, lines())
    assert path.read_text() == "old"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_number_that_is_none_is_no_value() -> None:
    assert to_json_row({"a": math.nan, "b": 1}) == {"b": 1}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "no columns"),
        ({"a": math.inf}, "cannot be written as JSON"),
        ({"a": [math.nan]}, "cannot be written as JSON"),
        ({"a": "\ud800"}, "a lone surrogate"),
        ({"a": {1, 2}}, "cannot be written as JSON"),
    ],
)
def test_what_is_no_json_is_refused(row: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        to_json_row(row)
