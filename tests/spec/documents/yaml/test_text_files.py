from pathlib import Path

import pytest

from evalwright.components import Authored
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document
from evalwright.types import Issue


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder: Path, files: dict[str, str | bytes]) -> YamlDocument:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document(next(iter(files)), environment={})


def only(document: YamlDocument) -> Issue:
    assert len(document.problems) == 1, document.problems
    return document.problems[0]


def test_included_text_comes_without_its_ends(folder: Path) -> None:
    document = read(folder, {"doc.yaml": "a: !include t.md", "t.md": "\n \n  one\r\n two \n\n"})

    text = document.data["a"]
    assert document.problems == []
    assert text == "one\n two"
    assert isinstance(text, Authored)
    assert (text.file, text.line) == ("t.md", 3)
    assert document.marks.place(("a",)) == ("doc.yaml", 1, 4)


@pytest.mark.parametrize("written", ["t.md", "'t.md'", '"t.md"', "./t.md", "more/../t.md"])
def test_a_path_may_be_written_in_every_way(folder: Path, written: str) -> None:
    document = read(
        folder, {"doc.yaml": f"a:\n  - !include {written}\n", "t.md": "x", "more/y": ""}
    )

    assert document.data == {"a": ["x"]}
    assert document.data["a"][0].file == "t.md"


def test_paths_are_relative_to_the_file_that_they_stand_in(folder: Path) -> None:
    document = read(
        folder,
        {
            "doc.yaml": "a: {$ref: parts/b.yaml}",
            "parts/b.yaml": "x: !include texts/t.md\ny: {$ref: ../c.yaml}",
            "parts/texts/t.md": "inner",
            "c.yaml": "z: 1",
        },
    )

    assert document.problems == []
    assert document.data == {"a": {"x": "inner", "y": {"z": 1}}}
    assert document.data["a"]["x"].file == "parts/texts/t.md"
    assert document.marks.place(("a", "y", "z")) == ("c.yaml", 1, 4)
    assert document.files == ["doc.yaml", "parts/b.yaml", "c.yaml"]


def test_a_folder_reached_through_a_link_keeps_its_way(folder: Path) -> None:
    (folder / "far" / "deep").mkdir(parents=True)
    (folder / "far" / "t.md").write_text("far away")
    (folder / "link").symlink_to(folder / "far" / "deep")

    document = read(folder, {"doc.yaml": "a: !include link/../t.md"})

    assert document.data["a"] == "far away"
    assert Path(document.data["a"].file).read_text() == "far away"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param("!include none.md", "`none.md`: no such file", id="missing"),
        pytest.param("!include more", "got a directory", id="a directory"),
        pytest.param("!include latin.md", "`latin.md:2`: expected UTF-8", id="not UTF-8"),
        pytest.param("!include", "expected the path", id="no path"),
        pytest.param("!include [a]", "expected the path", id="a list"),
        pytest.param('!include "a\\0b"', "null", id="an impossible path"),
    ],
)
def test_what_cannot_be_included_is_said_at_the_tag(folder: Path, written: str, words: str) -> None:
    document = read(
        folder, {"doc.yaml": f"k: 1\na: {written}\n", "latin.md": b"x\n\xe9", "more/x": ""}
    )

    problem = only(document)
    assert (problem.rule, problem.line, problem.column) == ("bad_include", 2, 4)
    assert words in problem.detail
    assert problem.field == "a"
    assert document.unread == {("a",)}


@pytest.mark.parametrize("written", ["'!include t.md'", '"!include t.md"', "|\n  !include t.md"])
def test_an_include_in_quotes_is_a_warning(folder: Path, written: str) -> None:
    document = read(folder, {"doc.yaml": f"a: {written}", "t.md": "x"})

    assert (only(document).rule, only(document).level) == ("quoted_include", "warning")
    assert document.data["a"].strip() == "!include t.md"
    assert document.ok


def test_a_reference_is_replaced_by_the_file(folder: Path) -> None:
    document = read(
        folder,
        {
            "doc.yaml": "a: {$ref: map.yaml}\nb: [{$ref: map.yaml}, {$ref: list.yaml}]\n"
            "c: {$ref: word.yaml}\n",
            "map.yaml": "x: 1\n",
            "list.yaml": "[1, 2]",
            "word.yaml": "word",
        },
    )

    assert document.problems == []
    assert document.data == {"a": {"x": 1}, "b": [{"x": 1}, [1, 2]], "c": "word"}
    assert document.data["c"].file == "word.yaml"
    assert document.marks.place(("b", 1, 1)) == ("list.yaml", 1, 5)


