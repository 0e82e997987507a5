from pathlib import Path

import pytest
from tools.built_ins import TABLE, find_components, find_providers, render_table

from evalwright.built_ins import BUILT_INS

COMPONENT = 'class Shortness(ScorerSpec):\n    type: Literal["{name}"]{default}\n'


def test_the_table_is_what_the_modules_say() -> None:
    assert TABLE.read_text(encoding="utf-8") == render_table()


@pytest.mark.parametrize(
    ("stem", "name", "default", "expected"),
    [
        pytest.param("shortness", "shortness", "", True, id="the name of its module"),
        pytest.param("very_short", "very-short", "", True, id="a dash for an underscore"),
        pytest.param("base", "shortness", "", False, id="another name"),
        pytest.param("shortness", "shortness", ' = "shortness"', False, id="not required"),
    ],
)
def test_a_component_is_a_class_whose_type_names_its_module(
    stem: str, name: str, default: str, *, expected: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / f"{stem}.py").write_text(COMPONENT.format(name=name, default=default))

    components = [name for name, _ in find_components(folder, package=tmp_path)]

    assert components == [name] * expected


def test_a_provider_has_a_client_or_a_line_in_the_table_of_providers(tmp_path: Path) -> None:
    (tmp_path / "openai.py").write_text("def connect(name, options): ...\n")
    (tmp_path / "acme_chat.py").write_text("def connect(name, options): ...\n")
    (tmp_path / "vectors.py").write_text("def connect(options): ...\n")
    (tmp_path / "providers.py").write_text(
        'PROVIDERS: dict = {"acme-chat": 1, "groq": 2, "openai": 3}\n'
    )

    providers = find_providers(tmp_path, package=tmp_path)

    assert providers == {
        "acme-chat": "acme_chat:connect",
        "groq": "openai:connect",
        "openai": "openai:connect",
    }


def test_every_kind_has_names() -> None:
    assert all(BUILT_INS.values())
