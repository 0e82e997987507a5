from pathlib import Path
from typing import Any

import pytest

from evalwright.datasets.csv_file import CsvFile
from evalwright.errors import BadDataset


def rows(tmp_path: Path, text: str | bytes) -> list[dict[str, Any]]:
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(CsvFile(path).rows())


def column(tmp_path: Path, *cells: str, name: str = "x") -> list[Any]:
    lines = "\n".join([f"{name},other", *(f"{cell},-" for cell in cells)])
    return [row.get(name) for row in rows(tmp_path, lines)]


def refused(tmp_path: Path, text: str | bytes) -> BadDataset:
    with pytest.raises(BadDataset) as caught:
        rows(tmp_path, text)
    return caught.value


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(("1", "-2", "0"), [1, -2, 0], id="whole numbers"),
        pytest.param(("1", "2.5", "1e3"), [1, 2.5, 1000.0], id="each number as it is written"),
        pytest.param(("true", "FALSE", "True"), [True, False, True], id="truth values, any case"),
        pytest.param(("1", "", "3"), [1, None, 3], id="an empty cell is no reason to be text"),
        pytest.param(("7", "007"), ["7", "007"], id="a leading zero makes text of the column"),
        pytest.param(("1", "n/a"), ["1", "n/a"], id="one word makes text of the column"),
        pytest.param(("true", "1"), ["true", "1"], id="truth values and numbers do not mix"),
        pytest.param(("1", " 2"), ["1", " 2"], id="a space is text"),
        pytest.param(("+1", "2"), ["+1", "2"], id="a plus is text"),
        pytest.param(("nan", "inf"), ["nan", "inf"], id="nan and inf are words"),
        pytest.param(("1", "9" * 19), ["1", "9" * 19], id="19 digits are a name"),
        pytest.param(("1", "1e999"), ["1", "1e999"], id="beyond all numbers"),
        pytest.param(("yes", "no"), ["yes", "no"], id="yes and no are words"),
        pytest.param(("1", "٣"), ["1", "٣"], id="digits of other scripts are text"),
        pytest.param(("", ""), [None, None], id="nothing at all"),
    ],
)
def test_the_type_of_a_column(tmp_path: Path, cells: tuple[str, ...], expected: list[Any]) -> None:
    found = column(tmp_path, *cells)

    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]


def test_one_odd_cell_far_down_makes_text_of_the_whole_column(tmp_path: Path) -> None:
    found = column(tmp_path, *["1"] * 5000, "one")

    assert found == ["1"] * 5000 + ["one"]


def test_a_column_that_is_named_so_is_text_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x\n007,1\n1.50,2\n")

    assert list(CsvFile(path, texts=["id"]).rows()) == [
        {"id": "007", "x": 1},
        {"id": "1.50", "x": 2},
    ]


def test_a_sample_id_is_text_even_if_it_looks_like_a_number(tmp_path: Path) -> None:
    assert column(tmp_path, "1", "1.50", name="sample_id") == ["1", "1.50"]


