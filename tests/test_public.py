import re
import subprocess
import sys
from inspect import isfunction, ismodule
from pathlib import Path

import pytest

import evalwright as ew
from evalwright.spec.records.fixtures import TASKS

PUBLIC = [
    "AsyncModel",
    "BlockingModel",
    "ComparisonReport",
    "ComparisonRow",
    "Completion",
    "EvalwrightError",
    "Failure",
    "Flip",
    "GateResult",
    "InvalidTask",
    "Issue",
    "JudgedProgram",
    "ListedRun",
    "Message",
    "Model",
    "Outcome",
    "PerplexityReport",
    "Report",
    "Request",
    "Score",
    "Task",
    "TaskSpec",
    "Usage",
    "__version__",
    "acompare",
    "agate",
    "aload",
    "arun",
    "aruns",
    "ascore",
    "avalidate",
    "bootstrap_mean_ci",
    "calibration",
    "check_dataset",
    "compare",
    "execute",
    "gate",
    "intervals",
    "leaderboard",
    "lint",
    "load",
    "load_fixtures",
    "metric",
    "metrics",
    "perplexity",
    "post_process",
    "postprocessor",
    "render",
    "run",
    "runs",
    "schema",
    "score",
    "score_answer",
    "scorer",
    "solver",
    "test",
    "validate",
    "validate_file",
    "validate_task",
]
ROOT = Path(__file__).parent.parent
NO_EXAMPLE = {
    "ew.perplexity"
}  # its example needs a model with log-probabilities: the guide has one
HEAVY = ["numpy", "rich", "click", "msgspec", "rapidfuzz", "asyncio"]


def imported_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has after some code."""
    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(shown.stdout.split())


def test_public_names_are_a_decision() -> None:
    assert ew.__all__ == PUBLIC
    assert dir(ew) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(ew, name) is not None


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'evalwright' has no attribute 'nope'"):
        _ = ew.nope


def test_the_version_is_one() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", ew.__version__)


@pytest.mark.parametrize("module", HEAVY)
def test_the_import_is_light(module: str) -> None:
    assert module not in imported_by("import evalwright")


@pytest.mark.parametrize("module", ["numpy", "rich", "asyncio", "sqlite3", "aiohttp"])
def test_a_verb_is_imported_when_it_is_first_used(module: str) -> None:
    assert module not in imported_by("from evalwright import api; assert 'run' in dir(api)")


@pytest.mark.parametrize("module", ["numpy", "rich", "asyncio"])
def test_looking_at_runs_needs_no_statistics(module: str) -> None:
    ew.run(TASKS, "scripted/oracle", limit=1)

    assert module not in imported_by("from evalwright import api; assert api.runs()")


@pytest.mark.parametrize("module", ["numpy", "rich", "asyncio"])
def test_validating_needs_no_statistics_and_no_tables(module: str) -> None:
    code = "import evalwright as ew; ew.load_fixtures(); ew.validate_task; ew.schema('records')"

    assert module not in imported_by(code)


def test_the_example_of_the_docstring_runs() -> None:
    code = re.findall(r"^    (.*)$", ew.__doc__ or "", flags=re.MULTILINE)

    assert "import evalwright as ew" in code

    script = "\n".join(code).replace("tasks.jsonl", str(TASKS))
    shown = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout
    assert shown.startswith("# tasks")


def test_a_verb_keeps_its_name_when_the_package_of_that_name_is_imported() -> None:
    code = (
        "import evalwright as ew; from evalwright.perplexity.report import PerplexityReport; "
        "assert ew.perplexity.__module__ == 'evalwright.perplexity.measure'"
    )

    assert "evalwright.perplexity.report" in imported_by(code)


def public_objects() -> dict[str, object]:
    """Every public name as users write it, with what it stands for."""
    objects = {f"ew.{name}": getattr(ew, name) for name in PUBLIC}
    modules = [(name, value) for name, value in objects.items() if ismodule(value)]
    for name, module in modules:
        objects |= {f"{name}.{member}": getattr(module, member) for member in module.__all__}
    return objects


def test_every_public_name_has_an_entry_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")

    assert [name for name in public_objects() if f"`{name}`" not in page] == []


def test_every_public_function_has_an_example() -> None:
    lacking = {
        name
        for name, value in public_objects().items()
        if isfunction(value) and ">>> " not in (value.__doc__ or "")
    }

    assert lacking == NO_EXAMPLE


def test_the_series_needs_public_names_only() -> None:
    """Its modules import nothing else of ours, and use no name that is not public."""
    modules = [name for name in PUBLIC if ismodule(getattr(ew, name))]
    member = re.compile(rf"\bew\.(?:(?:{'|'.join(modules)})\.)?\w+")
    imports = re.compile(r"^ *(?:from|import) .*evalwright.*$", re.MULTILINE)
    for path in sorted((ROOT / "tests" / "series").glob("test_*.py")):
        text = path.read_text(encoding="utf-8")

        assert imports.findall(text) == ["import evalwright as ew"], path.name
        assert set(member.findall(text)) - set(public_objects()) == set(), path.name


@pytest.mark.parametrize("module", ["numpy", "asyncio", "rapidfuzz", "pydantic"])
def test_metrics_of_texts_import_what_they_need(module: str) -> None:
    code = "import evalwright as ew; ew.metrics.f1('a', ['a b'])"

    assert module not in imported_by(code)
