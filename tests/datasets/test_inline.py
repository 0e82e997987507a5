from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evalwright.components import Authored
from evalwright.datasets.inline import Inline
from evalwright.datasets.rows import Rows
from evalwright.datasets.source import Surroundings


def inline(*samples: Any) -> Rows:
    source = Inline.model_validate({"type": "inline", "samples": list(samples)})
    return source.rows(Surroundings(cache_dir=Path("unused")))


def test_the_samples_are_the_rows() -> None:
    assert list(inline({"a": 1}, {"b": ["x"]}).rows()) == [{"a": 1}, {"b": ["x"]}]


def test_the_texts_of_a_document_are_plain_texts() -> None:
    (row,) = inline({"a": Authored("x", file="d.yaml", line=3), "b": date(2026, 5, 12)}).rows()

    assert row == {"a": "x", "b": "2026-05-12"}
    assert type(row["a"]) is str


def test_who_changes_a_row_changes_no_other_reading() -> None:
    rows = inline({"a": [1]})

    next(rows.rows())["a"].append(2)

    assert list(rows.rows()) == [{"a": [1]}]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        pytest.param([], "at least 1 item", id="none"),
        pytest.param(["x"], "valid dictionary", id="no mapping"),
        pytest.param([{"a": object()}], "column `a`: expected JSON", id="no JSON"),
    ],
)
def test_refuses(samples: list[Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        inline(*samples)


def test_the_digest_is_of_the_rows_whatever_the_order_of_their_keys() -> None:
    assert inline({"a": 1, "b": 2}).digest == inline({"b": 2, "a": 1}).digest
    assert inline({"a": 1}).digest != inline({"a": 2}).digest