def test_an_empty_cell_is_a_key_that_is_not_there(tmp_path: Path) -> None:
    assert rows(tmp_path, "a,b\n1,\n,x\n") == [{"a": 1}, {"b": "x"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('a\n"x, ""y"""\n', [{"a": 'x, "y"'}], id="commas and quotes in quotes"),
        pytest.param('a,b\n"x\ny",z\n', [{"a": "x\ny", "b": "z"}], id="a newline in quotes"),
        pytest.param("a\r\nx\r\n", [{"a": "x"}], id="Windows line ends"),
        pytest.param("\ufeffa\nx\n", [{"a": "x"}], id="a byte order mark"),
        pytest.param("a\nx", [{"a": "x"}], id="no newline at the end"),
        pytest.param("a,b\n\nx,y\n\n", [{"a": "x", "b": "y"}], id="blank lines"),
        pytest.param(" a , b\nx,y\n", [{"a": "x", "b": "y"}], id="spaces around names"),
        pytest.param("a;b,c\nx,y\n", [{"a;b": "x", "c": "y"}], id="a semicolon among commas"),
        pytest.param("a\nx\ufffdy\n", [{"a": "x\ufffdy"}], id="a replacement character"),
        pytest.param("a\nx\u2028y\x85z\n", [{"a": "x\u2028y\x85z"}], id="only \\n ends a line"),
    ],
)
def test_reads(tmp_path: Path, text: str, expected: list[dict[str, Any]]) -> None:
    assert rows(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        pytest.param("", "a.csv:1: expected a header", "", id="empty"),
        pytest.param("\n\n", "a.csv:1: expected a header", "", id="a blank first line"),
        pytest.param("a,b,a\n", "columns 1 and 3 are both named `a`", "", id="a name twice"),
        pytest.param(",a\n0,x\n", "column 1 has no name", "index=False", id="an index of pandas"),
        pytest.param("a;b\n1;2\n", "got one column `a;b`", "seems to be ';'", id="semicolons"),
        pytest.param("a\tb\n1\t2\n", "separated by `,`", "seems to be '\\t'", id="tabs"),
        pytest.param("a,b\n1,2\n1\n", "a.csv:3: expected 2 cells", "", id="too few cells"),
        pytest.param("a,b\n1,2,3\n", "a.csv:2: expected 2 cells as in the header, got 3",
                     "in quotes", id="too many cells"),
        pytest.param('a\nx\n"y\n', "a.csv:3: unclosed quote", "", id="a quote never closed"),
        pytest.param('a\n"x"y\n', "a.csv:2: text after a closing quote", "", id="after a quote"),
        pytest.param("a\rb\rc\n", "carriage return", "", id="old Mac line ends"),
        pytest.param("a\nx\ncaf\xe9\n".encode("latin-1"), "a.csv:3:4: byte 0xe9 is not UTF-8",
                     "Latin-1", id="Latin-1"),
        pytest.param("caf\xe9\nx\n".encode("latin-1"), "a.csv:1:4: byte 0xe9", "Latin-1",
                     id="Latin-1 in the header"),
        pytest.param("a,b\n1,2\n".encode("utf-16"), "UTF-16", "", id="UTF-16"),
        pytest.param(b"PK\x03\x04\x00\x00\xff\xfe\x00\xf1" * 9, "binary file", "right extension",
                     id="a spreadsheet"),
    ],
)  # fmt: skip
def test_refuses(tmp_path: Path, text: str | bytes, said: str, hint: str) -> None:
    error = refused(tmp_path, text)

    assert said in error.message
    assert hint in error.hint
    assert "\n" not in error.message


def test_all_bad_rows_are_counted_and_the_first_few_told(tmp_path: Path) -> None:
    text = "a,b\n" + "1,2\n" * 3 + "1\n" * 7 + "1,2\n"

    said = refused(tmp_path, text).message

    assert "a.csv:5: expected 2 cells as in the header, got 1" in said
    assert "also lines 6, 7, 8, 9…; 7 of 12 lines cannot be read" in said


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("fr\xe4ge\nx\n\xfcber\n", "also line 3; 2 of 3 lines", id="the header too"),
        pytest.param("a\n\xe9\n\xe9\n\xe9\nx\n", "lines 3 and 4; 3 of 5 lines", id="only rows"),
        pytest.param("a,b\n\xe9\n\xe9,1\n", "also line 3; 2 of 3 lines", id="a cell less"),
    ],
)
def test_lines_in_another_encoding_are_counted_in_the_whole_file(
    tmp_path: Path, text: str, count: str
) -> None:
    assert refused(tmp_path, text.encode("cp1252")).message.endswith(f"{count} cannot be read")


def test_the_line_of_a_bad_row_counts_the_newlines_in_quotes(tmp_path: Path) -> None:
    assert "a.csv:5: expected" in refused(tmp_path, 'a,b\n"x\ny\nz",1\n1\n').message


def test_no_row_comes_out_of_a_file_with_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3\n")

    with pytest.raises(BadDataset):
        next(CsvFile(path).rows())


def test_a_cell_may_be_longer_than_the_library_expects(tmp_path: Path) -> None:
    assert rows(tmp_path, f'a\n"{"x" * 500_000}"\n') == [{"a": "x" * 500_000}]
