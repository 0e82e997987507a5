import math
import os
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalwright.components import Authored
from evalwright.spec.documents.yaml.environment import read_env_file
from evalwright.spec.documents.yaml.reader import YamlDocument, read_document
from evalwright.types import Issue


@pytest.fixture(params=["c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both of PyYAML's parsers: the one in C may be missing."""
    if request.param == "python":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
    return str(request.param)


def read(folder: Path, text: str | bytes, **files: str) -> YamlDocument:
    for name, content in files.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")
    path = folder / "doc.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(path, environment={})


def only(document: YamlDocument) -> Issue:
    assert len(document.problems) == 1, document.problems
    return document.problems[0]


def said(problem: Issue) -> tuple[str, int, int | None]:
    return problem.rule, problem.line, problem.column


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("12", 12),
        ("-3", -3),
        ("+3", 3),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("off", "off"),
        ("y", "y"),
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("0b1", "0b1"),
        ("1.2.3", "1.2.3"),
        ("tRuE", "tRuE"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("! 12", "12"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!float 12", 12.0),
        ("<< config.x >>", "<< config.x >>"),
    ],
)
def test_a_plain_word_means_what_yaml_1_2_says(
    tmp_path: Path, written: str, expected: object
) -> None:
    document = read(tmp_path, f"key: {written}\n")

    assert document.problems == []
    value = document.data["key"]
    assert value == expected
    assert isinstance(value, str) == isinstance(expected, str)
    assert isinstance(value, bool) == isinstance(expected, bool)
    assert isinstance(value, float) == isinstance(expected, float)


def test_not_a_number_is_one(tmp_path: Path) -> None:
    assert math.isnan(read(tmp_path, "a: .nan").data["a"])


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("a: x\n", 1, id="plain"),
        pytest.param("\n\na:\n  'x'\n", 4, id="quoted"),
        pytest.param("a: |\n  x\n", 2, id="block"),
        pytest.param("a: >-  # why\n\n  x\n", 2, id="a blank line belongs to the text"),
        pytest.param("a: &here\n  |\n  x\n", 3, id="block below its anchor"),
        pytest.param("a: !!str |\n  x\n", 2, id="block after a tag"),
    ],
)
def test_a_text_knows_the_line_of_its_first_character(tmp_path: Path, text: str, line: int) -> None:
    value = read(tmp_path, text).data["a"]

    assert isinstance(value, Authored)
    assert value.line == line
    assert value.file == str(tmp_path / "doc.yaml")


def test_files_are_shown_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    document = read(tmp_path, "a: x")

    assert document.file == "doc.yaml"
    assert document.files == ["doc.yaml"]
    assert document.data["a"].file == "doc.yaml"
    assert document.marks.place(("a",)) == ("doc.yaml", 1, 4)


@pytest.mark.usefixtures("parser")
def test_marks_answer_for_values_and_for_keys(tmp_path: Path) -> None:
    document = read(tmp_path, 'top:\n  "ключ": [one, {deep: 2}]\n  other: |\n    text\n')
    marks = document.marks

    assert marks.place(())[1:] == (1, 1)
    assert marks.place(("top", "ключ"))[1:] == (2, 11)
    assert marks.key_place(("top", "ключ"))[1:] == (2, 3)
    assert marks.place(("top", "ключ", 1, "deep"))[1:] == (2, 24)
    assert marks.key_place(("top", "ключ", 1, "deep"))[1:] == (2, 18)
    assert marks.key_place(("top", "ключ", 1))[1:] == (2, 17)
    assert marks.place(("top", "other"))[1:] == (3, 10)
    assert marks.below(("top",)).key_place(("other",))[1:] == (3, 3)


def test_a_missing_value_is_where_it_would_be(tmp_path: Path) -> None:
    marks = read(tmp_path, "a:\n  b: 1\n").marks

    assert marks.place(("a", "c", "d")) == marks.place(("a",))
    assert marks.key_place(("a", "c")) == marks.place(("a",))
    assert not marks.has(("a", "c"))
    assert marks.has(("a", "b"))


@pytest.mark.usefixtures("parser")
def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        "base: &base {x: 1, y: 2}\n"
        "more: &more {y: 3, z: 4}\n"
        "one:\n  <<: *base\n  x: 9\n"
        "two:\n  <<: [*base, *more]\n"
        "three: *base\n",
    )

    assert document.problems == []
    assert document.data["one"] == {"x": 9, "y": 2}
    assert document.data["two"] == {"x": 1, "y": 2, "z": 4}
    assert document.data["three"] == {"x": 1, "y": 2}
    assert document.marks.place(("one", "y"))[1:] == (1, 23)
    assert document.marks.place(("one", "x"))[1:] == (5, 6)
    assert document.marks.place(("three",))[1:] == (8, 8)
    assert document.marks.place(("three", "x"))[1:] == (1, 17)


