"""`record`: score a record of contract A by its `metric_name`.

The value is called `score` and lies in [0, 1]. `correct` is whether it counts as right for
calibration and pass@k: full marks for the exact metrics, 0.5 and above for the graded ones.
An answer that was chosen by likelihood also has the probability of each option.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from evalwright.ports import Case, Scorer
from evalwright.scorers.execution import EXECUTION_VERSION, score_program
from evalwright.stats.likelihood import shares
from evalwright.text.similarity import bleu_4, contains_target, exact_match, f1, rouge_l
from evalwright.types import CONTAINS_TARGET, Program, Sample, Score, TaskSpec
from evalwright.vocabulary import EXACT_METRICS, GRADED_CORRECT_FROM

TEXT_METRICS: dict[str, Callable[[str, Sequence[str]], float]] = {
    "exact_match": exact_match,
    "accuracy": exact_match,
    "f1": f1,
    "bleu_4": bleu_4,
    "rouge_l": rouge_l,
}


METRIC_VERSIONS = {"f1": 2, "rouge_l": 2, "code_exec": EXECUTION_VERSION}
"""The version of a metric increases with every change that could change its scores alone."""


class RecordScorer(Scorer):
    """Scores by the `metric_name` of the record."""

    name = "record"
    version = 2

    def describe_inputs(self, sample: Sample) -> str:
        """Return the rule, the metric with its version, the targets and the time limit."""
        task = sample.data
        parts: tuple[Any, ...] = (
            *(task.post_process, task.metric_name, task.targets, task.timeout_s),
            *((version,) if (version := METRIC_VERSIONS.get(task.metric_name)) else ()),
        )
        return msgspec.json.encode(parts).decode()

    async def score(self, case: Case) -> Score:
        """Score the post-processed answer; raise if the task itself is invalid."""
        task, answer = case.sample.data, case.trace.post_processed
        if task.metric_name == "code_exec":
            program = Program(source=answer, targets=task.targets, timeout_s=task.timeout_s)
            return await score_program(case.sandbox, program)
        return score_text(task, answer, weighed=case.trace.options)


def score_text(task: TaskSpec, answer: str, *, weighed: Mapping[str, float]) -> Score:
    """Score a post-processed answer by a metric that compares texts.

    `weighed` is the log-likelihood of each option, where the answer was chosen by that.
    """
    value = TEXT_METRICS[task.metric_name](answer, task.targets)
    metadata: dict[str, Any] = {"options": shares(weighed)} if weighed else {}
    if value == 0 and task.metric_name in EXACT_METRICS:
        metadata |= {CONTAINS_TARGET: True} if contains_target(answer, task.targets) else {}
    return Score(
        values={"score": value},
        correct=is_correct(task, value),
        reason="" if value == 1 else f"{_short(answer)} against {_short(task.targets[0])}",
        metadata=metadata,
    )


def is_correct(task: TaskSpec, value: float) -> bool:
    """Whether a score counts as right."""
    return value >= (1 if task.metric_name in EXACT_METRICS else GRADED_CORRECT_FROM)


def _short(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else f"{text[:limit]}…")
