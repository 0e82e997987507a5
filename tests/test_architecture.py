"""The habits of the house, checked: sizes, docstrings, names in their places, one way of imports.

The import order itself is import-linter's business (`make architecture`).
"""

import ast
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import click
import pytest
from tools.record_words import RULE_MEANINGS

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
MAX_LINES = 600
# The modules that turn a name of the registry into a component or an adapter.
RESOLVES = {
    "api/listing.py",
    "components.py",
    "functions/compile.py",
    "metrics/program_metrics.py",
    "registry.py",
    "result_logs/log_metrics.py",
    "session/models.py",
    "session/sandboxes.py",
}
# What the core asks for through ports, and the rooms that may name one.
ADAPTERS = {"clients", "sandbox", "snippets", "store"}
NAMES_ADAPTERS = {
    "api",
    "built_ins.py",
    "generation",
    "judge_check",
    "projects",
    "registry.py",
    "session",
}
# The rooms that import what a command needs when it is given.
DOORS = {"cli", "api", "pytest_plugin.py"}
# Modules behind the doors that import one of ours inside a function, and what it keeps away.
HIDES = {
    "report/messages.py": "the layout, from messages that need none",
    "report/report.py": "the tables, which read the report",
    "session/sandboxes.py": "the sandbox, from runs without code",
    "session/session.py": "policies, from runs without any",
    "session/snippets.py": "the processes of snippets, from runs without any",
    "spec/checking.py": "records, from projects",
}
# Nouns of the package that authors meet under the same name in their snippets.
SAME_NAMES = {"Message", "RunEvidence", "Secret", "Trace"}
# Words that end like a participle and are verbs or nouns; `derived` is a method of Jinja's.
NO_PARTICIPLES = {"derived", "embed", "exceed", "feed", "need", "proceed", "seed", "speed"}
PARTICIPLE = re.compile(
    r"_*(?:[a-z]+ed|begun|broken|brought|built|chosen|done|drawn|found|given|gone|held|kept|known"
    r"|left|lent|made|meant|put|said|seen|sent|shown|spoken|taken|thought|told|understood|written)"
)
# The one client that serves every provider of clients/providers.py.
SPOKEN_BY_MANY = "evalwright.clients.openai:connect"


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def offenders(rule: Callable[[Path], bool], paths: Iterable[Path] = MODULES) -> list[str]:
    """The files that break a rule."""
    return [path.relative_to(ROOT).as_posix() for path in paths if rule(path)]


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def test_a_module_opens_with_a_docstring() -> None:
    assert offenders(lambda path: not ast.get_docstring(tree_of(path))) == []


def test_a_module_stays_small() -> None:
    assert offenders(lambda path: text_of(path).count("\n") > MAX_LINES) == []


def test_no_second_codebase_called_utils() -> None:
    name = re.compile(r"utils?|helpers?|common|misc")

    assert offenders(lambda path: bool(name.search(path.stem))) == []


def test_class_names_are_unique_in_the_package() -> None:
    places: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and node.name not in SAME_NAMES:
                places.setdefault(node.name, []).append(f"{relative(path)}:{node.lineno}")

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_function_is_named_by_a_bare_participle() -> None:
    named = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and PARTICIPLE.fullmatch(node.name)
        and node.name.strip("_") not in NO_PARTICIPLES
    ]

    assert named == []


def own_imports(tree: ast.AST, *, hidden: bool) -> set[str]:
    """Our modules that a module imports: inside functions, or at its top, but not for types."""
    names: set[str] = set()
    nodes = [(node, False) for node in ast.iter_child_nodes(tree)]
    while nodes:
        node, inside = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if inside is hidden:
            names.update(name for name in imported_names(node) if is_ours(name))
        inside |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        nodes += [(child, inside) for child in ast.iter_child_nodes(node)]
    return names


