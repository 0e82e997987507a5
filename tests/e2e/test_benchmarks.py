"""Real benchmarks go through: converted on the fly, all records are valid, all solutions pass."""

import ast
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.convert import CONVERTERS

import evalwright as ew

DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = {"humaneval": "humaneval.jsonl", "mbpp": "sanitized-mbpp.json", "gsm8k": "gsm8k_test.jsonl"}
COUNTS = {"humaneval": 164, "mbpp": 427, "gsm8k": 1319}
HEAVY = '"mbpp/123"'
"""It takes several seconds of CPU: on a busy machine, more than any timeout."""
CODE = [name for name in FILES if name != "gsm8k"]


def converted(
    name: str, folder: Path, change: Callable[[Any], Any] = lambda record: record
) -> Path:
    source = DATA / FILES[name]
    if not source.exists():
        pytest.skip("the benchmark files are not part of the project, and are not beside it here")
    path = folder / "records.jsonl"
    lines = (json.dumps(change(record)) for record in CONVERTERS[name](source))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def hollow(record: Any) -> Any:
    """The same record, every function of its solution returning None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the compiler thinks of their style
        tree = ast.parse(record["metadata"]["solution"])
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = [ast.Return(ast.Constant(None))]
    solution = ast.unparse(ast.fix_missing_locations(tree))
    return {**record, "metadata": {**record["metadata"], "solution": solution}}


@pytest.mark.parametrize("name", FILES)
def test_every_converted_record_is_valid(name: str, tmp_path: Path) -> None:
    found = ew.validate_file(converted(name, tmp_path))

    assert found.errors == []
    assert len(found.records) == COUNTS[name]


@pytest.mark.parametrize("name", FILES)
def test_the_oracle_solves_what_it_knows(name: str, tmp_path: Path) -> None:
    records = converted(name, tmp_path)
    light = [line for line in records.read_text().splitlines() if HEAVY not in line]
    records.write_text("\n".join(light))

    report = ew.run(records, models=["scripted/oracle"])

    wrong = {one.sample_id: one.scores for one in report.samples() if not _passes(one)}
    assert wrong == {}
    assert report.leaderboard[0].completed == COUNTS[name] - (name == "mbpp")


@pytest.mark.slow
def test_the_oracle_solves_the_program_that_takes_seconds(tmp_path: Path) -> None:
    records = converted("mbpp", tmp_path)
    (heavy,) = (line for line in records.read_text().splitlines() if HEAVY in line)
    records.write_text(heavy)

    report = ew.run(records, models=["scripted/oracle"])

    assert [outcome.sample_id for outcome in report.samples() if _passes(outcome)] == ["mbpp/123"]


@pytest.mark.parametrize("name", CODE)
def test_a_solution_that_does_nothing_solves_nothing(name: str, tmp_path: Path) -> None:
    report = ew.run(converted(name, tmp_path, hollow), models=["scripted/oracle"])

    assert [one.sample_id for one in report.samples() if _passes(one)] == []
    assert report.leaderboard[0].completed == COUNTS[name]


def _passes(outcome: ew.Outcome) -> bool:
    return bool(outcome.scores) and outcome.scores["record"].correct is True