def test_a_merge_key_beside_another_is_no_duplicate(tmp_path: Path) -> None:
    document = read(tmp_path, "a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: *a\n  <<: *b\n  x: 3\n")

    assert document.problems == []
    assert document.data["c"] == {"x": 3, "y": 2}


def test_keys_may_be_any_scalar(tmp_path: Path) -> None:
    document = read(tmp_path, "1: a\nyes: b\n~: c\n0.5: d\n'2': e\n")

    assert document.problems == []
    assert document.data == {1: "a", "yes": "b", None: "c", 0.5: "d", "2": "e"}
    assert document.marks.place((1,))[1:] == (1, 4)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "rule", "place", "words"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", "duplicate_key", (3, 1), "lines 1", id="twice"),
        pytest.param("x: {a: 1, a: 2}\n", "duplicate_key", (1, 11), "`a`", id="twice in braces"),
        pytest.param("? [a]\n: 1\n", "bad_yaml", (1, 3), "key", id="a list as a key"),
        pytest.param("a: {{ sample.x }}\n", "bad_yaml", (1, 5), "template", id="a bare template"),
        pytest.param("a: {{ x }} and\n", "bad_yaml", (1, 5), "template", id="and text"),
        pytest.param("a: {% if x %}\n", "bad_yaml", (1, 5), "template", id="a bare statement"),
        pytest.param("a:\n\t- b\n", "tab", (2, 1), "tab", id="a tab"),
        pytest.param("a:\n  b: 1\n\tc: 2\n", "tab", (3, 1), "tab", id="a tab among spaces"),
        pytest.param("a: b: c\n", "bad_yaml", (1, 5), "second `:`", id="two colons"),
        pytest.param("a: @b\n", "bad_yaml", (1, 4), "start", id="a reserved character"),
        pytest.param("a: *.py\n", "bad_yaml", (1, 5), "anchor", id="a star"),
        pytest.param("a: [1,\nb: 2\n", "bad_yaml", (1, 4), "bracket", id="an open bracket"),
        pytest.param("a: [\n", "bad_yaml", None, "a value", id="a bracket at the end"),
        pytest.param("x: 1\na: 'b\n", "bad_yaml", (2, 4), "not closed", id="an open quote"),
        pytest.param('a: "\\d"\n', "bad_yaml", None, "escape", id="an escape"),
        pytest.param("a: 1\nb\nc: 2\n", "bad_yaml", (2, 1), "no `:`", id="no colon"),
        pytest.param("a: - b\n", "bad_yaml", (1, 4), "list", id="a list in the line of its key"),
        pytest.param("a: 1\n---\nb: 2\n", "many_documents", (2, 1), "one", id="two documents"),
        pytest.param("", "empty", (1, 1), "empty", id="nothing"),
        pytest.param("# only\n", "empty", (1, 1), "empty", id="comments"),
        pytest.param("---\n", "empty", (1, 1), "empty", id="a document of nothing"),
        pytest.param("a: !foo b\n", "unknown_tag", (1, 4), "`!foo`", id="a tag"),
        pytest.param("a: !foo {b: 1}\n", "unknown_tag", (1, 4), "`!foo`", id="a mapping's tag"),
        pytest.param(
            "a: !!python/object/apply:os.system [ls]\n",
            "unknown_tag",
            (1, 4),
            "python",
            id="an object",
        ),
        pytest.param("a: !!timestamp 2024-01-01\n", "unknown_tag", (1, 4), "!!", id="a date"),
        pytest.param("a: !!int b\n", "bad_tag", (1, 4), "`!!int`", id="no int"),
        pytest.param("a: !!map [1]\n", "unknown_tag", (1, 4), "!!map", id="no mapping"),
        pytest.param("a: *b\n", "unknown_alias", (1, 4), "`b`", id="no anchor"),
        pytest.param("a: &a [*a]\n", "recursive_alias", (1, 8), "own", id="in itself"),
        pytest.param("a:\n  <<: 3\n", "bad_merge", (2, 7), "`int`", id="a merge of nothing"),
        pytest.param("a: " + "9" * 5000, "bad_number", (1, 4), "digits", id="a long number"),
        pytest.param("a: \x07\n", "not_text", (1, 4), "U+0007", id="a control character"),
        pytest.param("[" * 1000, "too_deep", (1, 101), "100", id="deep lists"),
        pytest.param("? " * 1000, "too_deep", None, "100", id="deep keys"),
        pytest.param("%YAML 2.0\n--- a\n", "bad_yaml", (1, 1), "1.2", id="another YAML"),
    ],
)
def test_every_mistake_is_one_problem_at_its_place(
    tmp_path: Path, text: str, rule: str, place: tuple[int, int] | None, words: str
) -> None:
    problem = only(read(tmp_path, text))

    assert problem.rule == rule
    assert problem.file == str(tmp_path / "doc.yaml")
    assert problem.level == "error"
    assert words in problem.detail
    assert "\n" not in problem.detail + problem.hint
    if place is not None:
        assert (problem.line, problem.column) == place


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a\\n\\e[31m": 1, "a\\n\\e[31m": 2}', id="a key"),
        pytest.param('a: !include "no\\nfile"', id="a path"),
        pytest.param('a: {$ref: "no\\nfile"}', id="a reference"),
        pytest.param('a: !!int "1\\n2"', id="a value"),
        pytest.param(f"{{{'k' * 900}: 1, {'k' * 900}: 2}}", id="something long"),
    ],
)
def test_a_message_is_one_short_line_whatever_was_written(tmp_path: Path, text: str) -> None:
    problem = only(read(tmp_path, text))

    assert problem.detail.isprintable()
    assert str(problem.field).isprintable()
    assert len(problem.detail) <= 300


