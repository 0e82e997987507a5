"""Extra packages are imported from where they lie, and nothing beside them is looked at."""

import json
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from sysconfig import get_config_var
from typing import Any

import pytest

from evalwright.sandbox.inside import packages

SANDBOX = Path(packages.__file__).parent.parent

# Listing the folder that packages lie in is an offence.
INSTALL = """
import importlib, json, os, sys
sandbox, folder, locations, names = sys.argv[1:]
sys.path.insert(0, sandbox)
from inside import packages
def watch(event, arguments):
    if event in {"os.listdir", "os.scandir"} and os.path.samefile(arguments[0], folder):
        os._exit(9)
sys.addaudithook(watch)
packages.install(json.loads(locations))
sys.path[:] = [path for path in sys.path if not path.endswith("lib-dynload")]
said = {}
for name in json.loads(names):
    try: said[name] = getattr(importlib.import_module(name), "__file__", None)
    except ImportError as error: said[name] = type(error).__name__
print(json.dumps([said, sorted(packages.NAMES)]))
"""


def importing(folder: Path, locations: dict[str, Path], *names: str) -> Any:
    """The file of each module, or the error; and the names that are installed."""
    places = json.dumps({name: str(path) for name, path in locations.items()})
    command = [sys.executable, "-s", "-S", "-P", "-c", INSTALL]
    done = subprocess.run(
        [*command, str(SANDBOX), str(folder), places, json.dumps(names)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("paper/__init__.py", "paper/fold.py", "paper/shape/__init__.py", "rock.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("x = __name__")
    for name in ("bare/module.py", "scissors.py", "json.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("")
    return tmp_path


def test_packages_and_modules_are_found_at_their_places(folder: Path) -> None:
    locations = {"paper": folder / "paper", "rock": folder / "rock.py", "bare": folder / "bare"}

    said, names = importing(
        folder, locations, "paper", "paper.fold", "paper.shape", "rock", "bare", "bare.module"
    )

    assert said == {
        "paper": str(folder / "paper/__init__.py"),
        "paper.fold": str(folder / "paper/fold.py"),
        "paper.shape": str(folder / "paper/shape/__init__.py"),
        "rock": str(folder / "rock.py"),
        "bare": None,
        "bare.module": str(folder / "bare/module.py"),
    }
    assert names == ["bare", "paper", "rock"]


def test_nothing_else_is_found(folder: Path) -> None:
    said, _ = importing(folder, {"paper": folder / "paper"}, "rock", "paper.rock", "scissors")

    assert said == dict.fromkeys(["rock", "paper.rock", "scissors"], "ModuleNotFoundError")


def test_the_standard_library_comes_first(folder: Path) -> None:
    said, _ = importing(folder, {"json": folder / "json.py"}, "json")

    assert said["json"] != str(folder / "json.py")


def test_a_place_that_is_gone_or_no_module_is_an_import_error(folder: Path) -> None:
    (folder / "table.csv").write_text("")
    places = {"gone": "gone", "lost": "lost.py", "table": "table.csv"}
    locations = {name: folder / place for name, place in places.items()}

    said, _ = importing(folder, locations, *places)

    assert said == dict.fromkeys(places, "ModuleNotFoundError")


def test_an_extension_module_is_found_at_its_place(folder: Path) -> None:
    built = Path(get_config_var("DESTSHARED") or "/nowhere")
    found = [*built.glob("xxlimited.*.so"), *built.glob("_bisect.*.so")]
    if not found:
        pytest.skip("this Python has no extension module of its own")
    name = found[0].name.partition(".")[0]
    extension = folder / f"{name}{EXTENSION_SUFFIXES[-1]}"
    extension.write_bytes(found[0].read_bytes())

    said, _ = importing(folder, {name: extension}, name)

    assert said == {name: str(extension)}
