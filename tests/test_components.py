from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalwright.components import FOR_KEYS, Authored, Component, Flag, Snippet

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


class Part(Component):
    """A component with Python in it."""

    snippet: Snippet


def written(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def snippet(folder: Path, text: str) -> Snippet:
    return Snippet(text, path=str(folder / "score.py"))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        pytest.param("import near", "near", id="a module"),
        pytest.param("from near import f", "near", id="a name of a module"),
        pytest.param("def f():\n    import near as n", "near", id="inside a function"),
        pytest.param("import near", "far", id="what a module imports"),
        pytest.param("import kit.tools", "kit__tools", id="a module of a package"),
        pytest.param("from kit import tools", "kit__inner__deep", id="what is deep in a package"),
        pytest.param("from kit import tools", "far", id="what a package imports"),
    ],
)
def test_a_neighbour_that_a_snippet_imports_is_in_its_digest(
    tmp_path: Path, text: str, changed: str
) -> None:
    files = {
        "near": "import json, far",
        "far": "import near",
        "kit____init__": "",
        "kit__tools": "from far import x",
        "kit__inner__deep": "",
    }
    written(tmp_path, **files)
    before = snippet(tmp_path, text)

    assert before.digest == snippet(tmp_path, text).digest != ""
    written(tmp_path, **{changed: "a = 1"})

    assert snippet(tmp_path, text).digest != before.digest
    assert before.text_for_keys.startswith(f"{text}\n# ")
    assert before.digest in before.text_for_keys


def test_what_a_snippet_does_not_import_is_not_in_its_digest(tmp_path: Path) -> None:
    written(tmp_path, near="a = 1")
    (tmp_path / "os").mkdir()
    text = "import os, json, a_module_of_a_distribution\nfrom . import near"

    assert snippet(tmp_path, text).digest == ""
    assert snippet(tmp_path, text).text_for_keys == text


@pytest.mark.parametrize("path", ["<snippet>", "", "no/such/folder/score.py"])
def test_a_snippet_of_no_folder_has_no_neighbours(path: str) -> None:
    assert Snippet("import evalwright, near", path=path).text_for_keys == "import evalwright, near"


@pytest.mark.parametrize("name", ["n" * 300, "near"], ids=["too long for a file", "no Python"])
def test_a_neighbour_that_cannot_be_read_is_no_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "near.py").write_bytes(b"import \0 far (")
    written(tmp_path, far="")

    found = snippet(tmp_path, f"import {name}").digest

    assert bool(found) is (name == "near")


def test_only_a_key_has_the_neighbours_of_a_snippet(tmp_path: Path) -> None:
    written(tmp_path, near="a = 1")
    part = Part(snippet=snippet(tmp_path, "import near"))

    assert part.model_dump(mode="json") == {"snippet": "import near"}
    assert part.model_dump(mode="json", context=FOR_KEYS) == {"snippet": part.snippet.text_for_keys}
