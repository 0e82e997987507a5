"""`record`: score a task record by its `metric_name`.

The value is called `score` and is in [0, 1]. `correct` tells whether the answer counts as correct
for calibration and pass@k. It is true for a score of 1 with exact metrics, and for a score of at
least 0.5 with graded metrics. If the answer was chosen by likelihood, the score also contains the
probability of each option.
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
"""Increase the version of a metric with every change that affects only the scores of that
metric."""


class RecordScorer(Scorer):
    """Scores an answer by the `metric_name` of the record."""

    name = "record"
    version = 2

    def describe_inputs(self, sample: Sample) -> str:
        """Return the post-process rule, the metric with its version, targets and time limit."""
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
        return score_text(task, answer, log_likelihoods=case.trace.options)


def score_text(task: TaskSpec, answer: str, *, log_likelihoods: Mapping[str, float]) -> Score:
    """Score a post-processed answer by a metric that compares texts.

    `log_likelihoods` has the log-likelihood of each option if the answer was chosen by likelihood.
    """
    value = TEXT_METRICS[task.metric_name](answer, task.targets)
    metadata: dict[str, Any] = {"options": shares(log_likelihoods)} if log_likelihoods else {}
    if value == 0 and task.metric_name in EXACT_METRICS:
        metadata |= {CONTAINS_TARGET: True} if contains_target(answer, task.targets) else {}
    return Score(
        values={"score": value},
        correct=is_correct(task, value),
        reason="" if value == 1 else f"{_short(answer)} against {_short(task.targets[0])}",
        metadata=metadata,
    )


def is_correct(task: TaskSpec, value: float) -> bool:
    """Whether a score counts as correct."""
    return value >= (1 if task.metric_name in EXACT_METRICS else GRADED_CORRECT_FROM)


def _short(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else f"{text[:limit]}…")
