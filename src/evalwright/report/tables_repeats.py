"""Tables of tasks that were run several times."""

from collections.abc import Sequence

from evalwright.report.report import AgreementRow, FlakyRow, RepeatRow, Report
from evalwright.report.tables import Table, shortened

_MOST_SHOWN = 10
_NOBODY = "–"


def repeat_tables(report: Report) -> list[Table]:
    """The spread of the figures, the agreement on the scores, the samples to look at."""
    return [
        _spread(report.repeatability),
        _agreement(report.agreement),
        _flaky(report.flaky, report.summary.flaky),
    ]


def _spread(rows: Sequence[RepeatRow]) -> Table:
    return Table(
        "Repeatability",
        (
            *("task", "model", "scorer", "metric", "runs", "mean", "std", "min", "max"),
            "95 % interval",
        ),
        [
            (
                shortened(row.task),
                shortened(row.model or _NOBODY),
                shortened(row.scorer),
                shortened(row.metric),
                str(row.runs),
                *(_number(one) for one in (row.mean, row.std, row.min, row.max)),
                _interval(row.ci_low, row.ci_high),
            )
            for row in rows
        ],
        frozenset(range(4, 10)),
        "over runs on the same samples: one more run lies about a std from the mean; the interval "
        "is of the mean of ever more runs. Other samples: the interval under Results",
    )


def _agreement(rows: Sequence[AgreementRow]) -> Table:
    return Table(
        "Agreement between runs",
        ("task", "model", "scorer", "score", "agreement", "95 % interval", "samples", "flaky"),
        [
            (
                shortened(row.task),
                shortened(row.model or _NOBODY),
                shortened(row.scorer),
                shortened(row.score),
                _number(row.agreement),
                _interval(row.ci_low, row.ci_high),
                str(row.n),
                str(row.flaky),
            )
            for row in rows
        ],
        frozenset(range(4, 8)),
        "of a sample, the share of runs that give the most common value; not corrected for chance",
    )


def _flaky(rows: Sequence[FlakyRow], total: int) -> Table:
    shown = rows[:_MOST_SHOWN]
    more = f"; {len(shown)} of {total}, JSON has {len(rows)}" if total > len(shown) else ""
    return Table(
        "Flaky samples",
        ("task", "model", "sample", "score", "agreement", "values"),
        [
            (
                shortened(row.task),
                shortened(row.model or _NOBODY),
                shortened(row.sample_id),
                shortened(f"{row.scorer}.{row.score}"),
                _number(row.agreement),
                ", ".join(f"{shortened(value)} ({runs})" for value, runs in row.values),
            )
            for row in shown
        ],
        frozenset({4}),
        f"the score on which the runs agree least, and how many runs gave each value{more}",
    )


def _number(value: float | None) -> str:
    return _NOBODY if value is None else f"{value:.3f}"


def _interval(low: float | None, high: float | None) -> str:
    return _NOBODY if low is None or high is None else f"[{low:.3f}, {high:.3f}]"
