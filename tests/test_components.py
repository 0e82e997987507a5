from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalwright.components import Authored, Flag

flag: TypeAdapter[bool] = TypeAdapter(Flag)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (True, True),
        (False, False),
        ("true", True),
        ("False", False),
        ("yes", True),
        ("NO", False),
        ("On", True),
        (Authored("off", file="t.yaml", line=1), False),
    ],
    ids=str,
)
def test_a_flag_knows_the_spellings_of_yaml(written: Any, *, expected: bool) -> None:
    assert flag.validate_python(written) is expected


@pytest.mark.parametrize("written", [0, 1, 1.0, None, "maybe", "", "y", "1", [], {}], ids=repr)
def test_nothing_else_is_a_flag(written: Any) -> None:
    with pytest.raises(ValidationError, match="expected true or false"):
        flag.validate_python(written)


def test_an_editor_accepts_what_a_flag_accepts() -> None:
    kinds = flag.json_schema()["anyOf"]

    assert {"type": "boolean"} in kinds
    assert "yes" in kinds[1]["enum"]


def test_an_authored_text_is_a_text_with_a_place() -> None:
    text = Authored("abc", file="t.yaml", line=3)

    other = text.like("abd")

    assert text == "abc"
    assert (other, other.file, other.line) == ("abd", "t.yaml", 3)
