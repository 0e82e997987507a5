import io
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.session.made import Jail, code, jailed_by, record, write_records

import evalwright as ew
from evalwright.api.programs import ProgramRequest, execute_file
from evalwright.errors import EvalwrightError, UnknownName, Unreadable, UsageError
from evalwright.plan.options import RunOptions
from evalwright.report.programs import JudgedProgram
from evalwright.types import Execution, Program

ADD = "def add(a, b):\n    return a + b\n"
THREE = "add(1, 2) == 3"


@pytest.fixture(autouse=True)
def _jail(monkeypatch: pytest.MonkeyPatch) -> None:
    jailed_by(monkeypatch, "Jail")


@pytest.fixture
def add(tmp_path: Path) -> str:
    path = tmp_path / "add.py"
    path.write_text(ADD)
    return str(path)


def describe_program(path: str, *targets: str, **given: Any) -> JudgedProgram:
    return execute_file(ProgramRequest(path=path, targets=targets, **given), RunOptions())


def test_a_program_is_judged_by_the_targets_that_are_given(add: str) -> None:
    found = describe_program(add, THREE, "add(1, 2) == 4")

    assert (found.outcome, found.targets) == ("assertion_fail", [True, False])
    assert (found.passed, found.total, found.texts) == (1, 2, [THREE, "add(1, 2) == 4"])
    assert found.detail == "target 2 of 2: evaluated to False"
    assert (found.tier, found.verified, found.packages) == ("namespaces+seccomp", True, [])
    assert (found.timeout_s, found.output) == (3.0, "")


def test_standard_input_can_be_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ADD.encode())))

    assert describe_program("-", THREE).outcome == "pass"


def test_a_record_gives_targets_time_and_rule(tmp_path: Path) -> None:
    (tmp_path / "reply.md").write_text(f"Here it is:\n```python\n{ADD}```\n")
    sum_of_two = {**code("sum", THREE, timeout_s=7), "post_process": "extract_code_block"}
    tasks = write_records(tmp_path / "tasks.jsonl", record("a"), sum_of_two)

    found = describe_program(
        str(tmp_path / "reply.md"), "add(0, 0) == 0", task=tasks, task_id="sum"
    )

    assert (found.outcome, found.timeout_s) == ("pass", 7.0)
    assert found.texts == [THREE, "add(0, 0) == 0"]


def test_what_is_said_counts_before_what_the_record_says(add: str, tmp_path: Path) -> None:
    sum_of_two = {**code("sum", THREE, timeout_s=7), "post_process": "extract_code_block"}
    tasks = write_records(tmp_path / "tasks.jsonl", sum_of_two)
    Path(add).write_text(f'"""```python\n1 / 0\n```"""\n{ADD}')

    found = describe_program(add, task=tasks, task_id="sum", timeout_s=5.0, post_process="none")

    assert (found.outcome, found.timeout_s) == ("pass", 5.0)


def test_a_target_that_does_not_compile_is_the_authors_mistake(add: str, tmp_path: Path) -> None:
    tasks = write_records(tmp_path / "tasks.jsonl", record("a"), code("sum", THREE, "add(1,"))

    with pytest.raises(UsageError, match=r"^target 1 of 1 does not compile: SyntaxError"):
        describe_program(add, "add(1,")
    with pytest.raises(UsageError, match=r"tasks\.jsonl:2: target 2 of 2 does not compile"):
        describe_program(add, task=tasks, task_id="sum")
    assert [jail.closed for jail in Jail.made] == [1, 1]


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        pytest.param({}, UsageError, "at least one target", id="no targets"),
        pytest.param({"task": "tasks.jsonl"}, UsageError, "together", id="half a record"),
        pytest.param({"task_id": "sum"}, UsageError, "together", id="the other half"),
        pytest.param(
            {"task": "nope.jsonl", "task_id": "sum"}, Unreadable, "no such file", id="no file"
        ),
        pytest.param(
            {"task": "tasks.jsonl", "task_id": "text"},
            UsageError,
            "tasks.jsonl:1: `text` is not a code_exec record",
            id="not about code",
        ),
        pytest.param(
            {"task": "tasks.jsonl", "task_id": "bad"},
            UsageError,
            "tasks.jsonl:3: missing_required: ",
            id="an invalid record",
        ),
        pytest.param(
            {"task": "tasks.jsonl", "task_id": "summ"},
            UnknownName,
            "tasks.jsonl: has no record `summ`",
            id="no such record",
        ),
        pytest.param({"path": "nope.py", "targets": ["1"]}, Unreadable, "nope.py", id="no program"),
        pytest.param(
            {"path": "binary.py", "targets": ["1"]}, Unreadable, "not UTF-8 text", id="no text"
        ),
    ],
)
def test_a_mistake_is_pointed_out_and_nothing_is_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    kind: type[UsageError],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_records(
        tmp_path / "tasks.jsonl", record("text"), code("sum", THREE), '{"task_id": "bad"}'
    )
    (tmp_path / "add.py").write_text(ADD)
    (tmp_path / "binary.py").write_bytes(b"x = '\xff'")

    with pytest.raises(kind) as refused:
        execute_file(ProgramRequest(**{"path": "add.py", **given}), RunOptions())

    assert said in str(refused.value)
    assert Jail.made == []


