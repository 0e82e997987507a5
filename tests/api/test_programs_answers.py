import asyncio
from pathlib import Path
from typing import Any

import pytest

import evalwright as ew
from evalwright.spec.records.fixtures import TASKS

SUM: dict[str, Any] = {
    "task_id": "sum",
    "category": "arithmetic",
    "prompt": "17 + 24 =",
    "targets": ["41"],
    "metric_name": "exact_match",
    "post_process": "strip_whitespace",
}
CODE = SUM | {
    "category": "code_exec",
    "metric_name": "code_exec",
    "post_process": "extract_code_block",
    "targets": ["double(2) == 4", "double(3) == 7"],
}
REPLY = "Here it is:\n```python\ndef double(x):\n    return 2 * x\n```"


def test_a_record_and_a_checked_record_are_scored_alike() -> None:
    assert ew.score_answer(SUM, " 41\n") == ew.score_answer(ew.validate_task(SUM), " 41\n")
    assert ew.score_answer(SUM, " 41\n").values == {"score": 1.0}


def test_the_score_is_that_of_a_run(tmp_path: Path) -> None:
    tasks = {task.task_id: task for task in ew.load_fixtures()}
    path = tmp_path / "tasks.jsonl"
    lines = [line for line in TASKS.read_text().splitlines() if '"code_exec"' not in line]
    path.write_text("\n".join(lines))

    report = ew.run(path, "scripted/echo", store="memory:")

    outcomes = list(report.samples())
    assert len(outcomes) == len(lines)
    for outcome in outcomes:
        assert outcome.trace is not None
        score = ew.score_answer(tasks[outcome.sample_id], outcome.trace.output)
        assert score == outcome.scores["record"]


def test_the_reason_says_what_was_compared() -> None:
    score = ew.score_answer(SUM, "42")

    assert (score.values["score"], score.correct) == (0.0, False)
    assert score.reason == "'42' against '41'"


def test_code_runs_in_the_sandbox() -> None:
    score = ew.score_answer(CODE, REPLY)

    assert (score.values, score.correct) == ({"score": 0.5}, False)
    assert score.metadata["outcome"] == "assertion_fail"
    assert score.metadata["targets"] == [True, False]
    assert score.reason.startswith("target 2 of 2")


def test_code_can_be_scored_where_an_event_loop_runs() -> None:
    async def score() -> ew.Score:
        return ew.score_answer(CODE, REPLY)

    assert asyncio.run(score()).values == {"score": 0.5}


def test_a_bad_record_is_refused() -> None:
    with pytest.raises(ew.InvalidTask, match="illegal_metric"):
        ew.score_answer(SUM | {"metric_name": "rouge_l"}, "41")


def test_a_target_that_does_not_compile_is_an_error_of_the_task() -> None:
    with pytest.raises(ValueError, match="target 1 of 1 does not compile"):
        ew.score_answer(CODE | {"targets": ["double(2) = 4"]}, REPLY)


def test_an_answer_is_text() -> None:
    with pytest.raises(TypeError, match="expected the answer as text, got 41"):
        ew.score_answer(SUM, 41)  # type: ignore[arg-type]
