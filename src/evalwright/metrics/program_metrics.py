"""The metric for task records that runs a program: `ew.metrics.code_exec`.

It is separate from the text metrics, which need neither a sandbox nor an event loop.
"""

from collections.abc import Sequence

from evalwright.event_loop import run_async
from evalwright.metrics.answer_metrics import check_pair
from evalwright.ports import Sandbox
from evalwright.registry import load
from evalwright.types import Execution, Program
from evalwright.vocabulary import DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S


def code_exec(
    prediction: str, targets: Sequence[str], *, timeout_s: float = DEFAULT_TIMEOUT_S
) -> float:
    """Run the prediction as a Python program in the sandbox; return the share of passed targets.

    A program that does not compile, raises an exception or exceeds the time limit scores 0.
    `ew.execute` returns the reason.

    >>> program = "def add(a, b): return a + b"
    >>> ew.metrics.code_exec(program, ["add(1, 2) == 3", "add(1, 2) == 4"])
    0.5
    """
    check_pair(prediction, targets)
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ValueError(
            f"expected a timeout above 0 and at most {MAX_TIMEOUT_S} seconds, got `{timeout_s}`"
        )
    program = Program(source=prediction, targets=tuple(targets), timeout_s=timeout_s)
    execution = run_async(_judge(load("sandboxes", "jailed")(), program))
    return sum(execution.targets) / len(targets)


async def _judge(sandbox: Sandbox, program: Program) -> Execution:
    try:
        return await sandbox.judge(program)
    finally:
        await sandbox.close()
