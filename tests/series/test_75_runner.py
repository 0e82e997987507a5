"""Lesson 75, the runner: tasks and models in, a report out."""

import json
from pathlib import Path
from typing import Any

import pytest

import evalwright as ew

MODELS = ["scripted/oracle", "scripted/noisy"]


def task(task_id: str, prompt: str, target: str, **changes: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "category": "arithmetic",
        "prompt": prompt,
        "targets": [target],
        "metric_name": "exact_match",
        "post_process": "strip_whitespace",
        **changes,
    }


RECORDS = [
    task("sum", "2 + 3 =", "5", few_shot_examples=[{"prompt": "1 + 1 =", "completion": "2"}]),
    task("product", "2 * 3 =", "6"),
    task("mood", "Is rain good?", "no", category="classification", metric_name="accuracy"),
]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return write(tmp_path / "tasks.jsonl", RECORDS)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_every_model_answers_every_task(tasks: Path) -> None:
    report = ew.run(tasks, MODELS)

    assert report.status == "finished"
    assert (report.summary.samples, report.summary.completed, report.summary.failed) == (6, 6, 0)
    assert report.leaderboard[0].model == "scripted/oracle"
    assert report.leaderboard[0].mean == 1.0
    assert {(row.a, row.b) for row in report.pairwise} == {("scripted/oracle", "scripted/noisy")}


def test_every_model_gets_the_same_rendered_prompt(tasks: Path) -> None:
    prompts: dict[str, set[str]] = {}
    for outcome in ew.run(tasks, MODELS).samples():
        assert outcome.trace is not None
        prompts.setdefault(outcome.sample_id, set()).add(outcome.trace.input)

    assert prompts == {row["task_id"]: {ew.render(row)} for row in RECORDS}


def test_the_score_of_an_answer_is_that_of_score_answer(tasks: Path, tmp_path: Path) -> None:
    outputs = {"sum": " 5\n", "product": "The product is 6", "mood": "yes"}
    replay = write(tmp_path / "outputs.jsonl", [{"id": k, "output": v} for k, v in outputs.items()])

    report = ew.run(tasks, f"replay/{replay}")

    records = {row["task_id"]: row for row in RECORDS}
    for outcome in report.samples():
        score = ew.score_answer(records[outcome.sample_id], outputs[outcome.sample_id])
        assert outcome.scores["record"] == score
    assert report.leaderboard[0].mean == pytest.approx(1 / 3)


def test_the_runner_refuses_bad_tasks_unless_it_is_told_to_run_the_others(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.jsonl", [*RECORDS, task("bad", "1 + 1 ", "2")])

    with pytest.raises(ew.EvalwrightError, match="bad_value"):
        ew.run(path, MODELS[0])
    report = ew.run(path, MODELS[0], allow_bad_tasks=True)

    assert report.summary.completed == 3
    assert [(row.line, row.rule) for row in report.left_out] == [(4, "bad_value")]


def test_an_answer_that_is_missing_is_a_failure_and_no_zero(tasks: Path, tmp_path: Path) -> None:
    replay = write(tmp_path / "outputs.jsonl", [{"id": "sum", "output": "5"}])

    report = ew.run(tasks, f"replay/{replay}")

    assert (report.status, report.summary.failed) == ("finished_with_failures", 2)
    assert (report.leaderboard[0].mean, report.leaderboard[0].completed) == (1.0, 1)


def test_confidences_are_calibrated_in_the_report(tasks: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "sum", "output": "5", "logprobs": [-0.1, -0.2]},
        {"id": "product", "output": "7", "logprobs": [-0.5]},
        {"id": "mood", "output": "no", "logprobs": [-0.01]},
    ]
    report = ew.run(tasks, f"replay/{write(tmp_path / 'outputs.jsonl', rows)}")

    confidences = [ew.calibration.answer_confidence(row["logprobs"]) for row in rows]
    correct = [True, False, True]
    (figures,) = report.calibration.values()
    assert figures.ece == pytest.approx(ew.calibration.ece(confidences, correct))
    assert figures.brier == pytest.approx(ew.calibration.brier_score(confidences, correct))


def test_the_leaderboard_of_a_report_is_that_of_its_scores(tasks: Path) -> None:
    report = ew.run(tasks, MODELS)
    scores: dict[str, dict[str, float | None]] = {model: {} for model in MODELS}
    for outcome in report.samples():
        scores[outcome.model][outcome.sample_id] = outcome.score
    categories = {row["task_id"]: row["category"] for row in RECORDS}

    assert ew.leaderboard.rank(scores, categories=categories) == report.leaderboard


def test_several_samples_give_pass_at_k(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.jsonl", [task("sum", "2 + 3 =", "5", metadata={"samples": 4})])
    answers = [{"id": "sum", "output": output} for output in ("5", "6", "5", "7")]

    report = ew.run(path, f"replay/{write(tmp_path / 'outputs.jsonl', answers)}")

    values = {row.metric: row.value for row in report.metrics if row.metric.startswith("pass@")}
    assert values["pass@1"] == pytest.approx(ew.metrics.pass_at_k(4, 2, 1))


def test_a_stored_run_is_loaded_and_resumed(tasks: Path) -> None:
    report = ew.run(tasks, MODELS[0])
    again = ew.run(tasks, MODELS[0])

    assert again.summary.reused == 3
    assert ew.load(report.run_id).leaderboard == report.leaderboard


def test_a_report_is_markdown_and_json(tasks: Path) -> None:
    report = ew.run(tasks, MODELS)

    assert "## Leaderboard" in report.to_markdown()
    assert json.loads(report.to_json())["leaderboard"][0]["model"] == "scripted/oracle"


def test_no_tasks_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.jsonl", [])

    with pytest.raises(ew.EvalwrightError, match="no tasks"):
        ew.run(path, MODELS[0])