def test_a_tab_is_told_what_to_use(tmp_path: Path) -> None:
    assert "spaces" in only(read(tmp_path, "a:\n\t- b\n")).hint


@pytest.mark.parametrize("text", ["a: {{ x }}", "a: {{ x }} b", "a: {% x %}", "- {{ x }} b"])
def test_a_bare_template_is_told_to_be_quoted(tmp_path: Path, text: str) -> None:
    assert "quotes" in only(read(tmp_path, text)).hint


def test_a_misspelt_tag_is_told_the_right_one(tmp_path: Path) -> None:
    assert only(read(tmp_path, "a: !inclued b.md")).hint == "did you mean `!include`?"


@pytest.mark.parametrize(
    ("data", "rule", "line", "words"),
    [
        pytest.param("a: é".encode("utf-16"), "not_text", 1, "UTF-16", id="UTF-16"),
        pytest.param(b"a: 1\nb: \0\n", "not_text", 2, "binary", id="a NUL byte"),
        pytest.param(b"a: 1\n\nb: \xff\n", "not_text", 3, "0xff", id="not UTF-8"),
        pytest.param(b"#" * 10_000_001, "too_large", 1, "10 MB", id="too large"),
    ],
)
def test_a_file_that_is_no_text_is_one_problem(
    tmp_path: Path, data: bytes, rule: str, line: int, words: str
) -> None:
    document = read(tmp_path, data)

    problem = only(document)
    assert (problem.rule, problem.line) == (rule, line)
    assert words in problem.detail
    assert document.data is None
    assert document.unread == {()}


def test_a_file_that_cannot_be_opened_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("a: 1")
    (tmp_path / "secret.yaml").chmod(0)

    missing = only(read_document(tmp_path / "none.yaml", environment={}))
    folder = only(read_document(tmp_path, environment={}))
    strange = only(read_document("a\0b", environment={}))

    assert (missing.rule, missing.detail) == ("unreadable", "no such file")
    assert folder.detail == "expected a file, got a directory"
    assert strange.rule == "unreadable"
    if os.geteuid():
        denied = only(read_document(tmp_path / "secret.yaml", environment={}))
        assert "permission" in denied.detail


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b""])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_at_the_start_and_ends_of_lines_make_no_difference(
    tmp_path: Path, start: bytes, end: str
) -> None:
    document = read(tmp_path, start + end.join(["a: |", "  one", "  two", "b: x"]).encode())

    assert document.data == {"a": "one\ntwo\n", "b": "x"}
    assert document.marks.place(("b",))[1:] == (4, 4)


@pytest.mark.usefixtures("parser")
def test_only_newlines_end_lines(tmp_path: Path) -> None:
    document = read(tmp_path, "a: one\u2028two\x85three\nb: 'x\u2029y'\nc: z\n")

    assert document.problems == []
    assert document.data == {"a": "one\u2028two\x85three", "b": "x\u2029y", "c": "z"}
    assert document.marks.place(("c",))[1:] == (3, 4)


