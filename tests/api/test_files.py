import json
from pathlib import Path

import pytest

import evalwright as ew
from evalwright import api
from evalwright.errors import Unreadable, UsageError
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


def test_init_writes_a_project_and_the_examples_and_makes_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "project"

    written = api.init(folder)

    assert written[0] == folder / "run.yaml"
    assert (folder / "tasks.jsonl").read_bytes() == TASKS.read_bytes()
    assert {path.relative_to(folder).as_posix() for path in written} >= {
        "README.md",
        "tasks/capitals.yaml",
        "datasets/capitals.csv",
        "models/responder.py",
        ".evalwright/schemas/task.json",
    }


def test_init_writes_the_schemas_that_its_documents_name(tmp_path: Path) -> None:
    named = set()
    for path in api.init(tmp_path):
        if path.suffix == ".yaml":
            line = path.read_text().splitlines()[0]
            schema = path.parent / line.removeprefix("# yaml-language-server: $schema=")
            named.add(schema.resolve())

    assert len(named) == 4
    assert all("$schema" in json.loads(path.read_text()) for path in named)


def test_what_init_writes_is_valid(tmp_path: Path) -> None:
    api.init(tmp_path)

    checks = api.checks([str(tmp_path), str(tmp_path / "tasks.jsonl")])

    assert [(check.file, issue) for check in checks for issue in check] == []


@pytest.mark.parametrize("name", ["tasks.jsonl", "run.yaml", "tasks/capitals.yaml"])
def test_init_overwrites_nothing(name: str, tmp_path: Path) -> None:
    mine = tmp_path / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")

    with pytest.raises(UsageError, match="already exists and was not changed"):
        api.init(tmp_path)

    assert mine.read_text() == "mine"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [mine]


def test_init_leaves_a_readme_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")

    written = api.init(tmp_path)

    assert tmp_path / "README.md" not in written
    assert (tmp_path / "README.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_init_into_a_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError):
        api.init(tmp_path / name)


@pytest.mark.parametrize("kind", ["records", "report"])
def test_there_is_a_schema_of(kind: str) -> None:
    assert api.schema(kind)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_there_is_no_other_schema() -> None:
    with pytest.raises(UsageError, match="unknown schema `recipe`"):
        api.schema("recipe")


def test_documents_run_files_and_folders_are_validated_like_records(tmp_path: Path) -> None:
    api.init(tmp_path)
    broken = tmp_path / "tasks" / "capitals.yaml"
    run_file = tmp_path / "run.yaml"

    assert ew.validate(tmp_path) == ew.validate([run_file, str(broken)]) == ([], [])
    assert len(ew.validate([tmp_path, TASKS]).records) == 10

    broken.write_text(broken.read_text().replace("scorers:", "scorer:"))
    for path in (tmp_path, run_file, broken):
        records, errors = ew.validate(path)

        assert records == [], path
        assert [(Path(error.file).name, error.rule) for error in errors][:1] == [
            ("capitals.yaml", "unknown_key")
        ], path
    with pytest.raises(Unreadable, match="no such file"):
        ew.validate(tmp_path / "none.yaml")


def test_a_document_that_a_project_cannot_read_is_an_error(tmp_path: Path) -> None:
    api.init(tmp_path)
    (tmp_path / "tasks" / "binary.yaml").write_bytes(b"\xff\xfe\x00key")

    errors = ew.validate(tmp_path).errors

    assert [Path(error.file).name for error in errors] == ["binary.yaml"]
