import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from evalwright.datasets.texts import Texts
from evalwright.errors import BadDataset, EvalwrightError, Unreadable, UsageError
from evalwright.vocabulary import MAX_LINE_BYTES


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def rows(*texts: Any, field: str = "text") -> str:
    return "".join(json.dumps({"id": 1, field: one}) + "\n" for one in texts)


def read(path: str, **options: Any) -> list[tuple[int, str]]:
    texts = Texts([path], **options)
    texts.check()
    return [(one.line, one.text) for one in texts.documents()]


def refused(*paths: str, **options: Any) -> EvalwrightError:
    with pytest.raises(EvalwrightError) as found:
        Texts(paths, **options).check()
    return found.value


def test_a_row_is_a_document(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", rows("one", "two\n", "é") + "\n" + rows("last"))

    assert read(path) == [(1, "one"), (2, "two\n"), (3, "é"), (5, "last")]


def test_the_text_may_be_in_another_field(tmp_path: Path) -> None:
    path = written(tmp_path, "a.ndjson", rows("one", field="body"))

    assert read(path, field="body") == [(1, "one")]


def test_rows_may_be_compressed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl.gz", gzip.compress(rows("one").encode()))

    assert read(path) == [(1, "one")]


TEXT = "One.\nTwo.\r\n\n \nThree.\n"


@pytest.mark.parametrize(
    ("split", "documents"),
    [
        pytest.param(None, [(0, TEXT)], id="all of it, to its last newline"),
        pytest.param("paragraphs", [(1, "One.\nTwo."), (5, "Three.")], id="paragraphs"),
        pytest.param("lines", [(1, "One."), (2, "Two."), (5, "Three.")], id="lines"),
    ],
)
def test_plain_text_is_one_document_or_several(
    tmp_path: Path, split: Any, documents: list[tuple[int, str]]
) -> None:
    assert read(written(tmp_path, "a.txt", TEXT), split=split) == documents


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a.txt", b"\xef\xbb\xbfhi")) == [(0, "hi")]


def test_plain_text_may_be_compressed(tmp_path: Path) -> None:
    assert read(written(tmp_path, "a.txt.gz", gzip.compress(b"hi\n"))) == [(0, "hi\n")]


def test_a_document_without_text_is_left_out_and_counted(tmp_path: Path) -> None:
    texts = Texts([written(tmp_path, "a.jsonl", rows("", "one", " \n", "two"))])

    assert texts.check() == (2, 2)
    assert [one.line for one in texts.documents()] == [2, 4]


def test_the_limit_is_of_documents_in_all_files(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"{name}.jsonl", rows("1", "", "2")) for name in "abc"]
    texts = Texts(paths, limit=3)

    assert texts.check() == (3, 1)
    assert [(one.file, one.line) for one in texts.documents()] == [(0, 1), (0, 3), (1, 1)]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "hi")

    assert Texts([path, path]).check() == (1, 0)


@pytest.mark.parametrize(
    ("line", "said", "hint"),
    [
        pytest.param("{", "a.jsonl:2:2: not JSON", "one row per line", id="no JSON"),
        pytest.param(
            '"hi"', "a.jsonl:2: expected an object, got a string", "write a row as", id="a text"
        ),
        pytest.param(
            '{"txt": "x", "n": 1}',
            "a.jsonl:2: no field `text`; it has `txt`, `n`",
            "did you mean `--field txt`?",
            id="another field, close by",
        ),
        pytest.param(
            '{"body": "x", "n": 1}',
            "a.jsonl:2: no field `text`; it has `body`, `n`",
            "did you mean `--field body`?",
            id="another field, the only text",
        ),
        pytest.param(
            '{"a": "x", "b": "y"}',
            "a.jsonl:2: no field `text`; it has `a`, `b`",
            "set the text field with `--field NAME`",
            id="another field",
        ),
        pytest.param("{}", "a.jsonl:2: no field `text`; it has no field", "`--field", id="none"),
        pytest.param(
            '{"text": 1}', "a.jsonl:2: expected a string in `text`, got a number", "", id="a number"
        ),
        pytest.param(
            '{"text": null}', "a.jsonl:2: expected a string in `text`, got null", "", id="null"
        ),
        pytest.param('{"text": "\\ud800"}', "lone surrogate", "", id="half a pair"),
    ],
)
def test_a_bad_row_is_told_with_its_line(tmp_path: Path, line: str, said: str, hint: str) -> None:
    error = refused(written(tmp_path, "a.jsonl", rows("one") + line + "\n" + rows("three")))

    assert isinstance(error, BadDataset)
    assert said in error.message
    assert hint in error.hint


