"""The habits of the house, checked: sizes, docstrings, names in their places, one way of imports.

The import order itself is import-linter's business (`make architecture`).
"""

import ast
import re
import sys
from pathlib import Path

import click
import pytest

from evalwright import cli, vocabulary
from evalwright.registry import BUILT_IN
from evalwright.scorers.record import TEXT_METRICS
from evalwright.text.post_process import RULES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "evalwright"
MODULES = sorted(SOURCE.rglob("*.py"))
INSIDE = [path for path in MODULES if path.parent.name == "inside"]
TEXTS = sorted(
    path
    for pattern in (
        "*.md",
        "*.toml",
        "Makefile",
        "src/**/*.py",
        "docs/**/*.md",
        "tools/*.py",
        "bench/*.py",
    )
    for path in ROOT.glob(pattern)
)
MOST_LINES = 400
# The layout of DESIGN: the only place that may turn a registry name into an adapter.
RESOLVES = {"api/assembly.py", "api/connections.py", "api/listing.py", "registry.py"}
# What the core asks for through ports; only `api` may name one.
ADAPTERS = ("clients", "sandbox", "snippets", "store")
# The one client that serves every provider of clients/providers.py.
SPOKEN_BY_MANY = "evalwright.clients.openai:connect"


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert ast.get_docstring(ast.parse(text)), "every module opens with a docstring"
    assert text.count("\n") <= MOST_LINES, "can it be two rooms?"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_no_second_codebase_called_utils(path: Path) -> None:
    assert not re.search(r"utils?|helpers?|common|misc", path.stem)


def broad(node: ast.AST) -> bool:
    """Whether it catches everything: `except:`, `except Exception`, among others, `suppress`."""
    if isinstance(node, ast.ExceptHandler):
        caught = [node.type] if node.type else []
        if not caught:
            return True
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
        caught = list(node.args)
    else:
        return False
    names = {name.id for one in caught for name in ast.walk(one) if isinstance(name, ast.Name)}
    return bool(names & {"Exception", "BaseException", "BaseExceptionGroup"})


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_everything_is_caught_in_one_place_only(path: Path) -> None:
    allowed = {"errors.py", "cli/__init__.py"}
    # What runs a stranger's code must be ready for whatever it raises.
    allowed |= {str(inside.relative_to(SOURCE)) for inside in INSIDE}
    found = any(map(broad, ast.walk(ast.parse(path.read_text(encoding="utf-8")))))

    assert not found or str(path.relative_to(SOURCE)) in allowed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("try: ...\nexcept: ...", True, id="bare"),
        pytest.param("try: ...\nexcept Exception: ...", True, id="Exception"),
        pytest.param("try: ...\nexcept (OSError, BaseException): ...", True, id="among others"),
        pytest.param("with contextlib.suppress(Exception): ...", True, id="suppressed"),
        pytest.param("try: ...\nexcept OSError: ...", False, id="one that is known"),
        pytest.param("try: ...\nexcept ExceptionGroup: ...", False, id="a group, opened again"),
    ],
)
def test_the_rule_sees(text: str, *, expected: bool) -> None:
    assert any(map(broad, ast.walk(ast.parse(text)))) is expected


@pytest.mark.parametrize("path", INSIDE, ids=named)
def test_what_is_inside_another_interpreter_needs_the_standard_library_only(path: Path) -> None:
    """It is imported by a bare interpreter, and not as a part of evalwright."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            roots = {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            roots = {str(node.module).partition(".")[0]}
        else:
            continue
        assert roots <= sys.stdlib_module_names | {"__future__"}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_api_resolves_names_to_adapters(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    if str(path.relative_to(SOURCE)) not in RESOLVES:
        known = r"from evalwright\.registry import (?:(?:names|BUILT_IN)(?:, )?)+\n"
        resolving = re.sub(known, "", text)  # to know the names is to resolve none
        assert "evalwright.registry" not in resolving


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_api_names_an_adapter(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0]
    named_here = re.findall(r"\bevalwright\.(\w+)", path.read_text(encoding="utf-8"))

    if room not in {"api", "registry.py"}:
        assert set(named_here) & set(ADAPTERS) <= {room}


@pytest.mark.parametrize(
    ("kind", "name", "target"),
    [(kind, name, target) for kind, names in BUILT_IN.items() for name, target in names.items()],
)
def test_one_name_in_four_places(kind: str, name: str, target: str) -> None:
    module = target.partition(":")[0].removeprefix("evalwright.").replace(".", "/")
    room, _, stem = module.rpartition("/")
    docs = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))

    if target != SPOKEN_BY_MANY:  # a provider is a line of a table, and a line of its docs
        assert stem == name.replace("-", "_"), "the registry line and the module have one name"
    assert (SOURCE / f"{module}.py").exists()
    assert (ROOT / "tests" / room / f"test_{stem}.py").exists()
    assert f"`{name}" in docs or f"{kind}/{name}" in docs or f"`--{name}" in docs


def test_every_word_of_the_vocabulary_has_its_code() -> None:
    assert set(RULES) == set(vocabulary.POST_PROCESSES)
    assert {*TEXT_METRICS, "code_exec"} == set(vocabulary.METRIC_NAMES)
    assert set(vocabulary.LEGAL) == set(vocabulary.CATEGORIES)
    assert set(vocabulary.RULE_MEANINGS) == set(vocabulary.RULES)
    assert set(vocabulary.FIELD_RULES) == set(vocabulary.FIELDS)


@pytest.mark.parametrize("metric", [*vocabulary.METRIC_NAMES])
def test_a_metric_has_a_module_and_a_test_of_its_name(metric: str) -> None:
    shared = {"accuracy": "exact_match"}  # the same comparison under another name
    if metric == "code_exec":
        assert (SOURCE / "sandbox").is_dir()
        assert (ROOT / "tests" / "contracts" / "test_sandbox.py").exists()
    else:
        stem = shared.get(metric, metric)
        assert (SOURCE / "text" / f"{stem}.py").exists()
        assert (ROOT / "tests" / "text" / f"test_{stem}.py").exists()


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_a_command_is_a_file_whose_first_line_is_its_help(name: str) -> None:
    command = cli.app.get_command(click.Context(cli.app), name)

    assert command is not None
    assert command.get_short_help_str(limit=100) == cli.COMMANDS[name]


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_the_project_speaks_of_itself_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"/(?:home|root|work|Users)/\w", text), "a path of some machine"
    # `((TODO))` is a word of the documents that are checked, not a promise of ours.
    left = re.search(r"(?<!\(\()\b(?:TODO|FIXME|XXX)\b", text)
    assert not left or path.name == "test_architecture.py"


def test_modules_are_mirrored_by_tests() -> None:
    """A room has a folder of tests; a ground module has a file of them."""
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    ground = {path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("_")}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    folders |= {path.parent.parent.name for path in (ROOT / "tests").glob("*/*/test_*.py")}
    files = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")}

    assert rooms - folders == {"cli"}, "the command is tested whole, in tests/e2e"
    assert ground - files == {"ports", "vocabulary"}, "what they say is tested where it is used"
