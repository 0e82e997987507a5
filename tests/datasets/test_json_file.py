from pathlib import Path

import pytest

from evalwright.datasets import json_files
from evalwright.datasets.json_files import JsonFile
from evalwright.errors import BadDataset


def test_a_list_of_objects_is_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n  {"a": 1},\n  {"b": [null]}\n]\n')

    assert list(JsonFile(path).rows()) == [{"a": 1}, {"b": [None]}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param('{"a": 1}', "expected a list of objects, got an object", id="an object"),
        pytest.param('{"a": 1}\n{"a": 2}', "a.json:2:1: not JSON: extra data", id="JSON Lines"),
        pytest.param("[1]", "a.json:1: expected an object, got a number", id="no object in it"),
        pytest.param("", "a.json:1:1: not JSON: expecting value", id="empty"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)

    with pytest.raises(BadDataset) as caught:
        list(JsonFile(path).rows())

    assert said in caught.value.message
    assert "a list of objects" in caught.value.hint


def test_a_file_that_is_too_large_to_read_whole_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_files, "MOST_BYTES", 100)
    path = tmp_path / "a.json"
    path.write_text("[" + ",\n".join(['{"a": 1}'] * 100) + "]")

    with pytest.raises(BadDataset, match="more than") as caught:
        list(JsonFile(path).rows())

    assert ".jsonl" in caught.value.hint