@pytest.mark.usefixtures("parser")
def test_a_bomb_of_aliases_is_one_problem(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    document = read(tmp_path, "\n".join(lines))

    assert only(document).rule == "alias_bomb"
    assert document.data is None


def test_aliases_do_not_nest_deeper_than_lists(tmp_path: Path) -> None:
    lines = ["a0: &a0 x"]
    lines += [f"a{n}: &a{n} {'[' * 60}*a{n - 1}{']' * 60}" for n in range(1, 30)]

    problem = only(read(tmp_path, "\n".join(lines)))

    assert (problem.rule, problem.line) == ("too_deep", 3)


def test_references_do_not_nest_deeper_than_lists(tmp_path: Path) -> None:
    files = {f"f{n}": f"{'[' * 30}{{$ref: f{n + 1}.yaml}}{']' * 30}" for n in range(9)}

    assert only(read(tmp_path, "$ref: f0.yaml", **files, f9="x")).rule == "too_deep"


def test_a_bomb_of_references_is_one_problem(tmp_path: Path) -> None:
    files = {f"f{n}": "[" + ", ".join([f"{{$ref: f{n + 1}.yaml}}"] * 10) + "]" for n in range(9)}

    document = read(tmp_path, "$ref: f0.yaml", **files, f9="[x, x, x]")

    assert only(document).rule == "alias_bomb"


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 1\na: 2\nb: !foo x\nc: *no\nd: !include no.md\ne: ok\n")

    assert [said(problem) for problem in document.problems] == [
        ("duplicate_key", 2, 1),
        ("unknown_tag", 3, 4),
        ("unknown_alias", 4, 4),
        ("bad_include", 5, 4),
    ]
    assert document.data["e"] == "ok"
    assert document.unread == {("b",), ("c",), ("d",)}
    assert not document.ok


def test_a_thousand_mistakes_are_enough(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 1\n" * 5000)

    assert len(document.problems) == 1001
    assert document.problems[-1].rule == "too_many"


def test_what_is_left_to_do_is_listed_at_its_place(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("\nfirst\nthen ((TODO))\n")

    document = read(
        tmp_path,
        "a:\n  - x: ((TODO))\n    y: |\n      one\n      two ((TODO))\n"
        "b: !include note.md\n((TODO)): 1\n",
    )

    found = [(p.field, Path(p.file).name, p.line, p.column) for p in document.problems]
    assert found == [
        ("a[0].x", "doc.yaml", 2, 8),
        ("a[0].y", "doc.yaml", 5, None),
        ("b", "note.md", 3, None),
        ("((TODO))", "doc.yaml", 7, 1),
    ]
    assert {p.rule for p in document.problems} == {"todo"}
    assert all(str(p.field) in p.detail for p in document.problems)


def test_ten_thousand_lines_are_read_in_a_second(tmp_path: Path) -> None:
    item = "  - key: k\n    value: 'some {{ text }}'\n    n: 12\n    list: [a, b, 3]\n    x: y z\n"
    started = time.process_time()

    document = read(tmp_path, "items:\n" + item * 2000)

    assert len(document.data["items"]) == 2000
    assert time.process_time() - started < 2


def plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(not isinstance(k, dict | list) and plain(v) for k, v in value.items())
    if isinstance(value, list):
        return all(map(plain, value))
    return value is None or isinstance(value, bool | int | float | Authored)


_PIECES = (
    *("a: ", "- ", "[", "]", "{", "}", ", ", "? ", ": ", "!", "!include ", "!!int ", "|", ">"),
    *("'", '"', "#", "%", "@", "<<: ", "$ref: ", "$X", "((TODO))", "\\", "~", "1", ".5", "x.md"),
    *(" ", "\n", "  ", "\t", "\n  ", "\n- ", "---", "...", "&a ", "*a", "\u2028", "doc.yaml"),
)
_yaml = st.lists(st.sampled_from(_PIECES), max_size=40).map(lambda parts: "".join(parts).encode())


@given(data=st.binary(max_size=200) | st.text(max_size=100).map(str.encode) | _yaml)
@pytest.mark.usefixtures("parser")
def test_no_bytes_raise(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.md").write_bytes(data)

    document = read(tmp_path, data)
    read_env_file(tmp_path / "x.md")

    assert plain(document.data)
    for problem in document.problems:
        assert problem.line >= 1
        assert ((problem.field or "") + problem.message).isprintable()
