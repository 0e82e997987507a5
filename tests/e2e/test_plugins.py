"""Plugins as a user has them: installed next to evalwright, and named in YAML.

The package and the project are those of docs/guides/plugins.md.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "plugins.md"
BLOCKS = dict(
    re.findall(r"^```(toml|python|yaml)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
)
PROJECT = BLOCKS["yaml"]
BUILT_IN_ONLY = """\
key: numbers
display_name: Numbers
source: { type: inline, samples: [{ number: 1 }] }
"""
TASK_WITH_BUILT_INS = """\
key: t
display_name: T
description: D
definition:
  dataset: { key: numbers }
  scorers: [{ type: string_equals, value: a, ground_truth: a }]
"""
KINDS = {
    "scorers": "shortness",
    "solvers": "ask_twice",
    "metrics": "median",
    "sources": "countdown",
}


def write_package(folder: Path, *, module: str, pyproject: str) -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(pyproject)
    name = re.findall(r'include = \["(.*)"\]', pyproject)[0]
    (folder / name).write_text(module)
    return folder


def pip_install(package: Path, target: Path) -> Path:
    offline = ("--no-index", "--no-build-isolation", "--no-deps", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", "-qq", *offline, "--target", str(target)]
    subprocess.run([*command, str(package)], check=True)
    return target


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package of the guide is installed."""
    folder = tmp_path_factory.mktemp("plugin")
    package = write_package(folder / "acme", module=BLOCKS["python"], pyproject=BLOCKS["toml"])
    return pip_install(package, folder / "site")


def write_distribution(folder: Path, name: str, entry_points: str, module: str = "") -> Path:
    """A distribution as pip leaves it, without pip."""
    information = folder / f"{name.replace('-', '_')}-0.3.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.3\n")
    (information / "entry_points.txt").write_text(entry_points)
    if module:
        (folder / f"{name.replace('-', '_')}.py").write_text(module)
    return folder


