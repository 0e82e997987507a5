"""Documents of `broken/`, each with one mistake, and every word that `validate` says of it."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.spec.documents.cases import Case, cases, names
from tests.spec.documents.made import written

from evalwright.cli import app

ALL = cases(Path(__file__).parent / "broken")
# What editors and reviewers would lose.
SPELT = {"<TAB>": "\t", "<BEL>": "\a"}


def spelt(text: str) -> str:
    for name, character in SPELT.items():
        text = text.replace(name, character)
    return text


@pytest.mark.parametrize("case", ALL, ids=names(ALL))
def test_what_is_said_of_a_mistake(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {name: spelt(text) for name, text in case.files.items()})
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(app, ["validate", next(iter(case.files))])

    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 1
    case.check(done.stdout + done.stderr)


def test_one_mistake_is_told_once() -> None:
    several = [case.title for case in ALL if ", 1 error: " not in case.said]

    assert several == []


# What stands in no text file: other bytes, other kinds of files


def field_docs(path: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["validate", path])
    assert isinstance(done.exception, SystemExit)
    return done.exit_code, done.stdout + done.stderr


DATASET = b"key: countries\ndisplay_name: Countries\nsource: {type: inline, smaples: []}\n"
CARET = """\
data.yaml:3:24: unknown_key: unknown key `smaples`; expected `columns`, `filters`, `missing`, `on_bad_rows`, `samples`, `type`; did you mean `samples`?
  source: {type: inline, smaples: []}
                         ^
0 valid documents, 1 error: unknown_key 1
"""  # noqa: E501 - as it is printed


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(DATASET.replace(b"\n", b"\r\n"), CARET, id="ends of lines as on Windows"),
        pytest.param(b"\xef\xbb\xbf" + DATASET, CARET, id="a byte order mark"),
        pytest.param(
            DATASET.replace(b"smaples: []", "ملف: فرنسا".encode()),
            "data.yaml:3:9: missing_key: `samples` is missing\n"
            "  source: {type: inline, ملف: فرنسا}\n"
            "          ^\n"
            "data.yaml:3:24: unknown_key: unknown key `ملف`; expected `columns`, "
            "`filters`, `missing`, `on_bad_rows`, `samples`, `type`\n"
            "  source: {type: inline, ملف: فرنسا}\n"
            "                         ^\n"
            "0 valid documents, 2 errors: missing_key 1, unknown_key 1\n",
            id="Arabic",
        ),
        pytest.param(
            b"key: countries\ndisplay_name: Caf\xe9s\n",
            "data.yaml:2: not_text: expected UTF-8, but byte 0xe9 is invalid; save it as UTF-8\n"
            "0 valid documents, 1 error: not_text 1\n",
            id="Latin 1",
        ),
        pytest.param(
            "key: countries\n".encode("utf-16"),
            "data.yaml:1: not_text: expected UTF-8, but the file is UTF-16; save it as UTF-8\n"
            "0 valid documents, 1 error: not_text 1\n",
            id="UTF-16",
        ),
        pytest.param(
            b"key: countries\nlogo: \x89PNG\0\n",
            "data.yaml:2: not_text: expected text, but the file is binary\n"
            "0 valid documents, 1 error: not_text 1\n",
            id="a picture",
        ),
    ],
)
def test_what_is_said_of_bytes(
    data: bytes, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data.yaml").write_bytes(data)
    monkeypatch.chdir(tmp_path)

    assert field_docs("data.yaml") == (1, expected)


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "data.yaml").open("wb") as file:
        file.truncate(5_000_000_000)
    monkeypatch.chdir(tmp_path)

    code, said = field_docs("data.yaml")

    assert code == 1
    assert said == (
        "data.yaml:1: too_large: expected at most 10 MB, but the file is larger; "
        "move data to a dataset file\n"
        "0 valid documents, 1 error: too_large 1\n"
    )


def test_what_cannot_be_read_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "circle.yaml").symlink_to("circle.yaml")
    monkeypatch.chdir(tmp_path)

    nothing = "0 valid documents, 0 errors\nevalwright: "
    circle = "circle.yaml: the file cannot be read: Too many levels of symbolic links\n"
    assert field_docs("nowhere.yaml") == (2, f"{nothing}nowhere.yaml: no such file\n")
    assert field_docs("circle.yaml") == (2, f"{nothing}{circle}")


def test_a_folder_has_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)

    code, said = field_docs("empty")

    assert code == 1
    assert said == (
        "empty:1: no_project: expected a run.yaml, or documents in tasks/, datasets/, models/ or "
        "evaluations/; `evalwright init` writes a project that runs\n"
        "0 valid documents, 1 error: no_project 1\n"
    )


def test_each_run_file_of_a_folder_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {"run.yaml": "models: []\n", "run.yml": "modelz: []\ntasks: []\n"})
    monkeypatch.chdir(tmp_path)

    code, said = field_docs(".")

    assert code == 1
    assert "run.yml:1:1: unknown_key: unknown key `modelz`" in said
    assert said.endswith("1 valid document, 1 error: unknown_key 1\n")
