"""Every rule of the source document has a test that exists and passes.

`seed_coverage.toml` has a row for every rule, field, vocabulary value and sentence of behaviour,
in our own words, each with the tests that hold it: `path::name`, or `path::name[id]`.
"""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROWS = tomllib.loads((TESTS / "seed_coverage.toml").read_text(encoding="utf-8"))["row"]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_names_tests_that_exist(row: dict[str, str | list[str]]) -> None:
    assert row["says"]
    assert row["tests"], "a row without a test holds nothing"
    for test in row["tests"]:
        file, _, name = test.partition("::")
        assert (TESTS / file).exists(), file
        assert name.partition("[")[0] in functions(TESTS / file), test


def test_the_named_tests_pass() -> None:
    """They run here by id, so that a row cannot name a case that is never collected."""
    ids = sorted({f"tests/{test}" for row in ROWS for test in row["tests"]})

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *ids],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:]
    assert not re.search(r"\d+ (?:failed|error|skipped)", done.stdout.splitlines()[-1])


def test_row_ids_are_unique() -> None:
    ids = [row["id"] for row in ROWS]

    assert len(ids) == len(set(ids))
