"""`evalwright gate --baseline` and `evalwright bless`."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from tests.e2e import in_process
from tests.e2e.test_compare import record, write_answers, write_records

import evalwright as ew

COUNT = 60


def evalwright(*arguments: str, cwd: Path) -> CompletedProcess[str]:
    """The command, on the store that all tests of this file share."""
    return in_process.evalwright(*arguments, "--store", str(cwd / "shared.db"), cwd=cwd)


def succeed(folder: Path, *arguments: str) -> str:
    done = evalwright(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with four runs of the same records, which differ in how many answers are right."""
    folder = tmp_path_factory.mktemp("baseline")
    write_records(folder, (record(f"t{n}") for n in range(COUNT)))
    for name, right in (("good", 58), ("same", 58), ("close", 55), ("bad", 20)):
        answers = ((f"t{n}", "yes" if n < right else f"no, {n}") for n in range(COUNT))
        write_answers(folder, answers)
        succeed(folder, "run", "tasks.jsonl", "-m", "replay/o.jsonl", "--name", name, "--fresh")
    return folder


@pytest.mark.parametrize(
    ("run", "margin", "exit_code", "verdict"),
    [
        pytest.param("same", "0.02", 0, "holds", id="no sample changed"),
        pytest.param("bad", "0.02", 1, "worse", id="a regression"),
        pytest.param("close", "0.02", 5, "undecided", id="too few samples to tell"),
        pytest.param("close", "0.3", 0, "holds", id="a loss that is accepted"),
    ],
)
def test_the_exit_code_says_whether_the_run_is_worse(
    store: Path, run: str, margin: str, exit_code: int, verdict: str
) -> None:
    arguments = ("gate", run, "--baseline", "good", "--margin", margin)

    done = evalwright(*arguments, "--json", cwd=store)
    shown = evalwright(*arguments, cwd=store)
    report = json.loads(done.stdout)
    (row,) = report["baseline"]["rows"]

    jsonschema.validate(report, ew.schema("gate"))
    assert (done.returncode, shown.returncode) == (exit_code, exit_code)
    assert row["verdict"] == verdict
    assert verdict in shown.stdout
    if verdict == "undecided":
        assert row["n_needed"] > COUNT
        assert "more samples would settle it" in shown.stdout


def test_samples_that_got_worse_are_shown_with_both_outputs(store: Path) -> None:
    done = evalwright("gate", "bad", "--baseline", "good", cwd=store)

    assert "[-yes-]{+no, 20+}" in done.stdout
    assert "38 samples changed; 10 that got worse" in done.stdout


def test_the_comment_for_a_pull_request_has_verdict_table_and_flips(store: Path) -> None:
    done = evalwright("gate", "bad", "--baseline", "good", "--format", "markdown", cwd=store)
    lines = done.stdout.splitlines()

    assert done.returncode == 1
    assert lines[0] == "# The run is worse in 1 of 1 metrics"
    assert any(line.startswith("| tasks | mean | 0.967 | 0.333 | -0.633 |") for line in lines)
    assert lines.count("  ```text") == 10


def test_ci_systems_get_cases_and_annotations(store: Path) -> None:
    junit = evalwright("gate", "bad", "--baseline", "good", "--format", "junit", cwd=store)
    github = evalwright("gate", "close", "--baseline", "good", "--format", "github", cwd=store)
    suite = ET.fromstring(junit.stdout)[0]  # noqa: S314 - our own output

    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert "worse: at least" in str(suite[0][0].get("message"))
    assert github.stdout.startswith("::warning title=tasks/")


def test_a_blessed_run_is_found_by_its_name_until_another_is_blessed(store: Path) -> None:
    succeed(store, "bless", "good", "main")
    first = succeed(store, "gate", "same", "--baseline", "baseline:main")
    moved = succeed(store, "bless", "bad", "main")
    second = evalwright("gate", "bad", "--baseline", "baseline:main", "--json", cwd=store)
    blessed: dict[str, Any] = json.loads(succeed(store, "show", "baseline:main", "--json"))

    assert "baseline baseline:main: the run is not worse" in first
    assert "it replaces" in moved
    assert (second.returncode, blessed["name"]) == (0, "bad")
    assert json.loads(succeed(store, "show", "good", "--json"))["tags"] == {}


def test_policies_and_baseline_are_checked_together(store: Path) -> None:
    (store / "policy.yaml").write_text(
        "key: release\ndisplay_name: Release\nrules:\n  - key: accurate\n"
        "    definition: {type: threshold, metric: mean, operator: '>=', threshold: 0.99}\n"
    )

    done = evalwright(
        "gate", "same", "--baseline", "good", "--policy", "policy.yaml", "--json", cwd=store
    )
    report = json.loads(done.stdout)

    assert done.returncode == 1
    assert (report["holds"], report["baseline"]["verdict"]) == (False, "holds")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("gate", "good"), "--baseline RUN", id="neither policies nor baseline"),
        pytest.param(
            ("gate", "good", "--baseline", "baseline:none"), "no run", id="an unknown baseline"
        ),
        pytest.param(("bless", "good", "a b"), "cannot be the name", id="a name with a space"),
        pytest.param(("bless", "nobody", "main"), "there is no run `nobody`", id="no such run"),
    ],
)
def test_mistakes_name_what_is_wrong(store: Path, arguments: tuple[str, ...], message: str) -> None:
    done = evalwright(*arguments, cwd=store)

    assert done.returncode == 2
    assert message in done.stderr
