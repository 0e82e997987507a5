import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalwright.spec.records.parse import BadJson, KeyPlace, depth, find_key, parse
from evalwright.vocabulary import MAX_DEPTH, MAX_DIGITS

SEEDED = settings(derandomize=True)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def refusal(text: str) -> BadJson:
    with pytest.raises(BadJson) as caught:
        parse(text)
    return caught.value


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@SEEDED
@given(VALUES, st.booleans())
def test_what_json_says_is_what_comes_out(value: Any, ascii_only: bool) -> None:  # noqa: FBT001
    assert parse(json.dumps(value, ensure_ascii=ascii_only)) == value


@pytest.mark.parametrize(
    ("text", "at", "key"),
    [
        pytest.param('{"a": 1, "a": 2}', 9, "a", id="plain"),
        pytest.param('{"a":1,"b":2,"a":3}', 13, "a", id="with another between"),
        pytest.param('{"a": 1, "a": 1}', 9, "a", id="of equal value"),
        pytest.param('{"a": 1, "a" : 2}', 9, "a", id="a space before the colon"),
        pytest.param('{"a": 1, "a"\t:\r2}', 9, "a", id="a tab before the colon"),
        pytest.param(r'{"ab": 1, "\u0061b": 2}', 10, "ab", id="an escape in the second"),
        pytest.param(r'{"\u0061b": 1, "ab": 2}', 15, "ab", id="an escape in the first"),
        pytest.param(r'{"\u0061\u0062": 1, "a\u0062": 2}', 20, "ab", id="escapes in both"),
        pytest.param(r'{"a/b": 1, "a\/b": 2}', 11, "a/b", id="an escaped slash"),
        pytest.param(r'{"\u00E9": 1, "é": 2}', 14, "é", id="beyond ASCII"),
        pytest.param(r'{"👍": 1, "\ud83d\udc4d": 2}', 9, "👍", id="a pair of surrogates"),
        pytest.param('{"": 1, "": 2}', 8, "", id="the empty key"),
        pytest.param('{"a:b": 1, "a:b": 2}', 11, "a:b", id="a key with a colon"),
        pytest.param(r'{"\"a\":": 1, "\"a\":": 2}', 14, '"a":', id="a key that looks like one"),
        pytest.param('[{"a": 1, "a": 2}]', 10, "a", id="in a list"),
        pytest.param('{"x": {"a": 1, "a": 2}}', 15, "a", id="in an object"),
        pytest.param('{"x": [[{"y": {"a": 1, "a": 2}}]]}', 23, "a", id="far inside"),
        pytest.param('{"a": {"a": 1, "a": 2}}', 15, "a", id="the outer one does not count"),
        pytest.param('{"x": [{"a": 1}, {"a": 2}], "x": 3}', 28, "x", id="nor do neighbours"),
        pytest.param('{"x": "\\"x\\": 1", "x": 3}', 18, "x", id="nor does text"),
        pytest.param('{"a": 1, "a": {"b": 1, "b": 2}}', 9, "a", id="of two, the first to be read"),
        pytest.param('{"é漢👍": "漢", "é漢👍": 2}', 13, "é漢👍", id="columns count characters"),
    ],
)
def test_a_key_given_twice_is_found_wherever_it_stands(text: str, at: int, key: str) -> None:
    error = refusal(text)

    assert error.detail == f"duplicate key `{key}`"
    assert error.column == at + 1


