"""`evalwright exec`, as an author runs it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import in_process

from evalwright.spec.records.fixtures import TASKS

ADD = "def add(a, b):\n    return a + b\n"
THREE = ("--target", "add(1, 2) == 3")


def judge(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return in_process.evalwright("exec", *arguments, cwd=cwd, stdin=stdin)


def judge_json(*arguments: str, cwd: Path, stdin: str = "", exit_code: int = 0) -> Any:
    done = judge(*arguments, "--json", cwd=cwd, stdin=stdin)
    assert done.returncode == exit_code, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "add.py").write_text(ADD)
    (tmp_path / "tasks.jsonl").write_bytes(TASKS.read_bytes())
    return tmp_path


def test_a_program_that_passes_is_exit_0(folder: Path) -> None:
    done = judge("add.py", *THREE, "--target", "assert add(0, 0) == 0", cwd=folder)

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "pass: 2 of 2 targets passed",
        "  passed  add(1, 2) == 3",
        "  passed  assert add(0, 0) == 0",
    ]
    assert lines[3].startswith("time: 0.")
    assert lines[3].endswith(" s of 3 s")
    assert lines[4] in {
        "sandbox: namespaces+seccomp, verified",
        "sandbox: landlock+seccomp, verified",
    }


def test_a_program_that_does_not_is_exit_1_and_says_why(folder: Path) -> None:
    done = judge("add.py", *THREE, "--target", "add(1, 2) == 4", cwd=folder)

    assert done.returncode == 1
    assert done.stdout.startswith(
        "assertion_fail: 1 of 2 targets passed\n"
        "  target 2 of 2: evaluated to False\n"
        "  passed  add(1, 2) == 3\n"
        "  failed  add(1, 2) == 4\n"
    )


def test_json_has_what_an_outcome_of_a_run_has_and_more(folder: Path) -> None:
    found = judge_json("add.py", *THREE, cwd=folder)

    assert list(found) == [
        *("outcome", "passed", "total", "targets", "detail", "tier", "verified", "reason"),
        *("packages", "output", "duration_s", "timeout_s", "texts"),
    ]
    assert (found["outcome"], found["targets"], found["verified"]) == ("pass", [True], True)


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        pytest.param("def add(:", "syntax_error", id="no Python"),
        pytest.param("raise ValueError('no')", "error", id="raises"),
        pytest.param("while True: pass", "timeout", id="never ends"),
    ],
)
def test_every_other_end_is_exit_1_too(folder: Path, source: str, outcome: str) -> None:
    found = judge_json("-", *THREE, "--timeout", "0.5", cwd=folder, stdin=source, exit_code=1)

    assert (found["outcome"], found["targets"]) == (outcome, [False])
    assert found["detail"]


def test_output_is_shown_and_cannot_move_the_cursor(folder: Path) -> None:
    done = judge("-", *THREE, cwd=folder, stdin=f"print('\\x1b[2J hello')\n{ADD}")

    assert "output:\n  \\x1b[2J hello\n" in done.stdout


def test_a_reply_of_a_model_is_judged_as_a_run_would(folder: Path) -> None:
    reply = f"Sure:\n```python\n{ADD}```\nDone."

    found = judge_json("-", *THREE, "--post-process", "extract_code_block", cwd=folder, stdin=reply)

    assert found["outcome"] == "pass"


def test_a_record_is_tried_with_its_own_targets(folder: Path) -> None:
    task = next(
        json.loads(line)
        for line in TASKS.read_text().splitlines()
        if '"category": "code_exec"' in line
    )
    record = ("--task", "tasks.jsonl", "--id", task["task_id"])

    right = judge_json("-", *record, cwd=folder, stdin=task["metadata"]["solution"])
    wrong = judge_json("-", *record, cwd=folder, stdin="", exit_code=1)

    assert (right["outcome"], right["texts"]) == ("pass", task["targets"])
    assert wrong["outcome"] == "assertion_fail"


def test_in_its_own_process_a_program_can_lie_and_this_is_said(folder: Path) -> None:
    liar = "class Any:\n    __eq__ = lambda a, b: True\ndef add(a, b): return Any()"

    honest = judge_json("-", *THREE, cwd=folder, stdin=liar, exit_code=1)
    fooled = judge_json("-", *THREE, "--in-process-targets", cwd=folder, stdin=liar)

    assert (honest["outcome"] == "pass", honest["verified"]) == (False, True)
    assert (fooled["outcome"], fooled["verified"]) == ("pass", False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["add.py"], "--target 'add(1, 2) == 3'", id="no targets"),
        pytest.param(["add.py", "--target", "add(1,"], "target 1 of 1 does not", id="no Python"),
        pytest.param(["add.py", "--target", ""], "target 1 of 1 is empty", id="an empty target"),
        pytest.param(["nope.py", *THREE], "nope.py: no such file", id="no program"),
        pytest.param(["add.py", "--task", "tasks.jsonl"], "together", id="no id"),
        pytest.param(
            ["add.py", "--task", "tasks.jsonl", "--id", "arith_001"],
            "is not a code_exec",
            id="no code",
        ),
        pytest.param(
            ["add.py", "--task", "tasks.jsonl", "--id", "code_01"], "did you mean", id="no record"
        ),
        pytest.param(["add.py", *THREE, "--timeout", "0"], "--timeout", id="no time"),
        pytest.param(["add.py", *THREE, "--timeout", "31"], "--timeout", id="too much time"),
        pytest.param(
            ["add.py", *THREE, "--sandbox-package", "no_such"], "not installed", id="no package"
        ),
    ],
)
def test_wrong_use_is_exit_2(folder: Path, arguments: list[str], said: str) -> None:
    done = judge(*arguments, cwd=folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
