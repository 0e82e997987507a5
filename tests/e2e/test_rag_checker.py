"""Whole runs with a `rag_checker`, against a server that plays model and judge, and counts."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.e2e.commands import evalwright, outcomes_in, report_of
from tests.e2e.projects import SOLVER, run_file, task, write_project, write_rows
from tests.scorers.rag.by_rule import answer, read
from tests.scorers.rag.test_formulas import EXPECTED
from tests.scorers.test_rag_checker import CHUNKS, RESPONSE, TARGET
from tests.servers.model_server import Asked, ModelServer, chat, reply, status

ROWS = [{"question": f"What is {n}?", "query": f"{n}?", "target": TARGET} for n in range(3)]
ASKED = "{key: ask, task_key: ask, model_key: openai$x}"
CALLS = 2 + 2 + 3 + 3
"""Of the judge, for all scores of a row."""


def checker(*scores: str, more: str = "") -> str:
    listed = f"      scores_to_compute: [{', '.join(scores)}]\n" if scores else ""
    return (
        f"  scorers:\n    - type: rag_checker\n      judge_model_key: openai$judge\n{listed}{more}"
    )


def model(references: list[Any] | None) -> Any:
    """Plays both: the judge by rule, the model with its references."""

    async def behave(asked: Asked) -> web.StreamResponse:
        if asked.body["model"] == "judge":
            return await chat(lambda one: json.dumps(answer(read(one.body["messages"]))))(asked)
        choice: dict[str, Any] = {
            "message": {"role": "assistant", "content": RESPONSE},
            "finish_reason": "stop",
        }
        if references is not None:
            choice["references"] = references
        return reply({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})

    return behave


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(model([{"content": one} for one in CHUNKS])) as running:
        yield running


def written(folder: Path, scorers: str) -> Path:
    write_rows(folder, ROWS)
    judge = "  - $provider: openai/judge\n"
    return write_project(folder, tasks__ask=task(SOLVER + scorers), run=run_file(ASKED, more=judge))


def run(server: ModelServer, folder: Path, *arguments: str, exit_code: int = 0) -> Any:
    done = evalwright(server, "run", "run.yaml", "--json", *arguments, cwd=folder)
    return report_of(done, exit_code=exit_code)


def asked(server: ModelServer) -> Counter[str]:
    """How often each was asked since the last time."""
    counts = Counter(str(one.body["model"]) for one in server.log)
    server.log.clear()
    return counts


def figures(report: Any) -> dict[str, float]:
    return {one["metric"]: one["value"] for one in report["metrics"]}


def test_all_scores_of_a_run_and_their_means(server: ModelServer, tmp_path: Path) -> None:
    report = run(server, written(tmp_path, checker()))

    assert figures(report) == pytest.approx({f"{name}_mean": one for name, one in EXPECTED.items()})
    assert asked(server) == {"x": 3, "judge": 3 * CALLS}
    assert report["failures"] == []


def test_other_scores_of_the_same_answers_cost_no_call(server: ModelServer, tmp_path: Path) -> None:
    run(server, written(tmp_path, checker()))
    asked(server)

    for scores in (("recall",), ("hallucination", "context_precision"), ()):
        report = run(server, written(tmp_path, checker(*scores)))
        wanted = {
            f"{name}_mean": EXPECTED[name] for name in EXPECTED if name in scores or not scores
        }
        assert figures(report) == pytest.approx(wanted)
        assert asked(server) == {}
        assert report["summary"]["reused"] == report["summary"]["samples"] == 3


def test_a_run_is_scored_again_with_other_scores_and_no_call(
    server: ModelServer, tmp_path: Path
) -> None:
    run(server, written(tmp_path, checker()))
    asked(server)
    written(tmp_path, checker("claim_recall", "self_knowledge"))

    done = evalwright(server, "score", "latest", "--json", cwd=tmp_path)

    wanted = {"claim_recall_mean": 2 / 3, "self_knowledge_mean": 1 / 5}
    assert figures(report_of(done)) == pytest.approx(wanted)
    assert asked(server) == {}


def test_what_was_not_found_out_before_is_asked_and_nothing_else(
    server: ModelServer, tmp_path: Path
) -> None:
    run(server, written(tmp_path, checker("faithfulness")))
    assert asked(server) == {"x": 3, "judge": 3 * 4}

    report = run(server, written(tmp_path, checker("faithfulness", "precision")))

    assert figures(report) == pytest.approx({"faithfulness_mean": 3 / 5, "precision_mean": 2 / 5})
    assert asked(server) == {"judge": 3}

    run(server, written(tmp_path, checker("faithfulness")))
    assert asked(server) == {}


@pytest.mark.parametrize(
    ("references", "failed"), [(None, True), ([], False)], ids=["said nothing of", "found nothing"]
)
def test_no_references_are_a_failure_and_none_found_are_a_score(
    tmp_path: Path, references: list[Any] | None, *, failed: bool
) -> None:
    with ModelServer(model(references)) as server:
        folder = written(tmp_path, checker("faithfulness"))
        report = run(server, folder, exit_code=3 if failed else 0)

    (figure,) = report["metrics"]
    assert (figure["value"], figure["failed"]) == ((None, 3) if failed else (0, 0))
    if failed:
        (outcome, *_) = outcomes_in(tmp_path)
        assert outcome.failure is not None
        assert outcome.failure.stage == "score"
        assert outcome.failure.message.startswith("the model's output has no `references`")
        assert outcome.trace is not None


def test_a_server_that_takes_no_schema_is_asked_without_and_says_so_once(
    server: ModelServer, tmp_path: Path
) -> None:
    whole = model([{"content": one} for one in CHUNKS])

    async def behave(asked: Asked) -> web.StreamResponse:
        if "response_format" in asked.body:
            return await status(400, "response_format is not supported")(asked)
        answered: web.StreamResponse = await whole(asked)
        return answered

    server.behave(behave)

    report = run(server, written(tmp_path, checker("precision")), "--concurrency", "1")

    assert figures(report) == pytest.approx({"precision_mean": 2 / 5})
    assert asked(server) == {"x": 3, "judge": 1 + 3 * 2}
    (outcome, *_) = outcomes_in(tmp_path)
    (score,) = outcome.scores.values()
    assert "does not accept a schema" in str(score.metadata["note"])
    assert sum("does not accept a schema" in one for one in report["notes"]) == 1


def test_a_judge_that_answers_something_else_fails_its_samples_and_scores_none(
    server: ModelServer, tmp_path: Path
) -> None:
    whole = model([{"content": one} for one in CHUNKS])

    async def behave(asked: Asked) -> web.StreamResponse:
        if asked.body["model"] == "judge":
            return await chat("All of it is fine, trust me.")(asked)
        answered: web.StreamResponse = await whole(asked)
        return answered

    server.behave(behave)

    report = run(server, written(tmp_path, checker("precision")), exit_code=3)

    assert [one["value"] for one in report["metrics"]] == [None]
    (outcome, *_) = outcomes_in(tmp_path)
    assert outcome.failure is not None
    assert "All of it is fine, trust me." in outcome.failure.message
