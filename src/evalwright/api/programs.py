"""Judge one program as the scorer would: for authors who debug a task."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evalwright.errors import EvalwrightError, UnknownName, Unreadable, UsageError
from evalwright.lines import BadLine, read_batches, read_lines, show_path
from evalwright.nearest import suggest
from evalwright.plan.options import RunOptions
from evalwright.ports import Sandbox
from evalwright.report.programs import JudgedProgram, describe_program
from evalwright.report.report import CodeExecution
from evalwright.session.event_loop import run_async
from evalwright.session.sandboxes import open_sandbox, sandbox_packages
from evalwright.spec.records.check import check_batches
from evalwright.text.post_process import post_process
from evalwright.types import Execution, Program, TaskSpec
from evalwright.vocabulary import DEFAULT_TIMEOUT_S


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
    request: ProgramRequest, options: RunOptions, *, tell: Callable[[str], None] = lambda _: None
) -> JudgedProgram:
    """What becomes of it. A target that does not compile is a `UsageError`."""
    program, where = _program(request)
    sandbox = open_sandbox(options, tell=tell)
    try:
        execution = run_async(_judge(sandbox, program))
    except ValueError as error:
        raise UsageError(f"{where}{error}") from error
    except ChildProcessError as error:
        raise EvalwrightError(str(error)) from error
    packages = list(sandbox_packages(options))
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