def test_a_long_key_is_not_repeated_in_full() -> None:
    key = "k" * 1000

    assert refusal(f'{{"{key}": 1, "{key}": 2}}').detail == f"duplicate key `{'k' * 60}`"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('[{"a": 1}, {"a": 2}]', id="neighbours"),
        pytest.param('{"a": {"a": {"a": 1}}}', id="one within the other"),
        pytest.param('{"a": 1, "A": 2, "a ": 3, "á": 4, "a\u0301": 5}', id="names that are alike"),
        pytest.param(r'{"a": "\", \"a\": 1"}', id="text that looks like a key"),
    ],
)
def test_keys_of_different_objects_or_spellings_are_different(text: str) -> None:
    assert parse(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "column", "detail"),
    [
        pytest.param("NaN", 1, "`NaN` is not a JSON number", id="NaN"),
        pytest.param('{"é": Infinity}', 7, "`Infinity` is not a JSON number", id="Infinity"),
        pytest.param("[1, -Infinity]", 5, "`-Infinity` is not a JSON number", id="minus Infinity"),
        pytest.param('["NaN", NaN]', 9, "`NaN` is not a JSON number", id="not in a string"),
        pytest.param(r'["\"NaN", NaN]', 11, "`NaN` is not a JSON number", id="an escaped quote"),
        pytest.param('{"NaN": NaN}', 9, "`NaN` is not a JSON number", id="not in a key"),
        pytest.param("[1e999]", 2, "the number `1e999` is out of range", id="1e999"),
        pytest.param("[1, -1e999]", 5, "the number `-1e999` is out of range", id="-1e999"),
        pytest.param("[2e308]", 2, "the number `2e308` is out of range", id="just too large"),
        pytest.param(
            f"[1e{'9' * 99}]", 2, f"the number `1e{'9' * 38}` is out of range", id="many digits"
        ),
        pytest.param(
            f"[{'9' * 4301}]", 2, "an integer with 4,301 digits is out of range", id="a long one"
        ),
        pytest.param("[01]", 3, "a number must not start with 0", id="01"),
        pytest.param("[-01]", 4, "a number must not start with 0", id="-01"),
        pytest.param("[1.]", 3, "JSON does not allow this number", id="1."),
        pytest.param("[0x10]", 3, "JSON does not allow this number", id="0x10"),
        pytest.param("[1_000]", 3, "JSON does not allow this number", id="1_000"),
        pytest.param("[1e]", 3, "JSON does not allow this number", id="1e"),
        pytest.param("[.5]", 2, "`.` cannot start a JSON value", id=".5"),
        pytest.param("[+1]", 2, "`+` cannot start a JSON value", id="+1"),
        pytest.param("[nan]", 2, "`nan` is not a JSON value", id="nan"),
    ],
)
def test_numbers_that_json_does_not_have(text: str, column: int, detail: str) -> None:
    error = refusal(text)

    assert (error.column, error.detail) == (column, detail)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1.7976931348623157e308", id="the largest fraction"),
        pytest.param("1e-999", id="too small is zero"),
        pytest.param("0e999999", id="zero, however it is written"),
        pytest.param("-0", id="minus zero"),
        pytest.param("18446744073709551616", id="beyond 64 bits"),
        pytest.param("9" * MAX_DIGITS, id="as many digits as there may be"),
        pytest.param("-" + "9" * (MAX_DIGITS - 1), id="and with a sign"),
    ],
)
def test_numbers_that_json_has(text: str) -> None:
    assert parse(text) == json.loads(text)


