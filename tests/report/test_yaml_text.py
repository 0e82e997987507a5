from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalwright.report.yaml_text import to_yaml
from evalwright.spec.documents.resolve.documents import to_plain
from evalwright.spec.documents.yaml.reader import read_document

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="$"), max_size=30)
KEYS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)


def read_back(text: str) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder, "document.yaml")
        path.write_text(text, encoding="utf-8", newline="")
        document = read_document(path, environment={})
    assert document.ok, document.problems
    return to_plain(document.data)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_what_is_written_is_read_back_as_the_same(value: dict[str, Any]) -> None:
    assert read_back(to_yaml(value)) == value


@pytest.mark.parametrize(
    "text",
    ["yes", "1e3", "0o17", "2024-01-01", "12:30", "null", "~", "", " x ", "a: b", "# a", "'a': b"],
)
def test_a_text_that_looks_like_something_else_stays_a_text(text: str) -> None:
    written = to_yaml({"value": text})

    assert read_back(written) == {"value": text}
    assert yaml.safe_load(written) == {"value": text}


def test_texts_of_several_lines_are_blocks_and_keys_keep_their_order() -> None:
    assert to_yaml({"b": "one\n  two\n", "a": [{"x": 1}]}) == (
        "b: |\n  one\n    two\na:\n  - x: 1\n"
    )


def test_a_value_that_stands_twice_is_written_twice() -> None:
    shared = ["x"]

    assert "&" not in to_yaml({"a": shared, "b": shared})
