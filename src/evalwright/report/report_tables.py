"""A report as plain tables of strings: what the terminal and markdown both show."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from evalwright.report.calibration_tables import calibration_tables
from evalwright.report.judges import JudgeRow
from evalwright.report.report import (
    AgreementRow,
    CodeExecution,
    FailureRow,
    FlakyRow,
    LeaderboardRow,
    MetricRow,
    PolicyRow,
    RepeatRow,
    Report,
    TaskPairwiseRow,
    UsageRow,
)
from evalwright.report.tables import (
    NOTHING,
    Table,
    count_noun,
    dollars,
    format_interval,
    format_number,
    join_lines,
    shorten,
    shorten_message,
    visible,
)

_MOST_LEFT_OUT = 50
_MOST_FLAKY = 10
_SEVERAL = 2
_LONGEST_REASON = 300
_POOLED_DIGITS = 2
_USAGE_COLUMNS = ("model", "requests", "prompt tokens", "completion tokens", "cost")
_JUDGE_CHECK = ": `evalwright judge check"


def tables(report: Report) -> list[Table]:
    """Return every table that has something to say."""
    has_own_table = _has_own_table if _is_pooled(report) else lambda _: False
    pooled = [row for row in report.metrics if has_own_table(row)]
    others = [row for row in report.metrics if not has_own_table(row)]
    made = [
        *_rankings(report, pooled),
        _pass_at_k(pooled),
        _results(others, "score"),
        _results(others, "qa"),
        *calibration_tables(report),
        judges_table(report.judges),
        policies_table(report.policies),
        _spread(report.repeatability),
        _agreement(report.agreement),
        _flaky(report.flaky, report.summary.flaky),
        _rules(report),
        *usage_tables(report),
        _failures(report),
        _left_out(report),
    ]
    return [table for table in made if table.rows]


def remarks(report: Report) -> list[str]:
    """Return what a reader must know before believing the numbers."""
    notes = [join_lines(note) for note in report.notes]
    execution = report.code_execution
    if execution and not execution.verified:
        notes.append(
            f"code_exec: {_describe_isolation(execution)}; "
            "a program could have forged its own verdict"
        )
    return notes


def _describe_isolation(execution: CodeExecution) -> str:
    tier = execution.tier
    if execution.isolated:
        return f"programs were isolated (tier `{tier}`), but judged in their own process"
    return f"programs ran in a plain child process (tier `{tier}`), not isolated"


def _is_pooled(report: Report) -> bool:
    """Whether models are ranked over the samples of all tasks together."""
    return any(not row.task for row in report.leaderboard)


def _has_own_table(row: MetricRow) -> bool:
    return row.metric == "mean" or row.metric.startswith("pass@")


def _rankings(report: Report, pooled: Sequence[MetricRow]) -> Iterator[Table]:
    """Yield the tables of each ranked task, or of all tasks together."""
    pairs: dict[tuple[str, str], list[TaskPairwiseRow]] = {}
    for row in report.pairwise:
        pairs.setdefault((row.task, row.metric), []).append(row)
    for (task, metric), rows in groupby(report.leaderboard, lambda row: (row.task, row.metric)):
        board = list(rows)
        ranked_by = f": {join_lines(task)}, {join_lines(metric)}" if task else ""
        is_of_models = all(row.model in report.models for row in board)
        head = "model" if is_of_models else "specification"
        yield _leaderboard(board, ranked_by, head)
        yield _categories(board, ranked_by, head)
        if not task:
            yield _means_by_file(report, pooled)
        yield _differences(pairs.get((task, metric), []), ranked_by, head)


def _leaderboard(board: Sequence[LeaderboardRow], ranked_by: str, head: str) -> Table:
    digits = 3 if ranked_by else _POOLED_DIGITS
    has_several = len(board) > 1
    has_failures = any(row.completed < row.total for row in board)
    return Table(
        f"Leaderboard{ranked_by}",
        (
            *("#", head, "mean", "95 % interval"),
            *(("wins",) if has_several else ()),
            "completed",
            *(("own mean", "if failures were 0 … 1") if has_failures else ()),
        ),
        [
            (
                NOTHING if row.rank is None else str(row.rank),
                shorten(row.model),
                format_number(row.mean, digits),
                _interval(row, digits),
                *((_percent(row.win_rate),) if has_several else ()),
                f"{row.completed}/{row.total}",
                *(
                    (
                        format_number(row.own_mean, digits),
                        _range(row.own_low, row.own_high, digits),
                    )
                    if has_failures
                    else ()
                ),
            )
            for row in board
        ],
        frozenset({0, 2, 3, 4, 5, 6, 7}),
        _ranked_on(board) + _bound_note(board),
    )


def _ranked_on(board: Sequence[LeaderboardRow]) -> str:
    shared, noun, everyone = board[0].n, "task", "every model"
    if board[0].task:
        noun, everyone = "sample", "all of them"
    if not shared:
        by = "by every model" if noun == "task" else "by all of them"
        return f"no {noun} was completed {by}, so nothing can be ranked"
    which = f"that {everyone} completed" if len(board) > 1 else "that it completed"
    return f"mean over the {count_noun(shared, noun)} {which}"


def _categories(board: Sequence[LeaderboardRow], ranked_by: str, head: str) -> Table:
    names = tuple(board[0].categories)
    digits = 3 if ranked_by else _POOLED_DIGITS
    return Table(
        f"Mean by category{ranked_by}",
        (head, *map(shorten, names)),
        [
            (
                shorten(row.model),
                *(format_number(row.categories[name], digits) for name in names),
            )
            for row in board
            if len(names) > 1
        ],
        frozenset(range(1, len(names) + 1)),
    )


def _differences(rows: Sequence[TaskPairwiseRow], ranked_by: str, head: str) -> Table:
    digits = 3 if ranked_by else _POOLED_DIGITS
    return Table(
        f"Differences{ranked_by}",
        (f"{head}s", "difference", "95 % interval", "verdict"),
        [
            (
                f"{shorten(row.a)} − {shorten(row.b)}",
                NOTHING if row.difference is None else f"{row.difference:+.{digits}f}",
                format_interval(row.ci_low, row.ci_high, digits, signed=True),
                _verdict(row),
            )
            for row in rows
        ],
        frozenset({1, 2}),
        f"paired by {'sample' if ranked_by else 'task'}; an interval that includes zero is a tie",
    )


def _verdict(row: TaskPairwiseRow) -> str:
    if not row.n:
        return "nothing to compare"
    if row.ci_low is None:
        return "no interval"
    return "significant" if row.significant else "tied"


def _means_by_file(report: Report, rows: Sequence[MetricRow]) -> Table:
    """Show each of several files alone."""
    shown = [row for row in rows if row.metric == "mean" and len(report.tasks) > 1]
    return Table(
        "Mean by file",
        ("file", "model", "mean", "95 % interval", "completed"),
        [
            (
                shorten(row.task),
                shorten(row.model),
                format_number(row.value, _POOLED_DIGITS),
                _interval(row, _POOLED_DIGITS),
                f"{row.n}/{row.n + row.failed}",
            )
            for row in shown
        ],
        frozenset({2, 3, 4}),
        "each model over the tasks that it completed itself" + _bound_note(shown),
    )


def _pass_at_k(rows: Sequence[MetricRow]) -> Table:
    shown = [row for row in rows if row.metric.startswith("pass@")]
    return Table(
        "pass@k",
        ("file", "model", "metric", "value", "95 % interval", "tasks"),
        [
            (
                shorten(row.task),
                shorten(row.model),
                row.metric,
                format_number(row.value, _POOLED_DIGITS),
                _interval(row, _POOLED_DIGITS),
                str(row.n),
            )
            for row in shown
        ],
        frozenset({3, 4, 5}),
        "over the tasks that run code or were tried more than once, and at least k times"
        + _bound_note(shown),
    )


def _results(rows: Sequence[MetricRow], purpose: str) -> Table:
    """Leave out what would be the same in every row: one model, no failure, nothing excluded."""
    shown = [row for row in rows if row.purpose == purpose]
    has_models = len({row.model for row in shown}) > 1
    has_failed = any(row.failed for row in shown)
    has_excluded = any(row.excluded for row in shown)
    has_absent = any(row.absent for row in shown)
    return Table(
        "Results" if purpose == "score" else "Checks (purpose: qa)",
        (
            *("task", *(["model"] if has_models else []), "scorer", "metric", "value"),
            *("95 % interval", "samples"),
            *(["failed"] if has_failed else []),
            *(["excluded"] if has_excluded else []),
            *(["no value"] if has_absent else []),
        ),
        [
            (
                shorten(row.task),
                *([shorten(row.model or NOTHING)] if has_models else []),
                shorten(row.scorer),
                shorten_message(row.metric),
                format_number(row.value),
                _interval(row),
                str(row.n),
                *([str(row.failed)] if has_failed else []),
                *([str(row.excluded)] if has_excluded else []),
                *([str(row.absent)] if has_absent else []),
            )
            for row in shown
        ],
        frozenset(range(4 if has_models else 3, 10)),
        "a failed or excluded sample is in no figure"
        + ("; no value: samples whose score has none, left out as well" if has_absent else "")
        + _bound_note(shown)
        + _reasons(shown),
    )


def _reasons(rows: Sequence[MetricRow]) -> str:
    """Say why a value or an interval is not there, or what a system task says of it."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.reason and (row.value is None or row.interval is None or not row.n):
            reasons.setdefault(shorten_message(row.reason), {})[join_lines(row.metric)] = None
    return "".join(f"\n {', '.join(names)}: {why}" for why, names in reasons.items())


