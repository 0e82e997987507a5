import re
import subprocess
import sys

import pytest

import evalwright as ew
from evalwright.spec.records.fixtures import TASKS

PUBLIC = [
    "Completion",
    "EvalwrightError",
    "Failure",
    "InvalidTask",
    "Issue",
    "JudgedProgram",
    "Message",
    "Model",
    "Outcome",
    "PerplexityReport",
    "Report",
    "Request",
    "Score",
    "TaskSpec",
    "Usage",
    "__version__",
    "bootstrap_mean_ci",
    "calibration",
    "execute",
    "intervals",
    "leaderboard",
    "lint",
    "load",
    "load_fixtures",
    "metrics",
    "perplexity",
    "post_process",
    "render",
    "run",
    "schema",
    "score",
    "score_answer",
    "validate",
    "validate_file",
    "validate_task",
]
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

    assert module not in imported_by("from evalwright import api; assert api.list_runs()")


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
        "assert ew.perplexity.__module__ == 'evalwright.api.text_perplexity'"
    )

    assert "evalwright.perplexity.report" in imported_by(code)