def test_a_whole_document_may_be_a_reference(folder: Path) -> None:
    document = read(folder, {"doc.yaml": "$ref: b.yaml", "b.yaml": "x: 1"})

    assert document.data == {"x": 1}
    assert document.marks.key_place(("x",)) == ("b.yaml", 1, 1)


def test_of_a_key_in_both_the_file_wins_with_a_warning(folder: Path) -> None:
    document = read(
        folder,
        {"doc.yaml": "a:\n  $ref: b.yaml\n  x: 1\n  y: {k: 1}\n", "b.yaml": "x: 2\nz: 3\n"},
    )

    assert document.data == {"a": {"x": 2, "y": {"k": 1}, "z": 3}}
    problem = only(document)
    assert (problem.rule, problem.level, problem.line) == ("overridden_key", "warning", 3)
    assert document.marks.place(("a", "x")) == ("b.yaml", 1, 4)
    assert document.marks.place(("a", "y", "k")) == ("doc.yaml", 4, 10)
    assert document.marks.place(("a",)) == ("doc.yaml", 2, 3)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param("none.yaml", "`none.yaml`: no such file", id="missing"),
        pytest.param("folder", "directory", id="a directory"),
        pytest.param("b.yaml#/x", "fragment", id="a fragment"),
        pytest.param("'#/x'", "fragment", id="only a fragment"),
        pytest.param("https://example.com/b.yaml", "a URL", id="a URL"),
        pytest.param("3", "expected the path", id="a number"),
        pytest.param("", "expected the path", id="nothing"),
        pytest.param('"a\\0b"', "expected the path", id="an impossible path"),
    ],
)
def test_what_cannot_be_referred_to_is_said_at_the_reference(
    folder: Path, written: str, words: str
) -> None:
    (folder / "folder").mkdir()

    document = read(folder, {"doc.yaml": f"a:\n  k: 1\n  $ref: {written}\n", "b.yaml": "x: 1"})

    problem = only(document)
    assert (problem.rule, problem.line, problem.field) == ("bad_ref", 3, "a")
    assert words in problem.detail
    assert document.data == {"a": {"k": 1}}
    assert document.unread == {("a",)}


@pytest.mark.parametrize(("content", "kind"), [("[1]", "list"), ("word", "str"), ("1", "int")])
def test_other_keys_beside_a_reference_need_a_mapping(
    folder: Path, content: str, kind: str
) -> None:
    document = read(folder, {"doc.yaml": "a: {$ref: b.yaml, x: 1}", "b.yaml": content})

    assert only(document).rule == "bad_ref"
    assert f"`{kind}`" in only(document).detail
    assert document.unread == {("a",)}


@pytest.mark.parametrize(
    ("files", "chain"),
    [
        ({"doc.yaml": "$ref: doc.yaml"}, "doc.yaml → doc.yaml"),
        (
            {
                "doc.yaml": "a: {$ref: b.yaml}",
                "b.yaml": "[{$ref: c.yaml}]",
                "c.yaml": "$ref: b.yaml",
            },
            "b.yaml → c.yaml → b.yaml",
        ),
    ],
    ids=["itself", "over another"],
)
def test_a_circle_of_references_shows_the_circle(
    folder: Path, files: dict[str, str | bytes], chain: str
) -> None:
    problem = only(read(folder, files))

    assert problem.rule == "ref_cycle"
    assert problem.detail.endswith(f": {chain}")


def test_a_long_row_of_references_ends(folder: Path) -> None:
    files: dict[str, str | bytes] = {"doc.yaml": "$ref: f0.yaml"}
    files |= {f"f{n}.yaml": f"$ref: f{n + 1}.yaml" for n in range(40)}

    assert only(read(folder, files)).rule == "too_deep"


def test_a_mistake_in_a_file_is_said_there_and_once(folder: Path) -> None:
    document = read(
        folder,
        {"doc.yaml": "a: {$ref: b.yaml}\nc: {$ref: b.yaml}\nd: 1\n", "b.yaml": "x: 1\ny: 'z\n"},
    )

    problem = only(document)
    assert (problem.file, problem.rule, problem.line) == ("b.yaml", "bad_yaml", 2)
    assert document.data == {"a": {}, "c": {}, "d": 1}
    assert document.unread == {("a",), ("c",)}