def judges_table(rows: Sequence[JudgeRow]) -> Table:
    """Show what is known of the judges of a run; how to learn more, once."""
    is_unchecked = any(_JUDGE_CHECK in row.known for row in rows)
    return Table(
        "Judges",
        ("task", "scorer", "judge", "what is known"),
        [
            (
                shorten(row.task),
                shorten(row.scorer),
                shorten(row.model),
                visible(row.known.partition(_JUDGE_CHECK)[0]),
            )
            for row in rows
        ],
        note="`evalwright judge check RUN --labels FILE` compares a judge with people"
        if is_unchecked
        else "",
    )


def policies_table(rows: Sequence[PolicyRow]) -> Table:
    """Show one rule per row, with the reason of its verdict."""
    return Table(
        "Policies",
        ("policy", "rule", "demand", "verdict", "why"),
        [
            (
                shorten(row.policy),
                shorten(row.name),
                shorten(row.demand, _LONGEST_REASON),
                "holds" if row.holds else "FAILS",
                shorten(row.reason, _LONGEST_REASON),
            )
            for row in rows
        ],
        note=count_rules(rows),
    )


def count_rules(rows: Sequence[PolicyRow]) -> str:
    """`3 rules, 1 fails`."""
    bad = sum(not row.holds for row in rows)
    verdict = f"{bad} {'fails' if bad == 1 else 'fail'}" if bad else "none fails"
    return f"{count_noun(len(rows), 'rule')}, {verdict}"


