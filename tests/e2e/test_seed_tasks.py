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
RIVERS = {"Vienna": "The Danube, I think", "Rhine": "in the Black Sea"}
TRIVIA = """\
models:
  - $provider: openai/gpt-4.1-nano
evaluation:
  key: rivers
  display_name: Rivers
  task_specifications:
    - { key: trivia, task_key: hp-trivia, model_key: openai$gpt-4-1-nano }
"""
KNOWN = {"lemon": "yellow", "opposite": "up", "May": "June", "moo": "cow"}


def answer(asked: Asked) -> str:
    return next(said for word, said in KNOWN.items() if word in asked.prompt)


def play(asked: Asked) -> str:
    """The model that answers, and the one that judges what it said."""
    if not is_judging(asked):
        return next(said for word, said in RIVERS.items() if word in asked.prompt)
    wanted, said = (line.partition(": ")[2].casefold() for line in asked.prompt.splitlines())
    verdict = "correct" if wanted in said else "incorrect"
    return json.dumps({"reasoning": "I compared them.", "prediction": verdict, "confidence": 0.75})


def is_judging(asked: Asked) -> bool:
    return "It should be" in asked.prompt


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


def test_trivia_is_answered_and_then_judged_in_the_words_of_its_author(folder: Path) -> None:
    (folder / "run.yaml").write_text(TRIVIA)
    with ModelServer(chat(play)) as server:
        done = evalwright(server, "run", "run.yaml", "--json", cwd=folder)

    found = figures(report_of(done))["trivia/is_correct_mean"]
    assert (found["value"], found["n"], found["failed"]) == (0.5, 2, 0)
    assert found["scorer"] == "model_as_a_judge_classifier"
    assert found["ci_low"] < 0.5 < found["ci_high"]
    asked = [one.body for one in server.log if is_judging(one)]
    assert sorted(one["messages"][1]["content"] for one in asked) == [
        "It should be: in the North Sea\nIt was said: in the Black Sea",
        "It should be: the Danube\nIt was said: The Danube, I think",
    ]
    told = (
        "Decide whether two answers mean the same thing. How they are spelt does not matter,\n"
        "nor does what one of them adds. Say 'correct' or 'incorrect', not a word more."
    )
    assert {one["messages"][0]["content"] for one in asked} == {told}
    for one in asked:
        assert [message["role"] for message in one["messages"]] == ["system", "user"]
        assert one["model"] == "gpt-4.1-nano"
        schema = one["response_format"]["json_schema"]
        assert (one["response_format"]["type"], schema["strict"]) == ("json_schema", True)
        assert [*schema["schema"]["properties"]] == ["reasoning", "prediction", "confidence"]
        assert schema["schema"]["properties"]["prediction"]["enum"] == ["correct", "incorrect"]


def test_what_the_judge_of_trivia_said_is_kept_with_the_sample(folder: Path) -> None:
    (folder / "run.yaml").write_text(TRIVIA)
    with ModelServer(chat(play)) as server:
        evalwright(server, "run", "run.yaml", "--json", cwd=folder)

    scores = [one.scores["model_as_a_judge_classifier"] for one in outcomes_in(folder)]
    assert sorted(bool(one.values["is_correct"]) for one in scores) == [False, True]
    for one in scores:
        assert one.correct is one.values["is_correct"]
        assert one.metadata["structured"] is True
        assert one.metadata["judge"] == "openai$gpt-4-1-nano"
        assert one.metadata["confidence"] == pytest.approx(0.75)
        assert one.metadata["reasoning"] == "I compared them."
        assert (
            json.loads(str(one.metadata["raw_reply"]))["prediction"] == one.metadata["prediction"]
        )


@pytest.mark.parametrize("name", ["generic.yaml", "trivia.yaml", "uniqueness.yaml"])
def test_a_task_of_the_page_is_valid_by_itself(name: str, folder: Path) -> None:
    with ModelServer() as server:
        done = evalwright(server, "validate", f"tasks/{name}", cwd=folder)

    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout + done.stderr
