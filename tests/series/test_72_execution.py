"""Lesson 72, code execution: a program runs in the sandbox and is checked against its targets."""

from pathlib import Path
from typing import Any

import pytest

import evalwright as ew

ADD = "def add(a, b):\n    return a + b\n"
CODE: dict[str, Any] = {
    "task_id": "add",
    "category": "code_exec",
    "prompt": "Write `add(a, b)`.",
    "targets": ["add(1, 2) == 3", "add('a', 'b') == 'ab'"],
    "metric_name": "code_exec",
    "post_process": "extract_code_block",
}


@pytest.mark.parametrize(
    ("program", "targets", "outcome", "verdicts"),
    [
        pytest.param(ADD, ["add(1, 2) == 3", "add(0, 0) == 0"], "pass", [1, 1], id="pass"),
        pytest.param(ADD, ["add(1, 2) == 4", "add(0, 0) == 0"], "assertion_fail", [0, 1], id="one"),
        pytest.param(
            ADD,
            ["x = add(1, 2)\nassert x == 3", "add(1, 'a')", "add(1, 1)"],
            "assertion_fail",
            [1, 0, 1],
            id="statements, an exception and a true value",
        ),
        pytest.param("def add(", ["True"], "syntax_error", [0], id="syntax error"),
        pytest.param("1 / 0", ["True", "True"], "error", [0, 0], id="an exception at the top"),
        pytest.param("raise SystemExit", ["True"], "error", [0], id="an exit"),
        pytest.param("while True: pass", ["True"], "timeout", [0], id="no end"),
        pytest.param("print('x' * 10**6)", ["True"], "error", [0], id="too much output"),
    ],
)
def test_an_outcome_has_a_name_and_a_verdict_per_target(
    program: str, targets: list[str], outcome: str, verdicts: list[int]
) -> None:
    result = ew.execute(program, targets, timeout_s=1 if outcome == "timeout" else 10)

    assert result.outcome == outcome
    assert result.targets == list(map(bool, verdicts))
    assert (result.passed, result.total) == (sum(verdicts), len(targets))
    assert bool(result.detail) is (outcome != "pass")


def test_a_target_that_does_not_compile_is_the_fault_of_the_task() -> None:
    with pytest.raises(ValueError, match="target 2 of 2 does not compile"):
        ew.execute(ADD, ["add(1, 2) == 3", "add(1, 2) = 3"])


def test_a_program_cannot_read_files_of_its_user(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("42")

    result = ew.execute(f"text = open({str(secret)!r}).read()", ["text == '42'"])

    assert result.outcome == "error"


def test_the_score_of_a_record_is_the_share_of_its_targets() -> None:
    half = ew.score_answer(CODE, "```python\ndef add(a, b): return int(a) + b\n```")
    whole = ew.score_answer(CODE, f"Sure:\n```python\n{ADD}```\nDone.")

    assert (half.values["score"], half.correct) == (0.5, False)
    assert (whole.values["score"], whole.correct) == (1.0, True)
    assert whole.metadata["outcome"] == "pass"


def test_a_record_sets_its_time_limit() -> None:
    slow = "import time\ntime.sleep(20)"
    score = ew.score_answer(CODE | {"metadata": {"timeout_s": 0.5}}, slow)

    assert (score.metadata["outcome"], score.values["score"]) == ("timeout", 0.0)
    assert "0.5 s" in score.reason


@pytest.mark.parametrize(
    ("n", "c", "k", "expected"),
    [(5, 3, 2, 0.9), (10, 0, 5, 0.0), (10, 10, 1, 1.0), (4, 3, 2, 1.0), (200, 20, 1, 0.1)],
)
def test_pass_at_k_is_unbiased(n: int, c: int, k: int, expected: float) -> None:
    assert ew.metrics.pass_at_k(n, c, k) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "c", "k"), [(0, 0, 1), (5, 6, 1), (5, 1, 6), (5, -1, 1), (5, 1, 0)])
def test_pass_at_k_of_what_cannot_be_is_an_error(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        ew.metrics.pass_at_k(n, c, k)