def _spread(rows: Sequence[RepeatRow]) -> Table:
    return Table(
        "Repeatability",
        (
            *("task", "model", "scorer", "metric", "runs", "mean", "std", "min", "max"),
            "95 % interval",
        ),
        [
            (
                shorten(row.task),
                shorten(row.model or NOTHING),
                shorten(row.scorer),
                shorten(row.metric),
                str(row.runs),
                *map(format_number, (row.mean, row.std, row.min, row.max)),
                format_interval(row.ci_low, row.ci_high),
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
                shorten(row.task),
                shorten(row.model or NOTHING),
                shorten(row.scorer),
                shorten(row.score),
                format_number(row.agreement),
                format_interval(row.ci_low, row.ci_high),
                str(row.n),
                str(row.flaky),
            )
            for row in rows
        ],
        frozenset(range(4, 8)),
        "of a sample, the share of runs that give the most common value; not corrected for chance",
    )


def _flaky(rows: Sequence[FlakyRow], total: int) -> Table:
    shown = rows[:_MOST_FLAKY]
    more = f"; {len(shown)} of {total}, JSON has {len(rows)}" if total > len(shown) else ""
    return Table(
        "Flaky samples",
        ("task", "model", "sample", "score", "agreement", "values"),
        [
            (
                shorten(row.task),
                shorten(row.model or NOTHING),
                shorten(row.sample_id),
                shorten(f"{row.scorer}.{row.score}"),
                format_number(row.agreement),
                ", ".join(f"{shorten(value)} ({runs})" for value, runs in row.values),
            )
            for row in shown
        ],
        frozenset({4}),
        f"the score on which the runs agree least, and how many runs gave each value{more}",
    )


