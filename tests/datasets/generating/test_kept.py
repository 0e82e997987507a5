import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalwright.datasets.generating.kept import (
    Landed,
    part_of,
    part_path,
    writable,
    write_whole,
)
from evalwright.errors import EvalwrightError
from evalwright.types import Usage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "generated" / "rows-1.jsonl"


def keep(path: Path, *landed: Landed) -> None:
    with part_of(path) as part:
        for one in landed:
            part.add(one)


ONE = Landed(place=1, rows=[{"a": "é"}], usage={"m": Usage(1, 2, 3, 0.5)})
TWO = Landed(place=0, rows=[{"a": 1}, {"a": 2}])


def test_what_has_landed_is_there_in_the_order_of_the_source(path: Path) -> None:
    keep(path, ONE, TWO)

    with part_of(path) as part:
        assert part.done == 2
        assert (part.has(0), part.has(1), part.has(2)) == (True, True, False)
        assert list(part.rows()) == [{"a": 1}, {"a": 2}, {"a": "é"}]
        assert part.spent == [{"m": Usage(1, 2, 3, 0.5)}, {}]


def test_a_failure_is_not_done_and_its_attempts_are_counted(path: Path) -> None:
    failed = Landed(place=4, usage={"m": Usage(1)})
    keep(path, failed, failed)

    with part_of(path) as part:
        assert (part.done, part.attempts, len(part.spent)) == (0, {4: 2}, 2)


def test_a_step_on_the_way_is_kept_until_its_row_is_done(path: Path) -> None:
    keep(path, Landed(place=4, rows=[{"a": 1}], usage={"m": Usage(1)}, step="1.0.x"))

    with part_of(path) as part:
        assert (part.done, part.attempts, part.spent) == (0, {}, [{"m": Usage(1)}])
        assert part.made(4, "1.0.x") == [{"a": 1}]
        assert (part.made(4, "1.1.x"), part.made(3, "1.0.x")) == (None, None)
        part.add(Landed(place=4, rows=[{"a": 2}]))
        assert part.made(4, "1.0.x") is None
        assert list(part.placed()) == [(4, {"a": 2})]


@pytest.mark.parametrize("cut", [1, 10, 20])
def test_a_line_that_was_cut_is_let_go_and_the_next_lands_well(path: Path, cut: int) -> None:
    keep(path, TWO, ONE)
    part_file = part_path(path)
    part_file.write_bytes(part_file.read_bytes()[:-cut])

    with part_of(path) as part:
        part.add(Landed(place=2, rows=[{"a": 3}]))
        assert list(part.rows()) == [{"a": 1}, {"a": 2}, {"a": 3}]

    with part_of(path) as part:
        assert list(part.rows()) == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_a_file_of_garbage_is_begun_anew(path: Path) -> None:
    path.parent.mkdir()
    part_path(path).write_bytes(b"\x00\xff garbage\n" * 3)

    keep(path, ONE)

    with part_of(path) as part:
        assert list(part.rows()) == [{"a": "é"}]


def test_what_has_landed_can_be_let_go(path: Path) -> None:
    keep(path, ONE, Landed(place=3))

    with part_of(path) as part:
        part.clear()
        part.add(TWO)

    with part_of(path) as part:
        assert (part.done, part.attempts, part.spent) == (1, {}, [{}])
        assert list(part.rows()) == [{"a": 1}, {"a": 2}]


def test_two_do_not_make_the_same_rows_at_once(path: Path) -> None:
    with part_of(path), pytest.raises(EvalwrightError, match="another process"), part_of(path):
        pass


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "generated").write_text("a file")

    with pytest.raises(EvalwrightError, match="cannot be written"):
        keep(tmp_path / "generated" / "rows.jsonl", ONE)


def test_a_file_is_there_when_all_of_it_is(path: Path) -> None:
    path.parent.mkdir()

    def lines() -> Iterator[bytes]:
        yield b"1"
        assert not path.exists()
        yield b"2"

    assert write_whole(path, lines()) == 2
    assert path.read_bytes() == b"1\n2\n"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_file_that_breaks_leaves_nothing_and_the_old_one_stays(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("old")

    def lines() -> Iterator[bytes]:
        yield b"1"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_whole(path, lines())
    assert path.read_text() == "old"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_no_lines_are_no_file(path: Path) -> None:
    path.parent.mkdir()

    assert write_whole(path, iter(())) == 0
    assert not path.exists()


def test_a_number_that_is_none_is_no_value() -> None:
    assert writable({"a": math.nan, "b": 1}) == {"b": 1}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "no columns"),
        ({"a": math.inf}, "cannot be written as JSON"),
        ({"a": [math.nan]}, "cannot be written as JSON"),
        ({"a": "\ud800"}, "half a surrogate pair"),
        ({"a": {1, 2}}, "cannot be written as JSON"),
    ],
)
def test_what_is_no_json_is_refused(row: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        writable(row)
