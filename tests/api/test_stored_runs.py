import os
from pathlib import Path
from typing import Any

import pytest
from tests.session.made import comparable, model, record, run_records, write_records

import evalwright as ew
from evalwright import api
from evalwright.errors import UnknownName, Unreadable, UsageError
from evalwright.spec.records.fixtures import TASKS
from evalwright.store.sqlite import SqliteStore

MODELS = ["scripted/biased", "scripted/noisy"]
WORDS = """\
key: words
display_name: Words
source: {type: local, file_path: words.csv}
"""
ECHO = """\
key: echo
display_name: Echo
description: Does it say what it hears?
definition:
  dataset: {key: words}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {role: user, content: "{{ sample.said }}"}
  scorers:
    - {type: string_equals, ground_truth: "{{ sample.meant }}"}
"""


def stopped(path: Path) -> ew.Report:
    """A run that has ended before its end, at the first failure."""

    def script(request: ew.Request) -> str:
        if request.sample.id == "b":
            raise ConnectionError("no answer")
        return "4"

    tasks = write_records(path / "tasks.jsonl", *map(record, "abc"))
    store = SqliteStore(os.environ["EVALWRIGHT_STORE"])
    report = run_records(tasks, {"m": model(script)}, store, max_failures=0, concurrency=1)
    store.close()
    return report


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"limit": 4}, id="a run"),
        pytest.param({}, id="one that has run code"),
        pytest.param({"limit": 4, "seed": 3, "bins": 15}, id="with a seed and bins of its own"),
        pytest.param({"calibrate": True}, id="with a temperature"),
        pytest.param({"limit": 4, "fresh": True}, id="begun fresh"),
    ],
)
def test_a_report_made_again_is_the_runs_own(options: dict[str, Any]) -> None:
    report = ew.run(TASKS, MODELS, **options)

    again = ew.load("latest")

    assert again.run_id == report.run_id
    assert comparable(again) == comparable(report)
    assert list(again.samples()) == list(report.samples())


def test_with_failures_bad_records_and_trials_too(tmp_path: Path) -> None:
    tasks = write_records(
        tmp_path / "tasks.jsonl", record("a", metadata={"samples": 5}), "{", record("b")
    )
    outputs = write_records(tmp_path / "outputs.jsonl", *['{"id": "a", "output": "4"}'] * 5)
    report = ew.run(tasks, [f"replay/{outputs}", "scripted/noisy"], allow_bad_tasks=True)

    assert report.failures
    assert report.left_out
    assert comparable(ew.load(report.run_id[:-1])) == comparable(report)


def test_a_stopped_run_too(tmp_path: Path) -> None:
    report = stopped(tmp_path)

    again = ew.load()

    assert report.status == again.status == "stopped"
    assert comparable(again) == comparable(report)


def test_a_report_may_be_made_with_another_seed_and_other_bins() -> None:
    report = ew.run(TASKS, MODELS, limit=4)

    again = ew.load(bins=15, seed=7)

    assert len(again.calibration["scripted/noisy"].bins) == 15
    assert comparable(again) == comparable(ew.run(TASKS, MODELS, limit=4, bins=15, seed=7))
    assert again.run_id == report.run_id


def test_a_temperature_may_be_fitted_to_what_is_stored_or_left_out_again() -> None:
    report = ew.run(TASKS, MODELS)

    fitted = ew.load(calibrate=True)

    assert report.calibration["scripted/noisy"].scaled is None
    scaled = fitted.calibration["scripted/noisy"].scaled
    assert scaled is not None
    assert (scaled.fitted_on, scaled.n) == (5, 5)
    assert comparable(fitted) == comparable(ew.run(TASKS, MODELS, calibrate=True))
    assert comparable(ew.load()) == comparable(fitted)
    assert comparable(ew.load(calibrate=False)) == comparable(report)


def test_scoring_again_may_fit_one_too() -> None:
    ew.run(TASKS, "scripted/noisy")

    assert ew.score(calibrate=True).calibration["scripted/noisy"].scaled is not None


def project(path: Path) -> str:
    """A task that `scripted/echo`, which is 50 % sure of all it says, gets right half the time."""
    (path / "datasets").mkdir()
    (path / "tasks").mkdir()
    write_records(path / "datasets" / "words.yaml", WORDS)
    write_records(path / "datasets" / "words.csv", "said,meant", *["a,a", "b,c"] * 4)
    return str(write_records(path / "tasks" / "echo.yaml", ECHO))


def test_answers_of_a_project_are_calibrated_too(tmp_path: Path) -> None:
    report = ew.run(project(tmp_path), "scripted/echo")

    row = report.calibration["scripted/echo"]
    assert (row.covered, row.n, row.scaled) == (8, 8, None)
    assert row.ece == pytest.approx(0)
    assert comparable(ew.load()) == comparable(report)


def test_the_calibration_of_a_project_may_be_made_again(tmp_path: Path) -> None:
    tasks = project(tmp_path)
    report = ew.run(tasks, "scripted/echo")

    again = ew.load(bins=15, calibrate=True)

    row = again.calibration["scripted/echo"]
    assert len(row.bins) == 15
    assert row.scaled is not None
    assert (row.scaled.fitted_on, row.scaled.n, row.scaled.temperature) == (4, 4, None)
    assert "is 50 %, which no temperature changes" in row.scaled.reason
    assert again.metrics == report.metrics
    assert comparable(ew.run(tasks, "scripted/echo", bins=15, calibrate=True)) == comparable(again)


@pytest.mark.parametrize(("name", "value"), [("bins", 0), ("seed", -1)])
def test_but_not_with_such_that_cannot_be(name: str, value: int) -> None:
    ew.run(TASKS, MODELS, limit=1)

    with pytest.raises(UsageError, match=f"`{name}`: Expected"):
        ew.load(**{name: value})  # type: ignore[arg-type]


def test_runs_are_listed_newest_first_and_found_by_the_start_of_an_id() -> None:
    one = ew.run(TASKS, "scripted/oracle", limit=1)
    two = ew.run(TASKS, "scripted/oracle", limit=2)

    assert [run.id for run in api.runs()] == [two.run_id, one.run_id]
    assert api.find().id == two.run_id
    assert api.find(one.run_id[:-1]).id == one.run_id
    with pytest.raises(UnknownName, match="there is no run `nope`"):
        api.find("nope")


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        pytest.param(None, ["a", "b"], id="all"),
        pytest.param(True, ["b"], id="failed"),
        pytest.param(False, ["a"], id="the others"),
    ],
)
def test_outcomes_are_exported(tmp_path: Path, expected: list[str], *, failed: bool | None) -> None:
    stopped(tmp_path)

    assert [one.sample_id for one in api.export(failed=failed)] == expected


def test_a_deleted_run_is_gone_with_its_outcomes() -> None:
    report = ew.run(TASKS, "scripted/oracle", limit=3)

    assert api.delete("latest") == (report.run_id, 3)

    assert api.runs() == []
    assert api.collect_garbage() >= 0
    with pytest.raises(UnknownName):
        list(report.samples())


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda store: api.find("latest", store), id="find"),
        pytest.param(lambda store: api.load("latest", store), id="load"),
        pytest.param(lambda store: list(api.export("latest", store)), id="export"),
        pytest.param(lambda store: api.delete("latest", store), id="delete"),
        pytest.param(api.collect_garbage, id="collect_garbage"),
    ],
)
def test_looking_at_a_store_that_is_not_there_makes_none(look: Any, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"runs\.db: no such file"):
        look(tmp_path / "runs.db")

    assert list(tmp_path.iterdir()) == []