def _rules(report: Report) -> Table:
    return Table(
        "Excluded from metrics",
        ("task", "model", "rule", "samples"),
        [
            (
                shorten(row.task),
                shorten(row.model or NOTHING),
                shorten(row.rule),
                str(row.excluded),
            )
            for row in report.rules
            if row.excluded
        ],
        frozenset({3}),
        "a sample may be excluded by several rules",
    )


def usage_tables(report: Report) -> Iterator[Table]:
    """Yield a table of the answers, and one of what was asked beside them."""
    perplexities = {model: row.perplexity for model, row in report.perplexity.items()}
    has_perplexity = _is_pooled(report) or any(value is not None for value in perplexities.values())
    yield Table(
        "Usage",
        (*_USAGE_COLUMNS, *(("perplexity",) if has_perplexity else ())),
        [
            (*row, *((format_number(perplexities.get(model), 2),) if has_perplexity else ()))
            for model, row in zip(report.usage, _usage_rows(report.usage), strict=True)
        ],
        frozenset(range(1, 6)),
    )
    yield Table(
        "Asked beside the answers",
        _USAGE_COLUMNS,
        _usage_rows(report.asked_beside),
        frozenset(range(1, 5)),
        f"by scorers and solvers: judges, embeddings, other voices; {_total_cost(report)}",
    )


def _usage_rows(usage: Mapping[str, UsageRow]) -> list[tuple[str, ...]]:
    return [
        (
            shorten(model),
            str(row.requests),
            str(row.prompt_tokens),
            str(row.completion_tokens),
            dollars(row.cost),
        )
        for model, row in usage.items()
    ]


def _total_cost(report: Report) -> str:
    """Say what the answers and the rest cost."""
    costs = [row.cost for row in (*report.usage.values(), *report.asked_beside.values())]
    if None in costs:
        return "what the run cost is not known"
    return f"the run cost {dollars(sum(cost or 0.0 for cost in costs))} with the answers"


def _failures(report: Report) -> Table:
    return Table(
        "Failures",
        ("model", "stage", "count", "what", "for example"),
        [
            (
                shorten(row.model or NOTHING),
                row.stage,
                str(row.count),
                _describe_failure(row, report.run_id),
                shorten(row.sample_ids[0]) if row.sample_ids else NOTHING,
            )
            for row in report.failures
        ],
        frozenset({2}),
        "a failed sample is in no mean",
    )


def _describe_failure(row: FailureRow, run_id: str) -> str:
    """Write the first message, how many others there are, and the hint."""
    is_typed = f"{row.type}: " in row.message  # a message of a snippet names the type itself
    text = shorten_message(row.message if is_typed else f"{row.type}: {row.message}")
    if row.messages >= _SEVERAL:
        others = count_noun(row.messages - 1, "other message")
        text += f" (and {others}: `evalwright show {run_id} --failed`)"
    return text + (f" (hint: {shorten_message(row.hint)})" if row.hint else "")


def _left_out(report: Report) -> Table:
    shown, count = report.left_out[:_MOST_LEFT_OUT], len(report.left_out)
    more = f"; the first {len(shown)} of {count}, JSON has all" if count > len(shown) else ""
    return Table(
        "Left out",
        ("where", "rule", "what"),
        [
            (join_lines(f"{row.file}:{row.line}"), row.rule, shorten_message(row.detail))
            for row in shown
        ],
        note=f"bad records, which were not run{more}",
    )


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.0f} %"


def _interval(row: LeaderboardRow | MetricRow, digits: int = 3) -> str:
    bound = " (b)" if row.interval == "bound" else ""
    return format_interval(row.ci_low, row.ci_high, digits) + bound


def _bound_note(rows: Sequence[LeaderboardRow] | Sequence[MetricRow]) -> str:
    has_bound = any(row.interval == "bound" for row in rows)
    return (
        "; (b): all scores are equal, so this is a bound for scores in [0, 1]" if has_bound else ""
    )


def _range(low: float | None, high: float | None, digits: int) -> str:
    if low is None or high is None:
        return NOTHING
    return f"{low:.{digits}f} … {high:.{digits}f}"
