import pytest

from evalwright.report.layout import lay_out_blocks, wrap_text
from evalwright.report.tables import Facts, Table, display_width, shorten


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("one two three", ["one two", "three"], id="at spaces"),
        pytest.param(
            "a /a/very/long/path b", ["a", "/a/very/long/path", "b"], id="a word is whole"
        ),
        pytest.param("in 0.5 [0.1, 0.9]", ["in 0.5", "[0.1, 0.9]"], id="an interval is whole"),
        pytest.param("世界の首都は東京", ["世界の首都", "は東京"], id="after a wide character"),
        pytest.param("عاصمة فرنسا باريس", ["عاصمة", "فرنسا", "باريس"], id="Arabic"),
        pytest.param("", [""], id="nothing"),
    ],
)
def test_a_text_breaks(text: str, lines: list[str]) -> None:
    assert wrap_text(text, 10) == lines


def test_without_a_width_a_text_is_one_line() -> None:
    assert wrap_text("word " * 50, None) == ["word " * 50]


def test_facts_wrap_under_their_own_start() -> None:
    facts = Facts([("store", "word " * 10 + "end"), ("a", "b")], indent="  ")

    shown = list(lay_out_blocks([facts], 40))

    assert shown[0] == "  store  word word word word word word"
    assert shown[1] == "         word word word word end"
    assert shown[2] == "  a      b"


def test_a_fact_that_is_one_long_word_has_a_line_of_its_own() -> None:
    facts = Facts([("local/model", f"/srv/{'x' * 30}")])

    assert list(lay_out_blocks([facts], 40)) == ["local/model", f"  /srv/{'x' * 30}"]


def test_in_a_pipe_a_row_is_one_line_and_wide_names_are_aligned() -> None:
    table = Table("", ("name", "n"), [("世界", "1"), ("a" * 90, "20")], frozenset({1}))

    shown = list(lay_out_blocks([table, "a text"], None))

    assert len(shown) == 4
    assert {display_width(line) for line in shown[:3]} == {2 + 90 + 2 + 2}


def test_a_name_of_wide_characters_is_shortened_by_columns() -> None:
    name = shorten("provider/世界の首都はどこですか", 15)

    assert display_width(name) <= 15
    assert name.startswith("provide")
    assert name.endswith("ですか")
