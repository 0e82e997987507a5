"""Calibration of a project: answers that came with a confidence, and a scorer that says right.

A project may have many scorers. An answer is right or wrong as the first of its task says that can
(`string_equals`, `string_equals_mcqa`, `function_call_coverage`, a classifying judge, a scorer in
Python that gives `is_correct`) and that is no check of the samples (`purpose: qa`). What rules took
out of the metrics is out of this, too.
Does not: judge the parts that a postprocessor makes of an answer: the confidence is of the whole.
"""

from collections.abc import Iterable, Sequence
from zlib import crc32

from evalwright.report.calibration import Answers, calibration_of
from evalwright.report.calibration_rows import CalibrationRow
from evalwright.report.report import MetricRow
from evalwright.types import Outcome

_ORDINAL_BITS = 31


def project_calibration(
    outcomes: Iterable[Outcome],
    metrics: Sequence[MetricRow],
    *,
    bins: int,
    seed: int,
    calibrate: bool,
) -> dict[str, CalibrationRow]:
    """Of each model that gave confidences; `metrics` are those of the report."""
    checks = {(row.task, row.scorer) for row in metrics if row.purpose == "qa"}
    found: dict[str, Answers] = {}
    for one in outcomes:
        answers = found.setdefault(one.model, Answers())
        answers.outcomes += 1
        verdict = _verdict(one, checks)
        if verdict is not None and one.trace is not None and one.trace.confidence is not None:
            answers.confidences.append(one.trace.confidence)
            answers.verdicts.append(verdict)
            answers.places.append(crc32(one.task.encode()) << _ORDINAL_BITS | one.ordinal)
    return {
        model: calibration_of(answers, bins=bins, seed=seed, calibrate=calibrate)
        for model, answers in found.items()
        if answers.confidences
    }


def _verdict(outcome: Outcome, checks: set[tuple[str, str]]) -> bool | None:
    undecided = outcome.failure is not None and outcome.failure.stage == "action"
    if outcome.actions or undecided:
        return None
    said = (
        score.correct
        for name, score in outcome.scores.items()
        if score.correct is not None and (outcome.task, name) not in checks
    )
    return next(said, None)
