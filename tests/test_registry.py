from pathlib import Path

import pytest

from evalwright import registry
from evalwright.clients.scripted import connect
from evalwright.errors import UnknownName

BUILT_IN = sorted(registry.BUILT_IN["models"])
PLUGIN = """\
def connect(name):
    return f"a model called {name}"
"""
ENTRY_POINTS = """\
[evalwright.models]
acme = acme_models:connect
scripted = acme_models:connect
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that adds the provider `acme`, and would like to be `scripted`."""
    (tmp_path / "acme_models.py").write_text(PLUGIN)
    info = tmp_path / "acme_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-models\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, known in registry.BUILT_IN.items() for name in known]
)
def test_every_name_names_something_that_can_be_called(kind: str, name: str) -> None:
    assert callable(registry.load(kind, name))


def test_names_are_listed_in_order() -> None:
    assert registry.names("models") == BUILT_IN


@pytest.mark.usefixtures("plugin")
def test_a_plugin_adds_a_name_by_an_entry_point() -> None:
    assert registry.names("models") == sorted(["acme", *BUILT_IN])
    assert registry.load("models", "acme")("large") == "a model called large"


@pytest.mark.usefixtures("plugin")
def test_a_built_in_name_cannot_be_taken_over() -> None:
    assert registry.load("models", "scripted") is connect


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        pytest.param("scriptd", "did you mean `scripted`?", id="misspelt"),
        pytest.param("xyzzy", "", id="nothing like it"),
    ],
)
def test_an_unknown_name_says_which_there_are(name: str, hint: str) -> None:
    with pytest.raises(UnknownName) as unknown:
        registry.load("models", name)

    known = ", ".join(f"`{one}`" for one in BUILT_IN)
    assert str(unknown.value) == f"`{name}` is not one of the models known here: {known}"
    assert unknown.value.hint == hint


@pytest.mark.usefixtures("plugin")
def test_a_plugin_can_be_what_was_meant() -> None:
    with pytest.raises(UnknownName) as unknown:
        registry.load("models", "acmee")

    assert unknown.value.hint == "did you mean `acme`?"