def test_fewer_digits_are_taken_where_python_was_told_so() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        assert refusal("9" * 641).detail == "an integer is out of range"
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        pytest.param(r'"\ud83d"', 2, id="a high one"),
        pytest.param(r'"\udc4d"', 2, id="a low one"),
        pytest.param(r'"\UD83D"'.replace("U", "u"), 2, id="in capitals"),
        pytest.param(r'"\udc4d\ud83d"', 2, id="the wrong way round"),
        pytest.param(r'"\ud83d\ud83d\udc4d"', 2, id="before a pair"),
        pytest.param(r'"\ud83d\udc4d\udc4d"', 14, id="after a pair"),
        pytest.param(r'"\ud83d \udc4d"', 2, id="a space between"),
        pytest.param(r'"\ud83d\u0041"', 2, id="before another escape"),
        pytest.param(r'"\\\ud83d"', 4, id="after an escaped backslash"),
        pytest.param(r'{"é\ud83d": 1}', 4, id="in a key"),
        pytest.param(r'[{"a": ["\ud83d\udc4d", "\udfff"]}]', 26, id="deep inside, after a pair"),
    ],
)
def test_half_a_surrogate_pair_is_no_text(text: str, column: int) -> None:
    error = refusal(text)

    assert error.detail == r"a `\u` escape is half of a surrogate pair"
    assert error.column == column


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(r'"\ud83d\udc4d"', id="a pair"),
        pytest.param(r'"\uD83D\uDC4D"', id="a pair in capitals"),
        pytest.param(r'"\\ud83d"', id="an escaped backslash, and text"),
        pytest.param(r'"\\\\ud83d"', id="two of them"),
        pytest.param(r'"\ud7ff\ue000"', id="their neighbours"),
    ],
)
def test_whole_pairs_are_text(text: str) -> None:
    assert parse(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "at", "detail"),
    [
        pytest.param('{"a": 1', "", "the line ends before the record does", id="cut"),
        pytest.param('{"a": 1 \r', " \r", "the line ends before the record does", id="cut, CR"),
        pytest.param('{"a": ', " ", "the line ends before the record does", id="cut at a value"),
        pytest.param('{"a', '"a', "this string is not closed", id="cut in a string"),
        pytest.param('["é", "a]', '"a]', "this string is not closed", id="no closing quote"),
        pytest.param('{"a": 1,}', ",}", "remove the comma before the closing brace", id="brace"),
        pytest.param(
            '{"a": 1, }', ", }", "remove the comma before the closing brace", id="and a space"
        ),
        pytest.param("[1,2,]", ",]", "remove the comma before the closing bracket", id="bracket"),
        pytest.param("[1 2]", "2]", "a comma is missing here", id="no comma"),
        pytest.param('{"a": "b" "c": 1}', '"c"', "a comma is missing here", id="no comma, object"),
        pytest.param('{"a" 1}', "1}", "a colon is missing here", id="no colon"),
        pytest.param('{"a": }', "}", "a value is missing here", id="no value"),
        pytest.param("[,1]", ",1", "a value is missing here", id="no value before a comma"),
        pytest.param("{a: 1}", "a:", "expected a key in double quotes here", id="a bare key"),
        pytest.param("{'a': 1}", "'a'", "expected a key in double quotes here", id="quotes"),
        pytest.param("{\"a\": 'b'}", "'b'", "strings need double quotes", id="single quotes"),
        pytest.param("[True]", "True", "`True` is not a JSON value; write `true`", id="True"),
        pytest.param("[None]", "None", "`None` is not a JSON value; write `null`", id="None"),
        pytest.param("[abc]", "abc", "`abc` is not a JSON value", id="a bare word"),
        pytest.param("// x", "//", "`/` cannot start a JSON value", id="a comment"),
        pytest.param("{} {}", "{}", "text after the record; write one record per line", id="two"),
        pytest.param("{}x", "x", "text after the record; write one record per line", id="more"),
        pytest.param('["\t"]', '\t"', "a control character inside a string; escape it", id="tab"),
        pytest.param('["\0"]', '\0"', "a control character inside a string; escape it", id="NUL"),
        pytest.param(r'["\x41"]', r"\x", "JSON does not have this escape", id="\\x"),
        pytest.param(r'["\u12"]', r"\u", r"a `\u` escape needs four hexadecimal digits", id="\\u"),
        pytest.param("\ufeff{}", "\ufeff", "unexpected character U+FEFF", id="BOM"),
        pytest.param("[\xa01]", "\xa0", "unexpected character U+00A0", id="nbsp"),
        pytest.param("{}\0", "\0", "unexpected character U+0000", id="NUL after"),
        pytest.param("\x0c{}", "\x0c", "unexpected character U+000C", id="feed"),
    ],
)
def test_a_mistake_is_pointed_at_and_put_into_words(text: str, at: str, detail: str) -> None:
    error = refusal(text)

    assert error.detail == detail
    assert error.column is not None
    assert text[error.column - 1 :].startswith(at)
    assert not at or error.column == text.rindex(at) + 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(nested(MAX_DEPTH + 1), id="one too many"),
        pytest.param(nested(10_000), id="ten thousand"),
        pytest.param("[" * 10_000_000, id="ten million that never close"),
        pytest.param('{"a":' * 100_000, id="objects that never close"),
        pytest.param('{"a":' * 501 + "1" + "}" * 501, id="objects"),
    ],
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    assert refusal(text).detail == "nested too deeply"


def test_what_is_nested_less_deeply_is_followed() -> None:
    assert depth(parse(nested(MAX_DEPTH))) == MAX_DEPTH
    assert parse("[" + "[]," * 2000 + "[]]") == [[] for _ in range(2001)]


def test_the_limit_does_not_depend_on_where_it_is_called_from() -> None:
    def called_from(frames: int) -> Any:
        return parse(nested(MAX_DEPTH)) if frames == 0 else called_from(frames - 1)

    assert depth(called_from(300)) == MAX_DEPTH


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(1, 0, id="a number"),
        pytest.param("[[", 0, id="a string"),
        pytest.param([], 1, id="an empty list"),
        pytest.param({"a": []}, 2, id="a list in an object"),
        pytest.param([[], [[{}]], {}], 4, id="the deepest counts"),
    ],
)
def test_depth(value: Any, expected: int) -> None:
    assert depth(value) == expected


@SEEDED
@given(
    st.dictionaries(st.text(max_size=3), VALUES, max_size=5),
    st.sampled_from([None, (",", " \t:\r "), (" ,\t", ":")]),
    st.booleans(),
)
def test_the_place_of_a_key_is_where_it_stands(
    value: dict[str, Any],
    separators: tuple[str, str] | None,
    ascii_only: bool,  # noqa: FBT001
) -> None:
    text = " " + json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    read = json.JSONDecoder().raw_decode

    for key, item in value.items():
        place = find_key(key, text)

        assert place is not None
        assert read(text, place.key - 1)[0] == key
        assert read(text, place.value - 1)[0] == item


def test_a_key_that_is_not_there_has_no_place() -> None:
    assert find_key("a", '{"b": {"a": 1}, "c": "\\"a\\": 1"}') is None
    assert find_key("a", " { } ") is None
    assert find_key("a", '{"b":{"a":0},"a":1}') == KeyPlace(14, 18)
