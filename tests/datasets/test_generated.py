from pathlib import Path

import pytest

from evalwright.datasets.generated import GeneratedSource
from evalwright.datasets.source import Surroundings
from evalwright.errors import BadDataset

SOURCE = GeneratedSource(key="quiz", generator="maker")


def test_the_rows_are_those_of_the_file_that_was_made(tmp_path: Path) -> None:
    made = tmp_path / "quiz-1.jsonl"
    made.write_text('{"a": 1}\n')

    rows = SOURCE.rows(Surroundings(cache_dir=tmp_path, generated={"quiz": made}))

    assert list(rows.rows()) == [{"a": 1}]
    assert rows.name == "generator `maker`"


def test_rows_that_are_not_made_say_how_to_make_them(tmp_path: Path) -> None:
    rows = SOURCE.rows(Surroundings(cache_dir=tmp_path))

    with pytest.raises(BadDataset, match="`quiz` have not been generated yet") as caught:
        rows.check()
    assert caught.value.hint == "evalwright dataset generate quiz"
