"""An evaluation of task documents to a Report.

The figures were made when the last sample of each task was in, and are kept with the run: a python
metric is the author's code, and a report that is only read again must not run it. Counts, usage and
failures come from the rows; calibration from the outcomes, if a row has a confidence at all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from evalwright._version import __version__
from evalwright.engine.finish import Finished, names_of
from evalwright.plan.documents import DocumentPlan
from evalwright.report.build import Facts, status_of, unfinished
from evalwright.report.confidences import project_calibration
from evalwright.report.counting import Counts
from evalwright.report.failures import Kinds, count, failure_rows
from evalwright.report.repeatability import agreement_rows, flaky_rows, repeat_rows
from evalwright.report.report import (
    FailureRow,
    MetricRow,
    Report,
    RuleRow,
    Summary,
)
from evalwright.report.usage import Account, usage_rows
from evalwright.types import Outcome, Row


class Ended(Struct, frozen=True, kw_only=True):
    """One task with one model, and what came of it."""

    task: str
    model: str
    finished: Finished


def build_evaluation_report(
    plan: DocumentPlan,
    rows: Iterable[Row],
    facts: Facts,
    *,
    ended: Sequence[Ended] | None,
    samples: Callable[..., Iterator[Outcome]],
) -> Report:
    """One frozen report of an evaluation; `ended` is None if what comes last was not done."""
    unended, ended = ended is None, ended or ()
    counts = Counts(plan)
    sure: set[str] = set()
    account, kinds, landed, failed = _counted(counts.seen(rows), sure)
    if unended:
        account.landed(samples())
    for one in ended:
        account.ended(one.finished)
    broken = [
        FailureRow(
            model=one.model,
            stage=what.stage,
            type=what.failure.type,
            message=f"{one.task}: {what.failure.message}",
            hint=what.failure.hint,
            count=1,
            sample_ids=[],
            task=one.task,
            scorer=what.scorer,
            metric=what.metric,
        )
        for one in ended
        for what in one.finished.broken
    ]
    stopped = facts.stopped and (landed < plan.total or unended)
    stopped = stopped or any(one.finished.stopped for one in ended)
    repeats = {task.name: task.repeats for task in plan.tasks}
    metrics = [row for one in ended for row in _metrics(one)]
    return Report(
        run_id=facts.run_id,
        status=status_of(failed=failed + len(broken), stopped=stopped),
        models=[name for name in plan.models if name],
        tasks=[task.name for task in plan.tasks],
        metrics=metrics,
        leaderboard=[],
        pairwise=[],
        calibration=project_calibration(
            samples() if sure and not unended else (),
            metrics,
            bins=facts.bins,
            seed=facts.seed,
            calibrate=facts.calibrate,
        ),
        perplexity={},
        usage=usage_rows(account.answers),
        asked_beside=usage_rows(account.beside),
        summary=Summary(
            samples=counts.samples,
            completed=counts.samples - counts.failed,
            reused=facts.reused,
            failed=counts.failed,
            excluded=sum(one.finished.left_out for one in ended),
            wall_seconds=round(facts.wall_seconds, 3),
            trials=counts.trials,
            flaky=sum(one.finished.all_flaky for one in ended),
        ),
        failures=[*failure_rows(kinds, samples(failed=True) if failed else iter(())), *broken],
        left_out=[],
        rules=[
            RuleRow(task=one.task, model=one.model, rule=rule, excluded=count)
            for one in ended
            for rule, count in one.finished.excluded.items()
        ],
        code_execution=None,
        notes=[
            *facts.notes,
            *_noted(ended),
            *_stopped_before(ended),
            *_unfinished(plan.total, landed, facts, unended=unended, noun=counts.noun),
        ],
        version=__version__,
        kind="evaluation",
        repeatability=[row for one in ended for row in repeat_rows(one)],
        agreement=[row for one in ended for row in agreement_rows(one, repeats[one.task])],
        flaky=[row for one in ended for row in flaky_rows(one)],
        stored=samples,
    )


def _noted(ended: Sequence[Ended]) -> list[str]:
    """What judges say of how they were asked, each once."""
    return list(dict.fromkeys(note for one in ended for note in one.finished.notes))


def _stopped_before(ended: Sequence[Ended]) -> Iterator[str]:
    """Of results that were made elsewhere: those that are of a part of the samples."""
    for one in ended:
        if one.finished.stopped:
            yield (
                f"`{one.task}` did not come to its end where it was run, and its figures are of "
                f"the samples that are there: {one.finished.stopped}"
            )


def _unfinished(
    total: int, landed: int, facts: Facts, *, unended: bool, noun: str
) -> Iterator[str]:
    """A note, if samples are missing, or what is made of all of them."""
    yield from unfinished(total, landed, facts, noun)
    if unended and landed >= total:
        why = f" ({facts.stop_reason})" if facts.stop_reason else ""
        yield f"not finished{why}: all {total} {noun}, and no metrics; {facts.go_on}"


def _metrics(one: Ended) -> Iterator[MetricRow]:
    figures = one.finished.figures
    for name, figure in zip(names_of(figures), figures, strict=True):
        interval = figure.measure.interval
        yield MetricRow(
            task=one.task,
            model=one.model,
            scorer=figure.scorer,
            metric=name,
            value=figure.measure.value,
            ci_low=interval.low if interval else None,
            ci_high=interval.high if interval else None,
            interval=interval.method if interval else None,
            n=figure.measure.n,
            failed=figure.failed,
            excluded=one.finished.left_out,
            purpose="qa" if figure.purpose == "qa" else "score",
            reason=figure.measure.reason,
            key=figure.metric,
            own_key=figure.own_key,
            name=figure.measure.name,
            absent=figure.absent,
        )


def _counted(rows: Iterable[Row], sure: set[str]) -> tuple[Account, Kinds, int, int]:
    """`sure` takes the models whose answers came with a confidence."""
    account = Account()
    kinds: Kinds = {}
    landed = failed = 0
    for row in rows:
        landed += 1
        if row.failure_type is not None:
            failed += 1
            count(kinds, row)
        if row.finish:
            account.answered(row)
        if row.confidence is not None:
            sure.add(row.model)
    return account, kinds, landed, failed