def evalwright(*arguments: str, cwd: Path, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "NO_COLOR": "1"}
    environment.pop("EVALWRIGHT_STORE", None)
    return subprocess.run(
        [sys.executable, "-m", "evalwright", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def read_json(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def place_of(text: str, needle: str) -> tuple[int, int]:
    line, content = next(
        (number, line) for number, line in enumerate(text.splitlines(), 1) if needle in line
    )
    return line, content.index(needle) + 1


def test_a_project_uses_a_plugin_of_every_kind(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "run.yaml").write_text(PROJECT)

    checked = evalwright("validate", "run.yaml", cwd=tmp_path, path=installed)
    done = evalwright("run", "run.yaml", "--json", cwd=tmp_path, path=installed)
    again = evalwright("run", "run.yaml", "--json", cwd=tmp_path, path=installed)

    assert (checked.returncode, checked.stderr) == (0, "1 valid document, 0 errors\n")
    report = read_json(done)
    assert "warning" not in done.stderr
    assert report["models"] == ["parrot/grey"]
    assert report["summary"]["samples"] == 4
    found = {one["metric"]: (one["scorer"], one["value"], one["n"]) for one in report["metrics"]}
    assert found == {"words_median": ("shortness", 3.0, 4), "is_short_mean": ("shortness", 0.0, 4)}
    assert read_json(again)["summary"]["reused"] == 4


def test_what_a_plugin_has_made_is_exported(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "run.yaml").write_text(PROJECT)
    evalwright("run", "run.yaml", cwd=tmp_path, path=installed)

    done = evalwright("export", "latest", "--format", "jsonl", cwd=tmp_path, path=installed)

    first = json.loads(done.stdout.splitlines()[0])
    assert first["output"] == "Are you sure?"
    assert first["scores"] == {"shortness": {"is_short": False, "words": 3}}


def test_a_plugin_answers_records(tmp_path: Path, installed: Path) -> None:
    record = {
        "task_id": "a",
        "category": "arithmetic",
        "prompt": "4",
        "targets": ["4"],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
    }
    (tmp_path / "tasks.jsonl").write_text(json.dumps(record) + "\n")

    done = evalwright(
        "run", "tasks.jsonl", "-m", "parrot/grey", "--json", cwd=tmp_path, path=installed
    )

    assert read_json(done)["leaderboard"][0]["mean"] == 1


CONNECTION = """\
  - key: grey
    config: { connection_type: provider_connection, provider_id: parrot, model_key: grey }
"""


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ("  - $provider: parrot/grey\n", "parrot$grey"),
        ("  - $provider: parrot/grey\n", "parrot/grey"),
        ("  - $provider: parrot/grey\n", "parrot:grey"),
        (CONNECTION, "grey"),
    ],
)
def test_a_provider_works_in_every_place_of_a_provider(
    tmp_path: Path, installed: Path, declared: str, key: str
) -> None:
    project = PROJECT.replace("  - $provider: parrot/grey\n", declared)
    (tmp_path / "run.yaml").write_text(
        project.replace("model_key: parrot/grey", f"model_key: {key}")
    )

    done = evalwright("run", "run.yaml", "--json", cwd=tmp_path, path=installed)

    assert read_json(done)["summary"]["completed"] == 4


# Each group is one document with several mistakes: `validate` reports all of them.
MISTAKES = [
    pytest.param(
        [
            ("at_most: 2", "at_mst: 2", "at_mst", "unknown_key", "`at_most`"),
            ("start: 4", "start: four", "four", "wrong_type", "expected `int`"),
            ("question:", "qestion:", "qestion", "unknown_key", "`question`"),
            ("field: words", "feild: words", "feild", "unknown_key", "`field`"),
            ("$provider: parrot", "$provider: parot", "parot", "bad_value", "`parrot`"),
        ],
        id="one per plugin",
    ),
    pytest.param(
        [
            ("at_most: 2", "at_most: 0", "0", "bad_value", "at least 1"),
            ("{{ sample.number }}", "{{ sample.number ", "question", "bad_template", ""),
        ],
        id="a constraint and a template",
    ),
    pytest.param(
        [("type: shortness", "type: shortnes", "shortnes", "unknown_type", "`shortness`")],
        id="a type",
    ),
    pytest.param(
        [("field: words", "field: wrds", "wrds", "unknown_score", "`words`")],
        id="a score",
    ),
]


@pytest.mark.parametrize("mistakes", MISTAKES)
def test_a_mistake_in_a_plugins_field_is_found_at_its_place(
    tmp_path: Path, installed: Path, mistakes: list[tuple[str, str, str, str, str]]
) -> None:
    text = PROJECT
    for right, wrong, *_ in mistakes:
        text = text.replace(right, wrong)
    (tmp_path / "run.yaml").write_text(text)

    done = evalwright("validate", "run.yaml", "--json", cwd=tmp_path, path=installed)

    assert done.returncode == 1
    errors = {
        (error["rule"], error["line"], error["column"]): error
        for file in json.loads(done.stdout)["files"]
        for error in file["errors"]
    }
    for _, _, at, rule, message in mistakes:
        error = errors[rule, *place_of(text, at)]
        assert message in f"{error['detail']} {error.get('hint', '')}"


def test_plugins_are_in_the_schemas(tmp_path: Path, installed: Path) -> None:
    task = read_json(evalwright("schema", "task", cwd=tmp_path, path=installed))["$defs"]
    dataset = read_json(evalwright("schema", "dataset", cwd=tmp_path, path=installed))["$defs"]

    assert {"Shortness", "AskTwice", "Median"} <= set(task)
    assert "Countdown" in dataset
    described = task["Shortness"]["properties"]["at_most"]["description"]
    assert described == "Maximum number of words in a short answer."


@pytest.mark.parametrize(("kind", "name"), [*KINDS.items(), ("models", "parrot")])
def test_plugins_are_listed_with_their_origin(
    tmp_path: Path, installed: Path, kind: str, name: str
) -> None:
    listed = read_json(evalwright("list", kind, "--json", cwd=tmp_path, path=installed))

    key = "provider" if kind == "models" else "type"
    found = {one[key]: (one["origin"], one["version"], one["about"]) for one in listed}
    origin, version, about = found[name]
    assert (origin, version, bool(about)) == ("acme-evals", "1.2.0", True)
    assert sum(one[0] == "built-in" for one in found.values()) == len(found) - 1


def test_the_table_of_a_kind_has_the_origin(tmp_path: Path, installed: Path) -> None:
    table = evalwright("list", "scorers", cwd=tmp_path, path=installed).stdout

    assert re.search(r"^shortness\S*\s+acme-evals 1\.2\.0\s+\S", table, re.MULTILINE)


SCORER = """\
from typing import Literal
from evalwright.plugins import ScorerSpec

class Scorer(ScorerSpec):
    type: Literal["{}"]
"""
BROKEN = {
    "import error": ("broken_evals:Scorer", "import no_such_module\n", "No module named"),
    "exit": ("broken_evals:Scorer", "import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "no such class": ("broken_evals:Scorer", "\n", "AttributeError"),
    "not a target": ("no target", "\n", "cannot use"),
    "another base": (
        "broken_evals:Scorer",
        "class Scorer:\n    pass\n",
        "expected a subclass of `evalwright.plugins.ScorerSpec`",
    ),
    "another type": (
        "broken_evals:Scorer",
        SCORER.format("other"),
        'must have the field `type: Literal["broken"]`',
    ),
    "no method": (
        "broken_evals:Scorer",
        SCORER.format("broken"),
        "must define the method `score`",
    ),
    "no schema": (
        "broken_evals:Scorer",
        (
            SCORER.format("broken")
            + "    stream: memoryview\n    async def score(self, case): ...\n"
        ),
        "PydanticInvalidForJsonSchema",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_costs_one_warning(tmp_path: Path, case: str) -> None:
    target, module, reason = BROKEN[case]
    points = f"[evalwright.scorers]\nbroken = {target}\n"
    site = write_distribution(tmp_path / "site", "broken-evals", points, module)
    (tmp_path / "numbers.yaml").write_text(BUILT_IN_ONLY)
    (tmp_path / "task.yaml").write_text(TASK_WITH_BUILT_INS)

    every = (["validate", "task.yaml"], ["list", "scorers"], ["schema", "task"])
    for command in every if case == "no schema" else every[:1]:
        done = evalwright(*command, cwd=tmp_path, path=site)

        assert done.returncode == 0, done.stderr
        warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: plugin")]
        assert len(warnings) == 1, done.stderr
        assert warnings[0].startswith(
            "warning: plugin broken-evals 0.3: cannot use `evalwright.scorers: broken`: "
        )
        assert reason in warnings[0]
        assert warnings[0].endswith("; upgrade it, or run `pip uninstall broken-evals`")
        assert "Traceback" not in done.stderr


def test_a_broken_package_costs_one_warning_for_all_its_entry_points(tmp_path: Path) -> None:
    groups = ("scorers", "solvers", "metrics", "datasets")
    points = "".join(f"[evalwright.{one}]\nbroken = broken_evals:Broken\n" for one in groups)
    site = write_distribution(tmp_path / "site", "broken-evals", points, "import no_such_module\n")

    done = evalwright("list", "solvers", cwd=tmp_path, path=site)

    assert done.returncode == 0
    assert done.stderr.count("warning") == 1
    for group in groups:
        assert f"`evalwright.{group}: broken`" in done.stderr


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("type: shortness", "type: broken", id="scorer"),
        pytest.param("type: ask_twice", "type: broken", id="solver"),
        pytest.param("type: median", "type: broken", id="metric"),
        pytest.param("type: countdown", "type: broken", id="source"),
        pytest.param("$provider: parrot/grey", "$provider: broken/grey", id="$provider"),
        pytest.param("model_key: parrot/grey", "model_key: broken/grey", id="model"),
    ],
)
def test_a_document_that_needs_a_broken_plugin_says_so_at_its_place(
    tmp_path: Path, installed: Path, old: str, new: str
) -> None:
    groups = ("scorers", "solvers", "metrics", "datasets", "models")
    points = "".join(f"[evalwright.{one}]\nbroken = broken_evals:Broken\n" for one in groups)
    site = write_distribution(tmp_path / "site", "broken-evals", points, "import no_such_module\n")
    text = PROJECT.replace(old, new)
    (tmp_path / "run.yaml").write_text(text)

    path = Path(os.pathsep.join([str(site), str(installed)]))
    done = evalwright("validate", "run.yaml", "--json", cwd=tmp_path, path=path)

    assert done.returncode == 1
    errors = [one for file in json.loads(done.stdout)["files"] for one in file["errors"]]
    (error,) = [one for one in errors if one["rule"] == "broken_plugin"]
    line, column = place_of(text, new)
    assert (error["line"], error["column"]) == (line, column + len(new.partition(": ")[0]) + 2)
    assert error["detail"].startswith("`broken` comes from broken-evals 0.3, which cannot be used")


def test_a_broken_provider_on_the_command_line_ends_with_its_reason(tmp_path: Path) -> None:
    points = "[evalwright.models]\nbroken = broken_evals:connect\n"
    site = write_distribution(tmp_path / "site", "broken-evals", points, "import no_such_module\n")
    evalwright("init", "project", cwd=tmp_path, path=site)
    (tmp_path / "tasks.jsonl").write_text("")

    listed = evalwright("list", "models", cwd=tmp_path, path=site)
    done = evalwright("model", "test", "broken/x", cwd=tmp_path / "project", path=site)

    assert listed.returncode == 0
    assert listed.stderr.count("warning: plugin broken-evals 0.3") == 1
    assert "broken/" not in listed.stdout
    assert done.returncode != 0
    assert "which cannot be used: ModuleNotFoundError" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_built_in_name_cannot_be_replaced(tmp_path: Path, installed: Path) -> None:
    points = "[evalwright.scorers]\nbleu = acme_evals:Shortness\n"
    site = write_distribution(tmp_path / "site", "bold-evals", points)

    path = Path(os.pathsep.join([str(site), str(installed)]))
    done = evalwright("list", "scorers", "--json", cwd=tmp_path, path=path)

    assert done.stderr.count("warning") == 1
    assert "`bleu` is built in, and cannot be replaced" in done.stderr
    (bleu,) = [one for one in read_json(done) if one["type"] == "bleu"]
    assert bleu["origin"] == "built-in"


def test_a_name_that_two_packages_provide_is_not_used(tmp_path: Path, installed: Path) -> None:
    points = "[evalwright.scorers]\nshortness = acme_evals:Shortness\n"
    site = write_distribution(tmp_path / "site", "zeta-evals", points)
    (tmp_path / "run.yaml").write_text(PROJECT)

    path = Path(os.pathsep.join([str(site), str(installed)]))
    done = evalwright("validate", "run.yaml", cwd=tmp_path, path=path)

    assert done.returncode == 1
    assert "`shortness` is also provided by acme-evals 1.2.0; none of them is used" in done.stderr
    assert done.stderr.count("warning: plugin") == 1


WITHOUT_SCAN = """\
import sys
from evalwright import cli
sys.argv[1:] = {arguments}
try:
    cli.main()
finally:
    print(sorted({{"importlib.metadata", "acme_evals"}} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "tasks.jsonl", "-m", "scripted/oracle"], ["list"]]
)
def test_entry_points_are_read_only_when_needed(
    tmp_path: Path, installed: Path, arguments: list[str]
) -> None:
    fixture = Path(__file__).parents[2] / "src/evalwright/spec/records/fixtures/tasks.jsonl"
    (tmp_path / "tasks.jsonl").write_text(fixture.read_text().splitlines()[0] + "\n")
    code = WITHOUT_SCAN.format(arguments=arguments)

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1] == "[]", done.stderr
