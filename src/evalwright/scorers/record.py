"""`record`: score a record of contract A by its `metric_name`.

The value is called `score` and lies in [0, 1]. `correct` says whether it counts as right for
calibration and pass@k: full marks for the exact metrics, 0.5 and above for the graded ones.
An answer that was chosen by likelihood has the probability of each option beside its score.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from evalwright.ports import Case
from evalwright.stats.likelihood import shares
from evalwright.text import bleu_4, exact_match, f1, rouge_l
from evalwright.types import Execution, Program, Sample, Score, TaskSpec
from evalwright.vocabulary import EXACT_METRICS, GRADED_CORRECT_FROM

TEXT_METRICS: dict[str, Callable[[str, Sequence[str]], float]] = {
    "exact_match": exact_match.score,
    "accuracy": exact_match.score,
    "f1": f1.score,
    "bleu_4": bleu_4.score,
    "rouge_l": rouge_l.score,
}


class RecordScorer:
    """Dispatch on `metric_name`."""

    name = "record"
    version = 2

    def reads(self, sample: Sample) -> str:
        """Rule, metric, targets and time."""
        task = sample.data
        parts = (task.post_process, task.metric_name, task.targets, task.timeout_s)
        return msgspec.json.encode(parts).decode()

    def revised(self, score: Score) -> Score:
        """As it was stored."""
        return score

    async def score(self, case: Case) -> Score:
        """Score the post-processed answer; raise when the task itself is at fault."""
        task, answer = case.sample.data, case.trace.post_processed
        if task.metric_name == "code_exec":
            return await self._execute(case, answer)
        value = TEXT_METRICS[task.metric_name](answer, task.targets)
        weighed = case.trace.options
        return Score(
            values={"score": value},
            correct=is_correct(task, value),
            reason="" if value == 1 else f"{_short(answer)} against {_short(task.targets[0])}",
            metadata={"options": shares(weighed)} if weighed else {},
        )

    async def _execute(self, case: Case, source: str) -> Score:
        if case.sandbox is None:
            raise ValueError("a code_exec record needs a sandbox, and there is none")
        task = case.sample.data
        program = Program(source=source, targets=task.targets, timeout_s=task.timeout_s)
        execution = await case.sandbox.judge(program)
        value = sum(execution.targets) / len(execution.targets)
        return Score(
            values={"score": value},
            correct=execution.outcome == "pass",
            reason=execution.detail or ("" if value == 1 else execution.outcome),
            metadata=_facts(execution, tier=case.sandbox.tier, verified=case.sandbox.verified),
        )


def is_correct(task: TaskSpec, value: float) -> bool:
    """Whether a score counts as right."""
    return value >= (1 if task.metric_name in EXACT_METRICS else GRADED_CORRECT_FROM)


def _facts(execution: Execution, *, tier: str, verified: bool) -> dict[str, Any]:
    return {
        "outcome": execution.outcome,
        "passed": sum(execution.targets),
        "total": len(execution.targets),
        "targets": list(execution.targets),
        "detail": execution.detail,
        "tier": tier,
        "verified": verified,
    }


def _short(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else f"{text[:limit]}…")
