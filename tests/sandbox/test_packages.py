"""Installed packages are found without being imported, and mistakes are explained."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from evalwright.errors import UsageError
from evalwright.sandbox.packages import locate


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of installed packages, each of which would betray that it was imported."""
    loud = "raise AssertionError('imported')"
    for name in ("paper", "scissors"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(loud)
    (tmp_path / "rock.py").write_text(loud)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "module.py").write_text(loud)
    information = tmp_path / "cutting_tools-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: Cutting.Tools\n")
    (information / "top_level.txt").write_text("scissors\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "ghost", ModuleType("ghost"))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "place"),
    [
        pytest.param("paper", "paper", id="a package is its directory"),
        pytest.param("rock", "rock.py", id="a module is its file"),
        pytest.param("bare", "bare", id="a namespace package"),
    ],
)
def test_a_package_is_found_and_not_imported(site: Path, name: str, place: str) -> None:
    assert locate([name]) == {name: str(site / place)}
    assert name not in sys.modules


def test_a_package_that_is_imported_already_is_found_too() -> None:
    assert locate(["msgspec"]) == {"msgspec": str(Path(sys.modules["msgspec"].__path__[0]))}


@pytest.mark.parametrize("name", ["json", "sys", "_thread", "zoneinfo"])
def test_the_standard_library_needs_no_place(name: str) -> None:
    assert locate([name]) == {}


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        pytest.param(
            "wellspring", "package `wellspring` is not installed", sys.executable, id="not there"
        ),
        pytest.param(
            "cutting-tools",
            "package `cutting-tools` is imported by another name",
            "name it as `import` does: `scissors`",
            id="the name of the distribution",
        ),
        pytest.param(
            "cutting_tools",
            "package `cutting_tools` is imported by another name",
            "name it as `import` does: `scissors`",
            id="the name of the distribution, as a word",
        ),
        pytest.param(
            "paper.fold", "`paper.fold` is a part of a package", "`paper`", id="a module inside"
        ),
        pytest.param("", "package `` is not installed", "", id="nothing"),
        pytest.param("../etc", "package `../etc` is not installed", "", id="a path"),
        pytest.param("ghost", "package `ghost` is not installed", "", id="only in memory"),
    ],
)
@pytest.mark.usefixtures("site")
def test_a_mistake_is_explained(name: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        locate([name])

    assert str(caught.value) == message
    assert hint in caught.value.hint
    assert "paper" not in sys.modules


def test_all_mistakes_are_named_at_once(site: Path) -> None:
    del site
    with pytest.raises(UsageError, match=r"`wellspring`.*; .*`cutting-tools`") as caught:
        locate(["paper", "wellspring", "cutting-tools"])

    assert "`scissors`" in caught.value.hint


def test_a_package_in_two_places_is_refused(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    del site
    other = tmp_path_factory.mktemp("other")
    (other / "bare").mkdir()
    monkeypatch.syspath_prepend(other)

    with pytest.raises(UsageError, match="`bare` is spread over 2 directories"):
        locate(["bare"])
