from pathlib import Path

import pytest

from evalwright.spec.documents.yaml.environment import ExpandedText, load_environment, read_env_file
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document
from evalwright.types import Issue

ENVIRONMENT = {"KEY": "sk-very-secret", "HOST": "localhost", "_1": "one", "EMPTY": ""}


def read(folder: Path, text: str) -> YamlDocument:
    (folder / "doc.yaml").write_text(text)
    return read_document(folder / "doc.yaml", environment=ENVIRONMENT)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("$KEY", "sk-very-secret", id="bare"),
        pytest.param("${KEY}", "sk-very-secret", id="in braces"),
        pytest.param("'$KEY'", "sk-very-secret", id="in quotes"),
        pytest.param("${HOST}/v1/$_1", "localhost/v1/one", id="more behind it"),
        pytest.param("$EMPTY", "", id="set to nothing"),
        pytest.param("prefix-$KEY", "prefix-$KEY", id="not at the start"),
        pytest.param("$KEY and more", "$KEY and more", id="with spaces"),
        pytest.param("$", "$", id="a dollar"),
        pytest.param("$5", "$5", id="an amount"),
        pytest.param("$.a.b", "$.a.b", id="a JSON path"),
        pytest.param("openai$KEY", "openai$KEY", id="a model's key"),
    ],
)
def test_a_variable_is_filled_in_when_it_begins_the_text(
    tmp_path: Path, written: str, expected: str
) -> None:
    document = read(tmp_path, f"a: {written}\n")

    assert document.data == {"a": expected}
    assert document.problems == []


def test_only_the_values_of_mappings_are_filled_in(tmp_path: Path) -> None:
    document = read(tmp_path, "a: [$KEY, {b: $KEY}]\n$KEY: x\n$provider: $HOST\n")

    assert document.data == {
        "a": ["$KEY", {"b": "sk-very-secret"}],
        "$KEY": "x",
        "$provider": "$HOST",
    }


def test_a_reference_is_not_filled_in(tmp_path: Path) -> None:
    (tmp_path / "$HOST").write_text("x: 1")

    assert read(tmp_path, "a: {$ref: $HOST}").data == {"a": {"x": 1}}


def test_what_was_filled_in_remembers_its_variable_and_its_place(tmp_path: Path) -> None:
    document = read(tmp_path, "x: 1\na: ${KEY}\n")

    value = document.data["a"]
    assert isinstance(value, ExpandedText)
    assert (value.variable, value.names, value.line) == ("${KEY}", ("KEY",), 2)
    assert document.variables == {"KEY"}


def test_what_is_not_set_is_left_with_a_warning(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 1\nb: $HOST-$NONE\n")

    (problem,) = document.problems
    assert document.data["b"] == "$HOST-$NONE"
    assert (problem.rule, problem.level, problem.line) == ("unset_variable", "warning", 2)
    assert "`NONE`" in problem.detail
    assert document.ok


def test_no_problem_shows_a_value(tmp_path: Path) -> None:
    document = read(tmp_path, "a: $KEY\na: $KEY\nb: {<<: $KEY}\nc: {$ref: none.yaml, d: $KEY}\n")

    assert len(document.problems) == 3
    assert "very-secret" not in repr(document.problems)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("A=1", {"A": "1"}, id="plain"),
        pytest.param("  A = one two  ", {"A": "one two"}, id="spaces around"),
        pytest.param("export A=1", {"A": "1"}, id="export"),
        pytest.param("A=", {"A": ""}, id="nothing"),
        pytest.param("A='a # b'", {"A": "a # b"}, id="single quotes"),
        pytest.param(r"A='a\nb'", {"A": r"a\nb"}, id="no escapes in single quotes"),
        pytest.param(r'A="a\n\"b\" \\"', {"A": 'a\n"b" \\'}, id="escapes in double quotes"),
        pytest.param("A=x # why", {"A": "x"}, id="a comment behind"),
        pytest.param("A='x' # why", {"A": "x"}, id="a comment behind quotes"),
        pytest.param("A=x#y", {"A": "x#y"}, id="a hash in a word"),
        pytest.param("A=b=c", {"A": "b=c"}, id="an equals sign in the value"),
        pytest.param("# A=1", {}, id="a comment"),
        pytest.param("", {}, id="a blank line"),
        pytest.param("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}, id="other line ends"),
        pytest.param("A=1\nA=2", {"A": "2"}, id="the last wins"),
    ],
)
def test_an_env_file_is_names_and_values(
    tmp_path: Path, line: str, expected: dict[str, str]
) -> None:
    (tmp_path / "x.env").write_bytes(line.encode())

    assert read_env_file(tmp_path / "x.env") == (expected, [])


@pytest.mark.parametrize("line", ["sk-secret", "1A=sk-secret", "A B=sk-secret", "A='sk-secret"])
def test_a_line_that_sets_nothing_is_a_warning_without_its_text(tmp_path: Path, line: str) -> None:
    (tmp_path / "x.env").write_text(f"A=1\n{line}\nB=2\n")

    found, (problem,) = read_env_file(tmp_path / "x.env")

    assert found == {"A": "1", "B": "2"}
    assert (problem.rule, problem.level, problem.line) == ("bad_env_line", "warning", 2)
    assert "secret" not in repr(problem)


def test_the_named_file_beats_the_process_which_beats_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=folder\nB=folder\nC=folder\n")
    (tmp_path / "x.env").write_text("C=named\nD=named")
    (tmp_path / "y.env").write_text("D=last")

    found, problems = load_environment(
        [tmp_path / "x.env", tmp_path / "y.env"],
        {"B": "process", "C": "process"},
        folder=tmp_path,
    )

    assert problems == []
    assert found == {"A": "folder", "B": "process", "C": "named", "D": "last"}


def test_without_files_there_is_the_environment_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_NAME", "x")
    monkeypatch.chdir(tmp_path)

    assert load_environment()[0]["SOME_NAME"] == "x"


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    _, problems = load_environment([tmp_path / "none.env"], {}, folder=tmp_path)

    (problem,) = problems
    assert isinstance(problem, Issue)
    assert (problem.rule, problem.level) == ("unreadable", "error")
