from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalwright import registry
from evalwright.clients.scripted import connect
from evalwright.errors import BrokenPlugin, PluginWarning, UnknownName
from evalwright.scorers.base import AnyScorer

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


COMPONENTS = """\
from typing import Literal
from evalwright.plugins import AnyScorer, Score, ScorerSpec

class Negated(ScorerSpec):
    type: Literal["acme_negated"]
    scorer: AnyScorer

    async def score(self, case):
        return Score(values={})

class Unfinished(ScorerSpec):
    type: Literal["acme_unfinished"]
"""


def install(folder: Path, name: str, entry_points: str, module: str) -> None:
    """Write a distribution as pip leaves it."""
    (folder / f"{name}.py").write_text(module)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that adds the provider `acme`, and would like to be `scripted`."""
    install(tmp_path, "acme_models", ENTRY_POINTS, PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_checked", set())


@pytest.fixture
def components(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution with a scorer of scorers, and one that cannot score."""
    points = "[evalwright.scorers]\nacme_negated = acme_scorers:Negated\n"
    points += "acme_unfinished = acme_scorers:Unfinished\n"
    install(tmp_path, "acme_scorers", points, COMPONENTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_checked", set())


def test_every_name_names_something_that_can_be_called() -> None:
    names = [(kind, name) for kind, known in registry.BUILT_IN.items() for name in known]

    assert [each for each in names if not callable(registry.load(*each))] == []


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
    assert unknown.value.message == f"`{name}` is not one of the known models: {known}"
    assert unknown.value.hint == hint


@pytest.mark.usefixtures("plugin")
def test_a_plugin_can_be_what_was_meant() -> None:
    with pytest.raises(UnknownName) as unknown:
        registry.load("models", "acmee")

    assert unknown.value.hint == "did you mean `acme`?"


@pytest.mark.usefixtures("plugin")
def test_a_built_in_name_that_is_claimed_costs_a_warning() -> None:
    with pytest.warns(PluginWarning, match="`scripted` is built in, and cannot be replaced"):
        assert set(registry.load_plugins("models")) == {"acme"}


@pytest.mark.usefixtures("components")
def test_components_are_those_that_documents_can_name() -> None:
    with pytest.warns(PluginWarning) as warned:
        names = [set(registry.load_components("scorers")) for _ in range(2)]

    assert names[0] == {*registry.BUILT_IN["scorers"], "acme_negated"}
    (warning,) = warned
    assert str(warning.message) == (
        "plugin acme_scorers 1.0: cannot use `evalwright.scorers: acme_unfinished`: "
        "`acme_scorers:Unfinished` must define the method `score`; "
        "upgrade it, or run `pip uninstall acme_scorers`"
    )


@pytest.mark.usefixtures("components")
@pytest.mark.filterwarnings("ignore::evalwright.errors.PluginWarning")
def test_a_plugin_can_hold_any_component_of_its_kind() -> None:
    scorers: TypeAdapter[Any] = TypeAdapter(AnyScorer)
    inner = {"type": "acme_negated", "scorer": {"type": "bleu", "ground_truth": "a"}}

    made = scorers.validate_python({"type": "acme_negated", "scorer": inner})
    with pytest.raises(ValidationError) as caught:
        scorers.validate_python({"type": "acme_unfinished"})

    assert made.scorer.scorer.type == "bleu"
    assert caught.value.errors()[0]["type"] == "broken_plugin"


@pytest.mark.usefixtures("components")
@pytest.mark.filterwarnings("ignore::evalwright.errors.PluginWarning")
def test_a_plugin_that_cannot_be_used_is_not_loaded_by_its_name() -> None:
    with pytest.raises(BrokenPlugin, match="must define the method `score`") as caught:
        registry.load("scorers", "acme_unfinished")

    assert caught.value.hint == "upgrade it, or run `pip uninstall acme_scorers`"
