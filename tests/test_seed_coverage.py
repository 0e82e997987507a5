"""Every rule of the two source documents has a test that the suite runs.

`seed_coverage.toml` (contract A) and `seed_coverage_tasks.toml` (contract B) have a row for every
rule, field, vocabulary value and sentence of behaviour, in our own words, each with the tests that
hold it: `path::name`, or `path::name[id]`.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
FILES = ("seed_coverage.toml", "seed_coverage_tasks.toml")
ROWS: dict[str, list[dict[str, Any]]] = {
    file: tomllib.loads((TESTS / file).read_text(encoding="utf-8"))["row"] for file in FILES
}
EVERY = [row for rows in ROWS.values() for row in rows]


def test_a_row_has_a_sentence_and_tests() -> None:
    keys = {"id", "says", "tests"}

    assert [row for row in EVERY if row.keys() != keys or not all(row.values())] == []


def test_the_named_tests_are_collected() -> None:
    """So the suite runs them: a row cannot name a case that is never collected."""
    ids = sorted({f"tests/{test}" for row in EVERY for test in row["tests"]})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "not slow"]

    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "-p", "no:xdist", *ids],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    collected = {line for line in done.stdout.splitlines() if "::" in line}
    functions = {test.partition("[")[0] for test in collected}
    assert [test for test in ids if test not in collected | functions] == []


def test_row_ids_are_unique() -> None:
    ids = [row["id"] for row in EVERY]

    assert len(ids) == len(set(ids))
