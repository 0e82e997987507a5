from pathlib import Path

import pytest

from evalwright import api
from evalwright.errors import UsageError
from evalwright.spec.records.fixtures import TASKS, TASKS_BAD


def test_validate_gives_records_and_errors() -> None:
    assert [len(part) for part in api.validate(TASKS)] == [10, 0]
    assert [len(part) for part in api.validate(TASKS_BAD)] == [0, 70]


def test_checks_keep_nothing_and_count() -> None:
    good, bad = api.checks([str(TASKS), str(TASKS_BAD)])

    assert (len(list(good)), len(list(bad))) == (0, 70)
    assert (good.valid, bad.errors) == (10, 70)


def test_lint_finds_nothing_in_the_examples() -> None:
    assert list(api.lint(TASKS)) == []


def test_init_writes_the_examples_and_makes_the_folder(tmp_path: Path) -> None:
    written = api.init(tmp_path / "new" / "project")

    assert written == tmp_path / "new" / "project" / "tasks.jsonl"
    assert written.read_bytes() == TASKS.read_bytes()


def test_init_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("mine")

    with pytest.raises(UsageError, match="already there, and left as it is"):
        api.init(tmp_path)

    assert (tmp_path / "tasks.jsonl").read_text() == "mine"


def test_init_into_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError):
        api.init(tmp_path / "file")


@pytest.mark.parametrize("kind", ["records", "report"])
def test_there_is_a_schema_of(kind: str) -> None:
    assert api.schema(kind)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_there_is_no_other_schema() -> None:
    with pytest.raises(UsageError, match="there is no schema `task`"):
        api.schema("task")
