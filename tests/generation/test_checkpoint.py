from pathlib import Path

import pytest

from evalwright.errors import EvalwrightError
from evalwright.generation.checkpoint import (
    CheckpointRecord,
    checkpoint_path,
    open_checkpoint,
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
