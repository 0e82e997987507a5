"""Judge one program or one answer as a run would.

    execute         a program in a text, with its targets: `ew.execute(source, ["f(1) == 2"])`
    execute_file    a program in a file: `evalwright exec FILE`
    score_answer    an answer to a record: `ew.score_answer(task, "41")`

A program runs in the sandbox.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evalwright.errors import EvalwrightError, UnknownName, Unreadable, UsageError
from evalwright.event_loop import run_async
from evalwright.lines import BadLine, read_batches, read_lines, show_path
from evalwright.nearest import suggest
from evalwright.plan.options import RunOptions
from evalwright.ports import Sandbox, Unverified
from evalwright.report.programs import JudgedProgram, describe_program
from evalwright.report.report import CodeExecution
from evalwright.scorers.execution import score_program
from evalwright.scorers.record import score_text
from evalwright.session.sandboxes import open_sandbox
from evalwright.session.sandboxes import sandbox_packages as list_packages
from evalwright.spec.records.check import check_batches, validate_task
from evalwright.text.post_process import post_process
from evalwright.types import Execution, Program, Score, TaskSpec
from evalwright.vocabulary import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S


class ProgramRequest(NamedTuple):
    """What is to be judged, as the author says it. What is None is the record's, or the default."""

    path: str
    """The program's file; `-` is standard input."""
    targets: Sequence[str] = ()
    task: str | None = None
    """A task file, to take targets, time and post-process rule from its record `task_id`."""
    task_id: str | None = None
    timeout_s: float | None = None
    post_process: str | None = None


def execute(
    program: str,
    targets: Sequence[str],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    in_process_targets: bool = False,
    sandbox_packages: Sequence[str] = (),
    unsafe_code_exec: bool = False,
) -> JudgedProgram:
    """Run a Python program in the sandbox and check it against targets.

    A target is an expression that must be true, or statements that must not raise an exception. It
    can use the names that the program defines. The result contains the `outcome`, how many targets
    passed (`passed` out of `total`), which targets passed (`targets`) and why the others did not
    (`detail`). The `outcome` is `pass`, `assertion_fail`, `refused`, `syntax_error`, `timeout` or
    `error`; for the last three, every target counts as failed. `refused` means that a target passed
    in the program's own process, but the check outside that process contradicts the pass.

    `timeout_s` limits the total time for the program and its targets: 3 seconds by default, at most
    30. The other options are the same as those of `run`. A target that is empty or does not compile
    raises `ValueError`.

    >>> program = "def add(a, b): return a + b"
    >>> result = ew.execute(program, ["add(1, 2) == 3", "assert add(1, 2) == 4"])
    >>> result.outcome, result.passed, result.total, result.targets
    ('assertion_fail', 1, 2, [True, False])
    >>> result.detail
    'target 2 of 2: AssertionError'
    """
    options = RunOptions(
        in_process_targets=in_process_targets,
        sandbox_packages=tuple(sandbox_packages),
        unsafe_code_exec=unsafe_code_exec,
    )
    return _execute(_check_program(program, targets, timeout_s), options)


def _check_program(program: str, targets: Sequence[str], timeout_s: float) -> Program:
    if isinstance(targets, str):
        raise TypeError(f"expected a list of targets, got one string: write [{targets[:40]!r}]")
    if not len(targets):
        raise ValueError("expected at least 1 target, got none: `targets` is empty")
    for name, text in (
        ("program", program),
        *((f"targets[{n}]", t) for n, t in enumerate(targets)),
    ):
        if not isinstance(text, str):
            raise TypeError(f"expected a string, got {text!r} - at `{name}`")
    _refuse_empty_targets(targets)
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ValueError(
            f"expected a timeout above 0 and at most {MAX_TIMEOUT_S} seconds, got `{timeout_s}`"
        )
    return Program(source=program, targets=tuple(targets), timeout_s=timeout_s)


def _refuse_empty_targets(targets: Sequence[str]) -> None:
    """Refuse targets without code, which every program would pass."""
    for number, target in enumerate(targets, start=1):
        if not any(
            line.strip() and not line.lstrip().startswith("#") for line in target.split("\n")
        ):
            raise ValueError(
                f"target {number} of {len(targets)} is empty: expected an expression that must be "
                "true, such as `add(1, 2) == 3`"
            )


def execute_file(
    request: ProgramRequest, options: RunOptions, *, tell: Callable[[str], None] = lambda _: None
) -> JudgedProgram:
    """Judge the program in a file; raise `UsageError` if a target is empty or does not compile."""
    program, where = _program(request)
    try:
        _refuse_empty_targets(program.targets)
        return _execute(program, options, tell=tell)
    except ValueError as error:
        raise UsageError(f"{where}{error}") from error


