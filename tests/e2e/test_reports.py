"""What reports and exports tell people: ranges, names, exact numbers, and why answers are wrong."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import in_process
from tests.e2e.projects import of_rows, run_file, write_project, write_rows

OF_ROWS = "{key: ask, task_key: ask}"
WITH_VALUE = 'def compute_scores(sample):\n    return {"ok": sample["value"]}'


def evalwright(*arguments: str, cwd: Path, exit_code: int = 0) -> str:
    done = in_process.evalwright(*arguments, cwd=cwd)
    assert done.returncode == exit_code, done.stderr
    return done.stdout


def report(*arguments: str, cwd: Path, exit_code: int = 0) -> Any:
    return json.loads(evalwright(*arguments, "--json", cwd=cwd, exit_code=exit_code))


def project_of_values(folder: Path, values: Sequence[float]) -> Path:
    """A project that scores each row by its value."""
    write_rows(folder, [{"value": value} for value in values])

    return write_project(folder, run=run_file(OF_ROWS), tasks__ask=of_rows(WITH_VALUE))


def test_the_mean_of_counts_has_no_interval_below_zero_in_the_starter_project(
    tmp_path: Path,
) -> None:
    evalwright("init", "demo", cwd=tmp_path)

    rows = report("run", "run.yaml", cwd=tmp_path / "demo")["metrics"]

    (messages,) = [row for row in rows if row["metric"] == "messages_mean"]
    assert (messages["value"], messages["ci_low"]) == (8, 0)
    assert messages["ci_high"] > 8


@pytest.mark.parametrize(
    ("values", "lowest"),
    [
        pytest.param([6, 10], 0, id="counts cannot be negative"),
        pytest.param([6.0, 10.0], 0, id="nor can they when written as floats"),
        pytest.param([6.5, 10.25], None, id="other numbers may be"),
        pytest.param([-1, 20], None, id="and whole numbers of which one is"),
    ],
)
def test_an_interval_stays_in_the_range_of_the_score(
    tmp_path: Path, values: list[float], lowest: int | None
) -> None:
    project = project_of_values(tmp_path, values)

    (row,) = report("run", "run.yaml", cwd=project)["metrics"]

    assert row["ci_low"] == lowest if lowest is not None else row["ci_low"] < 0


def test_the_interval_of_a_weighted_average_stays_between_its_weights(tmp_path: Path) -> None:
    weighted = "{type: weighted_average, field: ok, weights: {'1': 1, '2': 5}}"
    project = project_of_values(tmp_path, [1, 2, 2])
    path = project / "tasks" / "ask.yaml"
    path.write_text(path.read_text().replace("{type: mean, field: ok}", weighted))

    (row,) = report("run", "run.yaml", cwd=project)["metrics"]

    assert (row["ci_low"], row["ci_high"]) == (1, 5)


def test_the_mean_of_equal_scores_is_that_score(tmp_path: Path) -> None:
    project = project_of_values(tmp_path, [0.95, 0.95, 0.95])

    (row,) = report("run", "run.yaml", cwd=project)["metrics"]

    assert row["value"] == 0.95
    assert " 0.950 " in evalwright("report", cwd=project)
