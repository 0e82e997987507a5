"""A JSON file is read value by value, in pieces of any size, and errors have their place."""

import json
from io import BytesIO, StringIO, TextIOWrapper
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.errors import BadLog
from evalwright.result_logs.read_log import JsonStream

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def open_stream(text: str, *, chunk: int = 7) -> JsonStream:
    return JsonStream(StringIO(text), "log.json", chunk=chunk)


def read_members(text: str, *, chunk: int) -> dict[str, Any]:
    """Every member of an object; of a list, element by element."""
    found: dict[str, Any] = {}
    stream = open_stream(text, chunk=chunk)
    for name in stream.members():
        listed = stream.peek() == "["
        found[name] = (
            [stream.read_value() for _ in stream.elements()] if listed else stream.read_value()
        )
    stream.expect_end()
    return found


def read_all(stream: JsonStream) -> None:
    """To the end, every member at once."""
    for _ in stream.members():
        stream.read_value()
    stream.expect_end()


@given(st.dictionaries(st.text(), VALUES), st.integers(1, 40), st.sampled_from([None, 2]))
def test_in_pieces_of_any_size_it_reads_what_json_reads(
    value: dict[str, Any], chunk: int, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent)

    assert read_members(text, chunk=chunk) == json.loads(text)


def test_a_number_at_the_end_of_a_piece_keeps_its_digits() -> None:
    assert read_members('{"a": 123456789, "b": -1.5e10}', chunk=8) == {"a": 123456789, "b": -1.5e10}


def test_the_constants_of_python_are_numbers() -> None:
    found = read_members('{"a": [NaN, Infinity, -Infinity]}', chunk=3)["a"]

    assert [str(value) for value in found] == ["nan", "inf", "-inf"]


def test_only_the_value_at_hand_is_held() -> None:
    text = json.dumps({"samples": ["x" * 1000] * 1000})
    stream = open_stream(text, chunk=100)

    most = 0
    for _ in stream.members():
        for _ in stream.elements():
            stream.read_value()
            most = max(most, len(stream._text))

    assert most < 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            '{"a": 1',
            "log.json:1:8: expected `,` or `}`, but the file is truncated",
            id="cut short",
        ),
        pytest.param(
            '{"a": "tex', "log.json:1:7: the file is truncated inside a value", id="in a text"
        ),
        pytest.param('{"a": tru', "log.json:1:7: not JSON: expecting value", id="in a literal"),
        pytest.param('{"a": {"b": nope}}', "log.json:1:13: not JSON", id="no value"),
        pytest.param('{"a":\n  1 2}', "log.json:2:5: expected `,` or `}`, got `2`", id="no comma"),
        pytest.param("{1: 2}", "expected a name in quotes", id="a number for a name"),
        pytest.param('{"a" 1}', "expected `:`", id="no colon"),
        pytest.param("[1]", "log.json:1:1: expected an object, got `[`", id="another thing"),
        pytest.param(
            "", "log.json:1:1: expected an object, but the file is truncated", id="nothing"
        ),
        pytest.param('{"a": 1} x', "log.json:1:10: expected the end of the file", id="more"),
        pytest.param('{"a": %s}' % ("[" * 200_000), "nested too deep", id="a well"),
        pytest.param('{"a": %s}' % ("9" * 5000), "invalid value", id="digits"),
        pytest.param('{"a": "\x01"}', "log.json:1:8: not JSON: invalid control", id="control"),
    ],
)
@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_what_is_wrong_is_told_with_its_place(text: str, said: str, chunk: int) -> None:
    if len(text) > 1000:
        chunk = 1 << 20

    with pytest.raises(BadLog) as refused:
        read_all(open_stream(text, chunk=chunk))

    assert said in str(refused.value)


def test_a_mistake_is_found_without_reading_the_rest() -> None:
    file = StringIO('{"a": nope' + " " * 100_000)

    with pytest.raises(BadLog):
        read_all(JsonStream(file, "log.json", chunk=64))

    assert file.tell() < 1000


def test_bytes_that_are_no_text_are_told() -> None:
    file = TextIOWrapper(BytesIO(b'{"a": "\xff\xfe"}'), encoding="utf-8")

    with pytest.raises(BadLog, match="not UTF-8"):
        list(JsonStream(file, "log.json").members())


def test_lines_and_columns_are_counted_over_pieces() -> None:
    lines = ",\n".join(f'"k{number}": "{"x" * 50}"' for number in range(20))

    with pytest.raises(BadLog, match=r"log\.json:21:3: not JSON"):
        read_members(f"{{{lines},\n  !}}", chunk=16)
