"""Multiple choice by likelihood, confidence by the model's own word, as a person asks for them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import evalwright, outcomes_in, record, report_of, write_tasks
from tests.servers.model_server import Asked, ModelServer, chat

ORACLE = ("run", "tasks.jsonl", "-m", "scripted/oracle")
REMOTE = ("run", "tasks.jsonl", "-m", "openai/x", "--confidence", "self")
PRIME = record(
    "prime",
    category="mcq",
    prompt="Which is a prime?\nA) 21\nB) 37\nC) 51",
    targets=["B"],
    post_process="extract_letter",
)


def said(asked: Asked) -> str:
    """4, and of two of its answers how sure it is of them."""
    if "Proposed answer:" not in asked.prompt:
        return "4"
    return "90 %" if "sum" in asked.prompt else "Absolutely!"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    write_tasks(tmp_path, [PRIME, record("sum-1"), record("sum-2")])
    with ModelServer(chat(said)) as running:
        yield running


def test_a_choice_by_likelihood_is_reported_shown_and_exported(
    server: ModelServer, tmp_path: Path
) -> None:
    done = evalwright(server, *ORACLE, "--mcq", "loglikelihood", "--json", cwd=tmp_path)
    report = report_of(done)
    shown = evalwright(server, "show", "latest", "prime", cwd=tmp_path).stdout
    exported = evalwright(server, "export", "latest", "--format", "jsonl", cwd=tmp_path).stdout

    assert report["leaderboard"][0]["mean"] == 1.0
    assert report["calibration"]["scripted/oracle"]["covered"] == 3
    assert any("1 multiple-choice record answered with" in note for note in report["notes"])
    assert "\n    options: A 0.0" in shown
    rows = [json.loads(line) for line in exported.splitlines()]
    options: dict[str, Any] = rows[0]["metadata"]["record"]["options"]
    assert [*options] == ["A", "B", "C"]
    assert sum(options.values()) == pytest.approx(1)
    assert max(options, key=options.__getitem__) == "B" == rows[0]["output"]


def test_the_letter_is_what_it_was(server: ModelServer, tmp_path: Path) -> None:
    plain = report_of(evalwright(server, *ORACLE, "--json", cwd=tmp_path))
    letter = report_of(evalwright(server, *ORACLE, "--mcq", "letter", "--json", cwd=tmp_path))

    assert letter["run_id"] == plain["run_id"]
    assert letter["summary"]["reused"] == 3
    assert outcomes_in(tmp_path)[0].trace.output == "The answer is B."  # type: ignore[union-attr]


def test_an_api_that_weighs_nothing_is_refused_before_it_is_asked(
    server: ModelServer, tmp_path: Path
) -> None:
    done = evalwright(
        server, "run", "tasks.jsonl", "-m", "openai/x", "--mcq", "loglikelihood", cwd=tmp_path
    )

    assert done.returncode == 2
    assert done.stderr == (
        "evalwright: openai/x cannot compute the likelihood of given answers: its API "
        "returns log-probabilities only for text that it generates\n"
        "  hint: `--mcq letter`, or -m local/smollm2\n"
    )
    assert server.log == []


def test_how_sure_it_is_a_model_is_asked_beside_its_answers(
    server: ModelServer, tmp_path: Path
) -> None:
    report_of(evalwright(server, "run", "tasks.jsonl", "-m", "openai/x", "--json", cwd=tmp_path))
    answered = len(server.log)

    report = report_of(evalwright(server, *REMOTE, "--json", cwd=tmp_path))

    assert (answered, len(server.log)) == (3, 6)
    assert report["summary"]["reused"] == 3
    assert report["usage"]["openai/x"]["requests"] == 3
    assert report["asked_beside"]["openai/x"]["requests"] == 3
    calibration = report["calibration"]["openai/x"]
    assert (calibration["covered"], calibration["n"]) == (2, 3)
    assert calibration["ece"] == pytest.approx(0.1)
    assert "openai/x: replies without a number when asked how sure it is: 1" in report["notes"]
    assert [one.scores["confidence"].values["confidence"] for one in outcomes_in(tmp_path)] == [
        None,
        0.9,
        0.9,
    ]


def test_the_same_command_again_asks_nothing(server: ModelServer, tmp_path: Path) -> None:
    first = report_of(evalwright(server, *REMOTE, "--json", cwd=tmp_path))
    server.log.clear()

    again = report_of(evalwright(server, *REMOTE, "--json", cwd=tmp_path))
    scored = report_of(evalwright(server, "score", "latest", "--json", cwd=tmp_path))

    assert server.log == []
    assert again["run_id"] == first["run_id"]
    assert again["calibration"] == scored["calibration"] == first["calibration"]
    assert again["asked_beside"] == first["asked_beside"]
    assert scored["asked_beside"] == {}