def test_an_unknown_record_gets_a_hint(add: str, tmp_path: Path) -> None:
    tasks = write_records(tmp_path / "tasks.jsonl", code("sum_of_two", THREE))

    with pytest.raises(UnknownName) as unknown:
        describe_program(add, task=tasks, task_id="sum_of_tow")

    assert unknown.value.hint == "did you mean `sum_of_two`?"


def test_the_options_of_a_run_hold_here_too(add: str) -> None:
    options = RunOptions(in_process_targets=True, sandbox_packages=("b", "a"))

    found = execute_file(ProgramRequest(path=add, targets=[THREE]), options)

    assert (found.verified, found.packages) == (False, ["a", "b"])
    assert [jail.closed for jail in Jail.made] == [1]


def test_without_a_sandbox_nothing_is_run(add: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jailed_by(monkeypatch, "no_jail")

    with pytest.raises(
        EvalwrightError, match="no sandbox that isolates programs is available"
    ) as refused:
        describe_program(add, THREE)

    assert refused.value.exit_code == 4


def test_an_evaluator_that_does_not_start_is_nobodys_wrong_answer(
    add: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def judge(_: Jail, program: Program) -> Execution:
        raise ChildProcessError(f"no process for {len(program.targets)} targets")

    monkeypatch.setattr(Jail, "judge", judge)

    with pytest.raises(EvalwrightError, match="no process for 1 targets") as refused:
        describe_program(add, THREE)

    assert refused.value.exit_code == 4
    assert [jail.closed for jail in Jail.made] == [1]


def test_a_text_is_judged_by_the_targets_that_are_given() -> None:
    result = ew.execute(ADD, [THREE, "add(1, 2) == 4"])

    assert (result.outcome, result.passed, result.total) == ("assertion_fail", 1, 2)
    assert (result.targets, result.timeout_s) == ([True, False], 3.0)
    assert result.detail == "target 2 of 2: evaluated to False"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        pytest.param({"targets": []}, ValueError, "`targets` is empty", id="no target"),
        pytest.param({"targets": THREE}, TypeError, "got one string: write", id="a text"),
        pytest.param({"targets": [THREE, ""]}, ValueError, "2 of 2 is empty", id="an empty target"),
        pytest.param({"targets": [" \n# x"]}, ValueError, "1 of 1 is empty", id="a comment alone"),
        pytest.param({"program": b"x"}, TypeError, "got b'x' - at `program`", id="bytes"),
        pytest.param({"targets": [1]}, TypeError, r"got 1 - at `targets\[0\]`", id="a number"),
        pytest.param({"timeout_s": 0}, ValueError, "at most 30 seconds, got `0`", id="no time"),
        pytest.param({"timeout_s": 31}, ValueError, "at most 30 seconds, got `31`", id="too long"),
        pytest.param({"timeout_s": math.nan}, ValueError, "got `nan`", id="NaN"),
        pytest.param({"targets": ["add(1"]}, ValueError, "does not compile", id="no Python"),
    ],
)
def test_a_request_that_cannot_be_is_refused(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ew.execute(**{"program": ADD, "targets": [THREE], **change})