def _execute(
    program: Program, options: RunOptions, *, tell: Callable[[str], None] = lambda _: None
) -> JudgedProgram:
    sandbox = open_sandbox(options, tell=tell)
    try:
        execution = run_async(_judge(sandbox, program))
    except (ChildProcessError, Unverified) as error:
        raise EvalwrightError(str(error)) from error
    packages = list(list_packages(options))
    held = CodeExecution(tier=sandbox.tier, verified=sandbox.verified, packages=packages)
    return describe_program(program, execution, held)


async def _judge(sandbox: Sandbox, program: Program) -> Execution:
    try:
        return await sandbox.judge(program)
    finally:
        await sandbox.close()


def _program(request: ProgramRequest) -> tuple[Program, str]:
    """And where its targets stand, for an error."""
    record, where = _record(request)
    targets = (*(record.targets if record else ()), *request.targets)
    if not targets:
        raise UsageError(
            "a program needs at least one target",
            hint="--target 'add(1, 2) == 3', or --task FILE.jsonl --id ID",
        )
    rule = request.post_process or (record.post_process if record else "none")
    default = record.timeout_s if record else DEFAULT_TIMEOUT_S
    program = Program(
        source=post_process(_source(request.path), rule),
        targets=targets,
        timeout_s=request.timeout_s or default,
    )
    return program, where


def _source(path: str) -> str:
    lines = list(read_lines(path))
    text = b"\xff" if any(isinstance(line, BadLine) for line in lines) else b"\n".join(lines)
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise Unreadable(f"{show_path(path)}: not UTF-8 text") from None


def _record(request: ProgramRequest) -> tuple[TaskSpec | None, str]:
    if request.task is None and request.task_id is None:
        return None, ""
    if request.task is None or request.task_id is None:
        raise UsageError("use `--task FILE.jsonl` and `--id ID` together")
    ids = []
    for number, item in check_batches(read_batches(request.task)):
        if item.task_id == request.task_id and isinstance(item, TaskSpec):
            if item.category != "code_exec":
                raise UsageError(
                    f"{request.task}:{number}: `{item.task_id}` is not a code_exec record"
                )
            return item, f"{request.task}:{number}: "
        if item.task_id == request.task_id and not isinstance(item, TaskSpec):
            raise UsageError(f"{request.task}:{number}: {item.rule}: {item.detail}")
        ids.append(item.task_id or "")
    raise UnknownName(
        f"{request.task}: has no record `{request.task_id}`", hint=suggest(request.task_id, ids)
    )


def score_answer(
    task: TaskSpec | Mapping[str, Any],
    text: str,
    *,
    in_process_targets: bool = False,
    sandbox_packages: Sequence[str] = (),
    unsafe_code_exec: bool = False,
) -> Score:
    r"""Score one answer as a run does: apply the post-process rule, then the metric.

    `values["score"]` is in [0, 1]. `correct` says whether the answer counts as right, and `reason`
    explains a score below 1. A `code_exec` answer runs in the sandbox, and `metadata` contains its
    outcome. The options are the same as those of `execute`.

    A record that breaks a rule raises `InvalidTask`. A target that does not compile raises
    `ValueError`.

    >>> task = {
    ...     "task_id": "sum",
    ...     "category": "arithmetic",
    ...     "prompt": "17 + 24 =",
    ...     "targets": ["41"],
    ...     "metric_name": "exact_match",
    ...     "post_process": "strip_whitespace",
    ... }
    >>> ew.score_answer(task, " 41\n").values
    {'score': 1.0}
    >>> score = ew.score_answer(task, "42")
    >>> score.correct, score.reason
    (False, "'42' against '41'")
    """
    record = task if isinstance(task, TaskSpec) else validate_task(task)
    if not isinstance(text, str):
        raise TypeError(f"expected the answer as text, got {text!r}")
    answer = post_process(text, record.post_process)
    if record.metric_name != "code_exec":
        return score_text(record, answer, log_likelihoods={})
    options = RunOptions(
        in_process_targets=in_process_targets,
        sandbox_packages=tuple(sandbox_packages),
        unsafe_code_exec=unsafe_code_exec,
    )
    sandbox = open_sandbox(options, tell=lambda _: None)
    program = Program(source=answer, targets=record.targets, timeout_s=record.timeout_s)
    try:
        return run_async(_score_program(sandbox, program))
    except ChildProcessError as error:
        raise EvalwrightError(str(error)) from error


async def _score_program(sandbox: Sandbox, program: Program) -> Score:
    try:
        return await score_program(sandbox, program)
    finally:
        await sandbox.close()
