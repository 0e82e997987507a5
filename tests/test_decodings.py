import pytest

from evalwright.decodings import (
    View,
    compile_escapes,
    select_near_escapes,
    undo_escapes,
    view_base64,
    view_escapes,
    view_hex,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        pytest.param(rb"%73%6B", b"sk", id="percent"),
        pytest.param(rb"\u0073\x6b\055", b"sk-", id="backslashes"),
        pytest.param(rb"\ud83d\ude00", "😀".encode(), id="a pair of surrogates"),
        pytest.param(rb"&#115;&#x6b;&amp;", b"sk&", id="HTML"),
        pytest.param(rb"\\u0073", rb"\u0073", id="once, not twice"),
        pytest.param(rb"50 % of &c. and C:\dir", rb"50 % of &c. and C:\dir", id="none"),
    ],
)
def test_escapes_are_undone_once(written: bytes, meant: bytes) -> None:
    assert undo_escapes(written) == meant
    assert view_escapes(View.of(written)).data == meant


def test_only_what_is_near_an_escape_is_selected() -> None:
    patterns = compile_escapes([b"sk-key"]).items()
    data = b"a" * 1000 + b"%73" + b"b" * 15 + b"&#107;" + b"c" * 1000 + b"&amp;" + b"d" * 1000

    selected = select_near_escapes(data, patterns, 10)

    assert selected.split() == [
        b"a" * 10 + b"%73" + b"b" * 15 + b"&#107;" + b"c" * 6,
        b"c" * 10 + b"&amp;" + b"d" * 9,
    ]
    assert select_near_escapes(b"a %41 and \\d, 50 % of & x" * 9, patterns, 10) == b""
    assert select_near_escapes(data, patterns, 1000) == data


def test_a_skipped_escape_stays() -> None:
    assert undo_escapes(rb"%73\x6b", skipped=b"%") == b"%73k"


def test_a_view_knows_where_each_byte_came_from() -> None:
    view = view_escapes(View.of(rb"a%73\u006b"))

    assert (view.data, [*view.starts], [*view.ends]) == (b"ask", [0, 1, 4], [1, 4, 10])


def test_hex_is_found_around_separators_and_prefixes() -> None:
    view = next(view_hex(View.of(b"0x73, 0x6b")))

    assert (view.data, [*view.starts], [*view.ends]) == (b"sk", [2, 8], [4, 10])


def test_base64_is_found_at_its_alignment() -> None:
    views = view_base64(View.of(b"!c2stYWJj!"), 8)

    assert [(view.starts[0], view.ends[-1]) for view in views if view.data == b"sk-abc"] == [(1, 9)]
