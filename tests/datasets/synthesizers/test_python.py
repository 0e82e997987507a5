from typing import Any

import pytest
from tests.datasets.synthesizers.made import synthesized, synthesizer

from evalwright.errors import SnippetFailed


def written(*lines: str) -> dict[str, Any]:
    body = "".join(f"    {line}\n" for line in lines)
    return {
        "type": "python",
        "synthesize_snippet": f"def synthesize(sample, index):\n{body}",
    }


def test_what_is_returned_is_laid_over_the_row() -> None:
    rows = synthesized(written("return {'b': sample['a'] + index}"), {"a": 1, "b": 0}, index=4)

    assert rows == [{"a": 1, "b": 5}]


def test_a_list_is_several_rows() -> None:
    fields = written("return [{'word': one} for one in sample['text'].split()]")

    assert synthesized(fields, {"text": "x y"}) == [
        {"text": "x y", "word": "x"},
        {"text": "x y", "word": "y"},
    ]


def test_an_empty_list_is_no_row() -> None:
    assert synthesized(written("return []"), {"a": 1}) == []


def test_the_place_need_not_be_taken() -> None:
    fields = {"type": "python", "synthesize_snippet": "def synthesize(sample): return {'n': 1}"}

    assert synthesized(fields, {}) == [{"n": 1}]


def test_it_may_be_async() -> None:
    snippet = "async def synthesize(sample): return {'n': 1}"

    assert synthesized({"type": "python", "synthesize_snippet": snippet}, {}) == [{"n": 1}]


@pytest.mark.parametrize("value", ["None", "3", "'text'", "[{}, 1]"])
def test_what_is_no_row_fails_with_the_place_of_the_function(value: str) -> None:
    with pytest.raises(ValueError, match=r":1: `synthesize` must return a dict"):
        synthesized(written(f"return {value}"), {"a": 1})


def test_what_it_raises_fails_the_row() -> None:
    with pytest.raises(SnippetFailed, match="no such thing"):
        synthesized(written("raise KeyError('no such thing')"), {"a": 1})


def test_only_its_rows_show_their_columns() -> None:
    assert synthesizer(written("return {}")).columns_after(frozenset({"a"})) is None


def test_rows_of_a_function_of_source_have_its_columns_only() -> None:
    snippet = "def synthesize(source): return [{'b': source['a']}, {'b': 2}]"

    made = synthesized({"type": "python", "synthesize_snippet": snippet}, {"a": 1})

    assert made == [{"b": 1}, {"b": 2}]
