"""The guide in CONTRIBUTING.md adds a scorer with three files written by hand."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GUIDE = ROOT / "CONTRIBUTING.md"
COPIED = ("src", "tests", "docs", "tools", "bench", "README.md", "Makefile", "pyproject.toml")
MODULE = "src/evalwright/scorers/max_words.py"
TEST = "tests/scorers/test_max_words.py"
CHANGELOG = "CHANGELOG.md"
DATASET = """\
key: questions
display_name: Questions
source: { type: inline, samples: [{ question: one two }, { question: one two three }] }
"""
TASK = """\
key: short
display_name: Short answers
description: Whether answers are short
definition:
  dataset: { key: questions }
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{ role: user, content: "{{ sample.question }}" }]
  scorers: [{ type: max_words, limit: LIMIT }]
"""


def write_project(folder: Path, *, limit: int) -> Path:
    folder.mkdir()
    (folder / "questions.yaml").write_text(DATASET)
    (folder / "task.yaml").write_text(TASK.replace("LIMIT", str(limit)))
    return folder


def files_of_the_guide() -> dict[str, str]:
    """The path and the text of each file that the guide shows in full."""
    shown = re.findall(
        r"`([\w/]+\.(?:py|md))`:\n\n```\w+\n(.*?)^```$",
        GUIDE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    return dict(shown)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source tree with the files of the guide, after `make docs`."""
    folder = tmp_path_factory.mktemp("contributing")
    without_caches = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=without_caches)
        else:
            shutil.copy(ROOT / name, folder / name)
    for name, text in files_of_the_guide().items():
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(text)
    for tool in ("tools.built_ins", "tools.docs"):
        done = python("-m", tool, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def python(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run an interpreter in which `evalwright` is the copy."""
    path = cwd if (cwd / "src").exists() else cwd.parent
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_tree_names_every_package_and_ground_module() -> None:
    tree = GUIDE.read_text(encoding="utf-8").partition("src/evalwright/\n")[2].partition("```")[0]
    source = ROOT / "src" / "evalwright"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    ground = {path.name for path in source.glob("*.py") if not path.name.startswith("_")}

    assert packages <= set(re.findall(r"^[├└]── (\w+)/", tree, re.MULTILINE))
    assert ground == set(re.findall(r"\w+\.py", tree))


def test_the_guide_shows_three_files() -> None:
    assert set(files_of_the_guide()) == {MODULE, TEST, CHANGELOG}


def test_the_files_pass_the_linter(tree: Path) -> None:
    ruff = str(Path(sys.executable).with_name("ruff"))
    for check in (("check", "--quiet"), ("format", "--check", "--diff")):
        done = subprocess.run(
            [ruff, *check, MODULE, TEST], cwd=tree, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout


def test_the_scorer_is_listed(tree: Path) -> None:
    done = python("-m", "evalwright", "list", "scorers", "--json", cwd=tree)

    (scorer,) = [each for each in json.loads(done.stdout) if each["type"] == "max_words"]
    assert scorer["about"].startswith("Scores `is_short` and `words`")
    assert scorer["origin"] == "built-in"


def test_the_scorer_is_in_the_schema_and_in_the_reference(tree: Path) -> None:
    reference = tree / "docs" / "reference"
    schema = json.loads((reference / "schemas" / "task.schema.json").read_text())
    page = (reference / "scorers.md").read_text()

    assert '"minimum": 1' in json.dumps(schema["$defs"]["MaxWords"]["properties"]["limit"])
    assert "## `max_words`" in page
    assert "Maximum number of words in a short answer." in page


@pytest.mark.parametrize(
    ("limit", "exit_code"), [pytest.param(2, 0, id="right"), pytest.param(0, 1, id="wrong")]
)
def test_a_document_is_checked_by_its_fields(tree: Path, limit: int, exit_code: int) -> None:
    folder = write_project(tree / f"limit-{limit}", limit=limit)

    done = python("-m", "evalwright", "validate", ".", cwd=folder)

    assert done.returncode == exit_code, done.stdout
    assert ("task.yaml:11:" in done.stdout) is bool(exit_code)


def test_the_scorer_scores(tree: Path) -> None:
    folder = write_project(tree / "run", limit=2)

    done = python("-m", "evalwright", "run", ".", "-m", "scripted/echo", "--json", cwd=folder)

    assert done.returncode == 0, done.stderr
    (metric,) = json.loads(done.stdout)["metrics"]
    assert (metric["scorer"], metric["name"], metric["value"]) == (
        "max_words",
        "is_short_mean",
        0.5,
    )


def test_the_rules_of_the_house_hold_with_it(tree: Path) -> None:
    tests = [TEST, "tests/test_architecture.py", "tests/scorers/test_every_scorer.py"]

    # A folder of its own: by default, pytest tidies one that all of its runs share.
    options = ("-q", "-n0", "-p", "no:cacheprovider", "--basetemp", str(tree / "temporary"))
    done = python("-m", "pytest", *options, *tests, cwd=tree)

    assert done.returncode == 0, done.stdout
