"""Requirements that a report must meet in a test, and why it does not.

Every sample must have completed. The first metric of a task with a model must reach a minimum, if
there is one, and the policies must hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import NamedTuple

from evalwright.report.policies import compare
from evalwright.report.report import MetricRow, PolicyRow, Report
from evalwright.report.tables import count_noun, join_lines, truncate
from evalwright.text.visible import visible
from evalwright.types import Outcome, first_number

_MOST_SAMPLES = 3
_LONGEST_TEXT = 300


class UnmetRequirement(NamedTuple):
    """A requirement that a task with a model does not meet."""

    reason: str
    """Why, with the interval if it is about a mean."""
    task: str = ""
    model: str = ""
    scorer: str = ""
    """The scorer of the mean; empty if the requirement is not about one."""
    min_mean: float | None = None


def find_unmet(
    report: Report,
    *,
    task: str = "",
    min_mean: float | None = None,
    strict: bool = False,
    policies: Sequence[PolicyRow] = (),
) -> list[UnmetRequirement]:
    """Return what a report, or one of its tasks, does not meet."""
    if report.status in {"stopped", "failed"}:
        reason = f"the run is not finished ({report.status}; done: {report.summary.samples})"
        return [UnmetRequirement("; ".join([reason, *report.notes]))]
    unmet = [*_find_missing_metrics(report, task)]
    for name in [task] if task else report.tasks:
        rows: dict[str, list[MetricRow]] = {}
        for row in report.metrics:
            if row.task == name:
                rows.setdefault(row.model, []).append(row)
        for model, own in rows.items():
            unmet += _find_failed(report, name, model, own)
            if min_mean is not None:
                unmet += _find_low_mean(name, model, own, min_mean, strict=strict)
        if not rows and not unmet:
            unmet.append(UnmetRequirement("no metric was measured", name))
    return unmet + [each for row in policies for each in _find_broken_policy(row, task)]


def _find_missing_metrics(report: Report, task: str) -> Iterator[UnmetRequirement]:
    """Yield the failures that no sample is to blame for."""
    for failure in report.failures:
        if not failure.sample_ids and (not task or failure.task in {"", task}):
            yield UnmetRequirement(failure.message, failure.task, failure.model, failure.scorer)


def _find_failed(
    report: Report, task: str, model: str, rows: Sequence[MetricRow]
) -> Iterator[UnmetRequirement]:
    if failed := max(row.failed for row in rows):
        messages = [row.message for row in report.failures if row.model == model and row.sample_ids]
        message = f": {messages[0]}" if messages else ""
        yield UnmetRequirement(f"{count_noun(failed, 'sample')} failed{message}", task, model)


def _find_low_mean(
    task: str, model: str, rows: Sequence[MetricRow], min_mean: float, *, strict: bool
) -> Iterator[UnmetRequirement]:
    row = next((row for row in rows if row.purpose == "score"), None)
    if row is None:
        yield UnmetRequirement("no metric has `purpose: score`", task, model)
        return
    verdict = compare(row, ">=", min_mean, strict=strict)
    if not verdict.meets:
        reason = f"{row.scorer}, {row.metric}: {verdict.reason}"
        yield UnmetRequirement(reason, task, model, row.scorer, min_mean)


def _find_broken_policy(row: PolicyRow, task: str) -> Iterator[UnmetRequirement]:
    if row.holds:
        return
    figures = [figure for figure in row.figures if not figure.meets]
    if task and figures and task not in {figure.task for figure in figures}:
        return
    tasks = {figure.task for figure in figures}
    models = {figure.model for figure in figures}
    yield UnmetRequirement(
        f"policy {row.policy}/{row.rule}, {row.demand}: {row.reason}",
        task or (tasks.pop() if len(tasks) == 1 else ""),
        models.pop() if len(models) == 1 else "",
    )


def describe_unmet(
    report: Report, unmet: Sequence[UnmetRequirement], *, store: str | None = ""
) -> str:
    """Return the text of a failed test: every requirement that is not met, and the worst samples.

    `store` is where the run is, if commands do not look there by default. None: no command can
    read it.
    """
    lines = [f"run {report.run_id} does not meet its requirements"]
    lines += [f"  {_place(each.task, each.model)}{each.reason}" for each in unmet]
    if worst := _find_worst(report, unmet):
        lines.append("worst samples:")
        lines += [line for outcome in worst for line in _describe_sample(outcome)]
        at = f" --store {store}" if store else ""
        selection = "--failed" if worst[0].failure else "--wrong"
        if store is not None:
            lines.append(f"all of them: evalwright show {report.run_id} {selection}{at}")
    return visible("\n".join(lines))


def _place(task: str, model: str) -> str:
    names = ", ".join(filter(None, (task, model)))
    return f"{names}: " if names else ""


def _find_worst(report: Report, unmet: Iterable[UnmetRequirement]) -> list[Outcome]:
    """Return the samples with a failure or the lowest scores, among those that are not right."""
    scorers = {(each.task, each.model): each for each in unmet}

    def find_requirement(outcome: Outcome) -> UnmetRequirement | None:
        names = ((outcome.task, outcome.model), (outcome.task, ""), ("", outcome.model), ("", ""))
        return next((scorers[name] for name in names if name in scorers), None)

    def is_bad(outcome: Outcome) -> bool:
        if (requirement := find_requirement(outcome)) is None:
            return False
        score = _read_score(outcome, requirement.scorer)
        minimum = requirement.min_mean
        if minimum is None:
            return outcome.failure is not None or outcome.is_wrong
        return outcome.failure is not None or (score is not None and score < minimum)

    def rank(outcome: Outcome) -> tuple[bool, float]:
        requirement = find_requirement(outcome)
        score = _read_score(outcome, requirement.scorer if requirement else "")
        return outcome.failure is None, 0.0 if score is None else score

    return nsmallest(_MOST_SAMPLES, filter(is_bad, report.samples()), key=rank)


def _read_score(outcome: Outcome, scorer: str) -> float | None:
    score = outcome.scores.get(scorer)
    return first_number(score.values) if score is not None else outcome.score


def _describe_sample(outcome: Outcome) -> Iterator[str]:
    yield f"  {_place(outcome.task, outcome.model)}sample {outcome.sample_id}"
    if outcome.trace is not None and outcome.trace.input:
        yield f"    input: {_shorten(outcome.trace.input)}"
    elif outcome.sample:
        yield f"    sample: {_shorten(str(outcome.sample))}"
    if outcome.trace is not None:
        yield f"    output: {_shorten(outcome.output)}"
    for name, score in outcome.scores.items():
        values = ", ".join(f"{key} {value}" for key, value in score.values.items())
        reason = f" ({_shorten(score.reason)})" if score.reason else ""
        yield f"    {name}: {_shorten(values)}{reason}"
    if outcome.failure is not None:
        yield f"    failed: {_shorten(outcome.failure.message)}"


def _shorten(text: str) -> str:
    return truncate(join_lines(text), _LONGEST_TEXT)
