"""Real benchmarks go through: converted on the fly, all records are valid, all solutions pass."""

import json
from pathlib import Path

import pytest
from tools.convert import CONVERTERS

import evalwright as ew

DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = {"humaneval": "humaneval.jsonl", "mbpp": "sanitized-mbpp.json", "gsm8k": "gsm8k_test.jsonl"}
COUNTS = {"humaneval": 164, "mbpp": 427, "gsm8k": 1319}


@pytest.fixture(params=FILES)
def records(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    name: str = request.param
    source = DATA / FILES[name]
    if not source.exists():
        pytest.skip("the benchmark files are not part of the project, and are not beside it here")
    path = tmp_path / "records.jsonl"
    lines = (json.dumps(record) for record in CONVERTERS[name](source))
    path.write_text("".join(f"{line}\n" for line in lines))
    return name, path


def test_every_converted_record_is_valid(records: tuple[str, Path]) -> None:
    name, path = records

    found = ew.validate_file(path)

    assert found.errors == []
    assert len(found.records) == COUNTS[name]


def test_the_oracle_solves_what_it_knows(records: tuple[str, Path]) -> None:
    name, path = records

    report = ew.run(path, models=["scripted/oracle"], limit=40, unsafe_code_exec=True)

    assert [row.mean for row in report.leaderboard] == [1.0], name