def imported_names(node: ast.AST) -> list[str]:
    """The modules of an import, and what may be a module: `from package import module`."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def is_ours(name: str) -> bool:
    return name.partition(".")[0] == "evalwright"


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    paths = {dotted(path): path for path in MODULES}
    # A module that is imported from its package imports the package too, which is no circle.
    waiting = {
        name: {
            other
            for other in own_imports(tree_of(path), hidden=False) & paths.keys()
            if not f"{name}.".startswith(f"{other}.")
        }
        for name, path in paths.items()
    }
    while free := [name for name, needed in waiting.items() if not needed & waiting.keys()]:
        for name in free:
            del waiting[name]

    assert waiting == {}, "each of these waits for another of them"


def dotted(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def test_imports_stand_at_the_top_but_for_two_doors_and_what_is_heavy() -> None:
    """A command imports what it needs; everything else says at its top what it uses."""
    behind = [path for path in MODULES if path.relative_to(SOURCE).parts[0] not in DOORS]

    hiding = [relative(path) for path in behind if own_imports(tree_of(path), hidden=True)]

    assert sorted(hiding) == sorted(HIDES)


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


def test_everything_is_caught_in_one_place_only() -> None:
    allowed = {"errors.py", "cli/__init__.py", "registry.py"}  # which imports plugins
    # What runs a stranger's code must be ready for whatever it raises.
    allowed |= set(map(relative, INSIDE))

    def catches(path: Path) -> bool:
        return relative(path) not in allowed and any(map(broad, ast.walk(tree_of(path))))

    assert offenders(catches) == []


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


def test_what_is_inside_another_interpreter_needs_the_standard_library_only() -> None:
    """It is imported by a bare interpreter, and not as a part of evalwright."""
    known = sys.stdlib_module_names | {"__future__"}

    def needs_more(path: Path) -> bool:
        names = [name for node in ast.walk(tree_of(path)) for name in imported_names(node)]
        return not {name.partition(".")[0] for name in names} <= known

    assert INSIDE
    assert offenders(needs_more, INSIDE) == []


def test_names_of_the_registry_are_resolved_in_few_places() -> None:
    # To know the names is to resolve none.
    known = r"from evalwright\.registry import (?:(?:names|find_failure|BUILT_IN)(?:, )?)+\n"

    def resolves(path: Path) -> bool:
        rest = re.sub(known, "", text_of(path))
        return relative(path) not in RESOLVES and "evalwright.registry" in rest

    assert offenders(resolves) == []


def test_the_core_names_no_adapter() -> None:
    def names_one(path: Path) -> bool:
        room = path.relative_to(SOURCE).parts[0]
        rooms = set(re.findall(r"\bevalwright\.(\w+)", text_of(path)))
        return room not in NAMES_ADAPTERS and not rooms & ADAPTERS <= {room}

    assert offenders(names_one) == []


@cache
def all_docs() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))


def test_a_built_in_has_one_name_in_four_places() -> None:
    """The table of built-ins, the module, the test module and a word in the docs."""
    docs = all_docs()
    offenders = []
    for kind, names in BUILT_IN.items():
        for name, target in names.items():
            module = target.partition(":")[0].removeprefix("evalwright.").replace(".", "/")
            room, _, stem = module.rpartition("/")
            places = {
                # A provider is a line of a table, and a line of its docs.
                "name": target == SPOKEN_BY_MANY or stem == name.replace("-", "_"),
                "module": (SOURCE / f"{module}.py").exists(),
                "test": (ROOT / "tests" / room / f"test_{stem}.py").exists(),
                "docs": any(word in docs for word in (f"`{name}", f"{kind}/{name}", f"`--{name}")),
            }
            offenders += [f"{kind} {name}: {place}" for place, right in places.items() if not right]

    assert offenders == []


def test_every_word_of_the_vocabulary_has_its_code() -> None:
    assert set(RULES) == set(vocabulary.POST_PROCESSES)
    assert {*TEXT_METRICS, "code_exec"} == set(vocabulary.METRIC_NAMES)
    assert set(vocabulary.LEGAL) == set(vocabulary.CATEGORIES)
    assert set(RULE_MEANINGS) == set(vocabulary.RULES)
    assert set(vocabulary.FIELD_RULES) == set(vocabulary.FIELDS)


def test_a_metric_has_a_function_and_a_test_of_its_name() -> None:
    shared = {"accuracy": "exact_match"}  # the same comparison under another name
    stems = {name: shared.get(name, name) for name in TEXT_METRICS}
    tests = ROOT / "tests" / "text"

    assert {name: metric.__name__ for name, metric in TEXT_METRICS.items()} == stems
    assert [s for s in stems.values() if not (tests / f"test_similarity_{s}.py").exists()] == []


def test_a_command_is_a_file_whose_first_line_is_its_help() -> None:
    context = click.Context(cli.app)
    commands = {name: cli.app.get_command(context, name) for name in cli.COMMANDS}

    assert {
        name: command and command.get_short_help_str(limit=100)
        for name, command in commands.items()
    } == cli.COMMANDS


def test_no_text_has_a_path_of_some_machine() -> None:
    path_of_a_machine = re.compile(r"/(?:home|root|work|Users)/\w")

    assert offenders(lambda path: bool(path_of_a_machine.search(text_of(path))), TEXTS) == []


def test_nothing_is_left_to_do() -> None:
    # `((TODO))` is a word of the documents that are checked, not a promise of ours.
    promise = re.compile(r"(?<!\(\()\b(?:TODO|FIXME|XXX)\b")

    assert offenders(lambda path: bool(promise.search(text_of(path))), TEXTS) == []


def test_modules_are_mirrored_by_tests() -> None:
    """A room has a folder of tests; a ground module has a file of them."""
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    ground = {path.stem for path in SOURCE.glob("*.py") if not path.stem.startswith("_")}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    folders |= {path.parent.parent.name for path in (ROOT / "tests").glob("*/*/test_*.py")}
    files = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")}

    assert rooms - folders == {"cli"}, "the command is tested whole, in tests/e2e"
    assert ground - files == {"ports", "vocabulary"}, "what they say is tested where it is used"
