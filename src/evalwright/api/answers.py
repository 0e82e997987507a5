"""Score one answer to a record: `ew.score_answer(task, "41")`."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalwright.errors import EvalwrightError
from evalwright.event_loop import run_async
from evalwright.plan.options import RunOptions
from evalwright.ports import Sandbox
from evalwright.scorers.execution import score_program
from evalwright.scorers.record import score_text
from evalwright.session.sandboxes import open_sandbox
from evalwright.spec.records.check import validate_task
from evalwright.text.post_process import post_process
from evalwright.types import Program, Score, TaskSpec


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
