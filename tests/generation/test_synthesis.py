import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalwright.errors import EvalwrightError
from evalwright.generation.synthesis import (
    CheckpointRecord,
    checkpoint_path,
    open_checkpoint,
    to_json_row,
    write_lines,
)
from evalwright.types import Usage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "generated" / "rows-1.jsonl"


def keep(path: Path, *records: CheckpointRecord) -> None:
    with open_checkpoint(path) as checkpoint:
        for record in records:
            checkpoint.append(record)


ONE = CheckpointRecord(place=1, rows=[{"a": "é"}], usage={"m": Usage(1, 2, 3, 0.5)})
TWO = CheckpointRecord(place=0, rows=[{"a": 1}, {"a": 2}])


def test_what_has_landed_is_there_in_the_order_of_the_source(path: Path) -> None:
    keep(path, ONE, TWO)

    with open_checkpoint(path) as checkpoint:
        assert checkpoint.n_done == 2
        assert (checkpoint.is_done(0), checkpoint.is_done(1), checkpoint.is_done(2)) == (
            True,
            True,
            False,
        )
        assert [row for _, row in checkpoint.rows()] == [{"a": 1}, {"a": 2}, {"a": "é"}]
        assert checkpoint.usages == [{"m": Usage(1, 2, 3, 0.5)}, {}]


def test_a_failure_is_not_done_and_its_attempts_are_counted(path: Path) -> None:
    failed = CheckpointRecord(place=4, usage={"m": Usage(1)})
    keep(path, failed, failed)

    with open_checkpoint(path) as checkpoint:
        assert (checkpoint.n_done, checkpoint.attempts, len(checkpoint.usages)) == (0, {4: 2}, 2)


def test_a_step_on_the_way_is_kept_until_its_row_is_done(path: Path) -> None:
    keep(path, CheckpointRecord(place=4, rows=[{"a": 1}], usage={"m": Usage(1)}, step="1.0.x"))

    with open_checkpoint(path) as checkpoint:
        assert (checkpoint.n_done, checkpoint.attempts, checkpoint.usages) == (
            0,
            {},
            [{"m": Usage(1)}],
        )
        assert checkpoint.find_step(4, "1.0.x") == [{"a": 1}]
        assert (checkpoint.find_step(4, "1.1.x"), checkpoint.find_step(3, "1.0.x")) == (None, None)
        checkpoint.append(CheckpointRecord(place=4, rows=[{"a": 2}]))
        assert checkpoint.find_step(4, "1.0.x") is None
        assert list(checkpoint.rows()) == [(4, {"a": 2})]


@pytest.mark.parametrize("cut", [1, 10, 20])
def test_a_line_that_was_cut_is_let_go_and_the_next_lands_well(path: Path, cut: int) -> None:
    keep(path, TWO, ONE)
    checkpoint_file = checkpoint_path(path)
    checkpoint_file.write_bytes(checkpoint_file.read_bytes()[:-cut])

    with open_checkpoint(path) as checkpoint:
        checkpoint.append(CheckpointRecord(place=2, rows=[{"a": 3}]))
        assert [row for _, row in checkpoint.rows()] == [{"a": 1}, {"a": 2}, {"a": 3}]

    with open_checkpoint(path) as checkpoint:
        assert [row for _, row in checkpoint.rows()] == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_a_file_of_garbage_is_begun_anew(path: Path) -> None:
    path.parent.mkdir()
    checkpoint_path(path).write_bytes(b"\x00\xff garbage\n" * 3)

    keep(path, ONE)

    with open_checkpoint(path) as checkpoint:
        assert [row for _, row in checkpoint.rows()] == [{"a": "é"}]


def test_what_has_landed_can_be_let_go(path: Path) -> None:
    keep(path, ONE, CheckpointRecord(place=3))

    with open_checkpoint(path) as checkpoint:
        checkpoint.clear()
        checkpoint.append(TWO)

    with open_checkpoint(path) as checkpoint:
        assert (checkpoint.n_done, checkpoint.attempts, checkpoint.usages) == (1, {}, [{}])
        assert [row for _, row in checkpoint.rows()] == [{"a": 1}, {"a": 2}]


def test_two_do_not_make_the_same_rows_at_once(path: Path) -> None:
    with (
        open_checkpoint(path),
        pytest.raises(EvalwrightError, match="another process"),
        open_checkpoint(path),
    ):
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
