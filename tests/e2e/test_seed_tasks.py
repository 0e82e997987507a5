"""The three tasks of the format's own page: its keys and its structure, our words and rows.

They run as they are written: literal keys of datasets and models, no `metrics` where the scorer
has its own, no dataset where the specification names it, a value put into JSON without `tojson`.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.servers.model_server import Asked, ModelServer, chat

PROJECT = Path(__file__).parent / "seed_tasks"
KNOWN = {"lemon": "yellow", "opposite": "up", "May": "June", "moo": "cow"}


def answer(asked: Asked) -> str:
    return next(said for word, said in KNOWN.items() if word in asked.prompt)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


def figures(report: Any) -> dict[str, Any]:
    return {f"{one['task']}/{one['metric']}": one for one in report["metrics"]}


def test_a_generic_input_is_sent_as_it_renders_and_scored_by_the_default_metric(
    folder: Path,
) -> None:
    with ModelServer(chat(answer)) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=folder)

    found = figures(report_of(done, exit_code=3))["generic/is_correct_mean"]
    assert found["value"] == pytest.approx(2 / 3)  # `up` is not the opposite of up
    assert (found["n"], found["failed"]) == (3, 1)
    sent = sorted((one.body for one in server.log), key=lambda one: str(one["messages"]))
    assert [one["messages"][1]["content"] for one in sent] == [
        "What colour is a ripe lemon?",
        "What is the opposite of up?",
        "Which month comes after May?",
    ]
    assert {one["model"] for one in sent} == {"gpt-4.1-nano"}
    assert {one["messages"][0]["role"] for one in sent} == {"system"}


def test_a_quote_in_a_row_breaks_the_json_of_that_sample_alone_and_the_message_says_how_to_mend_it(
    folder: Path,
) -> None:
    with ModelServer(chat(answer)) as server:
        evalwright(server, "run", "run.yaml", "--json", cwd=folder)

    (broken,) = [one.failure for one in outcomes_in(folder) if one.failure]
    assert broken.stage == "solver"
    assert "must render to JSON" in broken.message
    assert "tojson" in f"{broken.message} {broken.hint}"


def test_uniqueness_counts_each_column_and_takes_a_missing_value_for_unique(folder: Path) -> None:
    with ModelServer(chat(answer)) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=folder)

    found = figures(report_of(done, exit_code=3))
    assert found["names/Uniqueness Rate"]["value"] == pytest.approx(3 / 5)
    assert found["badges/Uniqueness Rate"]["value"] == 1
    for one in (found["names/Uniqueness Rate"], found["badges/Uniqueness Rate"]):
        assert (one["n"], one["failed"], one["excluded"]) == (5, 0, 0)
        assert one["ci_low"] < one["ci_high"]
        assert one["model"] == ""


def test_trivia_is_valid_but_for_its_judge_which_is_said_once(folder: Path) -> None:
    with ModelServer() as server:
        done = evalwright(server, "validate", ".", "--json", cwd=folder)

    assert done.returncode == 1
    problems = [
        (file["file"], one) for file in json.loads(done.stdout)["files"] for one in file["errors"]
    ]
    ((file, problem),) = problems
    assert file == "tasks/trivia.yaml"
    assert (problem["line"], problem["rule"]) == (19, "unsupported")
    assert problem["field"] == "definition.scorers[0].type"
    assert "`model_as_a_judge_classifier` is not supported by this version" in problem["detail"]
    assert not server.log


@pytest.mark.parametrize("name", ["generic.yaml", "uniqueness.yaml"])
def test_a_task_of_the_page_is_valid_by_itself(name: str, folder: Path) -> None:
    with ModelServer() as server:
        done = evalwright(server, "validate", f"tasks/{name}", cwd=folder)

    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout + done.stderr