def test_bad_bytes_are_told_with_their_place(tmp_path: Path) -> None:
    row = refused(written(tmp_path, "a.jsonl", b'{"text": "caf\xe9"}\n'))
    whole = refused(written(tmp_path, "a.txt", b"one\ncaf\xe9\n"))
    line = refused(written(tmp_path, "b.txt", b"one\ncaf\xe9\n"), split="lines")

    assert "a.jsonl:1:14: byte 0xe9 is not UTF-8" in row.message
    assert "a.txt:2:4: byte 0xe9 is not UTF-8" in whole.message
    assert "b.txt:2:4: byte 0xe9 is not UTF-8" in line.message


def test_every_mistake_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    good = written(tmp_path, "good.txt", "hi")
    bad = written(tmp_path, "bad.jsonl", "{\n" + rows("x") + "[]\n")
    empty = written(tmp_path, "empty.txt", "")

    error = refused(good, bad, str(tmp_path / "none.txt"), str(tmp_path), empty)

    assert isinstance(error, BadDataset)
    said = error.message
    assert said.startswith("4 files cannot be used: ")
    assert "bad.jsonl:1:2: not JSON" in said
    assert "also line 3; 2 of 3 lines cannot be read" in said
    assert "none.txt: no such file" in said
    assert f"{tmp_path}: a directory, not a file" in said
    assert "empty.txt: no documents: the file is empty" in said


def test_only_the_first_bad_files_are_told(tmp_path: Path) -> None:
    error = refused(*(str(tmp_path / f"{number}.txt") for number in range(9)))

    assert isinstance(error, Unreadable)
    assert error.message.endswith("4.txt: no such file; and 4 more")


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_files_without_any_text_are_an_error(tmp_path: Path, name: str) -> None:
    content = rows("", " ") if name == "a.jsonl" else " \n"

    assert "no document has any text" in refused(written(tmp_path, name, content)).message


def test_a_document_has_at_most_16_mib(tmp_path: Path) -> None:
    line = b"word " * 200 + b"\n"
    lines = MAX_LINE_BYTES // len(line) + 1
    path = written(tmp_path, "a.txt", line * lines)

    assert "a.txt:1: the text is longer than 16 MiB" in str(error := refused(path))
    assert "`--split paragraphs`" in error.hint
    assert (
        "a.txt:1: the paragraph is longer than 16 MiB" in refused(path, split="paragraphs").message
    )
    assert Texts([path], split="lines").check().documents == lines


def test_a_binary_file_is_no_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a.bin", bytes(range(256)) * 20)

    assert "this is a binary file, not text" in refused(path).message


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        pytest.param("a.txt", {"field": "body"}, "`--field` is for .jsonl files", id="field"),
        pytest.param(
            "a.jsonl", {"split": "lines"}, "`--split` is for plain text files", id="split"
        ),
    ],
)
def test_an_option_that_no_file_has_a_use_for_is_refused(
    name: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        Texts([name], **options)


@pytest.mark.parametrize("field", ['a"b', "a\\b", "a\nb", "a\udcff"])
def test_a_field_that_cannot_be_looked_for_is_refused(field: str) -> None:
    with pytest.raises(UsageError, match="contains a character that is not supported"):
        Texts(["a.jsonl"], field=field)


def test_a_field_may_have_an_empty_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"": "one", "text": "two"}\n')
    texts = Texts([str(path)], field="")

    assert texts.check().documents == 1
    assert [one.text for one in texts.documents()] == ["one"]


def test_no_file_is_refused() -> None:
    with pytest.raises(UsageError, match="FILE is missing"):
        Texts([])


def test_what_can_be_read_only_once_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    assert "standard input" in refused("-").message
    assert "pipe: documents are read more than once" in refused(str(pipe)).message


@pytest.mark.parametrize("after", ["new\nother\n", "x" * 50, "\xe9"])
def test_a_file_that_changes_after_the_check_is_an_error(tmp_path: Path, after: str) -> None:
    path = written(tmp_path, "a.txt", "old\n")
    texts = Texts([path], split="lines")
    texts.check()
    written(tmp_path, "a.txt", after.encode("latin-1"))

    with pytest.raises(BadDataset, match="the file changed while it was in use"):
        list(texts.documents())


def test_a_file_that_grows_while_it_is_read_gives_no_more_than_was_checked(tmp_path: Path) -> None:
    path = written(tmp_path, "a.txt", "one\ntwo\n")
    texts = Texts([path], split="lines")
    texts.check()
    found = texts.documents()
    first = next(found)
    written(tmp_path, "a.txt", "one\ntwo\nthree\n")

    with pytest.raises(BadDataset, match="the file changed"):
        list(found)
    assert first.text == "one"


def test_a_place_is_a_file_and_a_line() -> None:
    texts = Texts(["a.txt", "odd\nname.jsonl"])

    assert texts.place(0, 0) == "a.txt"
    assert texts.place(1, 3) == "'odd\\nname.jsonl':3"
