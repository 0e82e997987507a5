"""Every rule of the two source documents has a test that exists and passes.

`seed_coverage.toml` (contract A) and `seed_coverage_tasks.toml` (contract B) have a row for every
rule, field, vocabulary value and sentence of behaviour, in our own words, each with the tests that
hold it: `path::name`, or `path::name[id]`.
"""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
FILES = ("seed_coverage.toml", "seed_coverage_tasks.toml")
ROWS: dict[str, list[dict[str, Any]]] = {
    file: tomllib.loads((TESTS / file).read_text(encoding="utf-8"))["row"] for file in FILES
}
EVERY = [row for rows in ROWS.values() for row in rows]


@cache
def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", EVERY, ids=lambda row: row["id"])
def test_a_row_names_tests_that_exist(row: dict[str, Any]) -> None:
    assert row.keys() == {"id", "says", "tests"}
    assert row["says"]
    assert row["tests"], "a row without a test holds nothing"
    for test in row["tests"]:
        file, _, name = test.partition("::")
        assert (TESTS / file).exists(), file
        assert name.partition("[")[0] in functions(TESTS / file), test


@pytest.mark.parametrize("file", FILES)
def test_the_named_tests_pass(file: str) -> None:
    """They run here by id, so that a row cannot name a case that is never collected."""
    ids = sorted({f"tests/{test}" for row in ROWS[file] for test in row["tests"]})

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *ids],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert not re.search(r"\d+ (?:failed|error|skipped)", done.stdout.splitlines()[-1])


def test_row_ids_are_unique() -> None:
    ids = [row["id"] for row in EVERY]

    assert len(ids) == len(set(ids))
