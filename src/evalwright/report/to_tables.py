"""A report as tables of strings, which the terminal and markdown both show; and as markdown."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from evalwright.report.calibration import calibration_tables
from evalwright.report.display_names import show_display_names
from evalwright.report.groups_table import groups_table
from evalwright.report.judges import JudgeRow
from evalwright.report.moved_tables import describe_moved_scores, moved_tables
from evalwright.report.report import (
    FailureRow,
    FlakyRow,
    LeaderboardRow,
    LeftOutRow,
    MetricRow,
    PolicyRow,
    Report,
    TaskPairwiseRow,
)
from evalwright.report.tables import (
    NOTHING,
    Table,
    TableColumn,
    count_column,
    count_noun,
    decimal_column,
    dollars,
    escape_markdown,
    explain_bounds,
    format_number,
    interval_column,
    join_lines,
    make_table,
    marked_interval_column,
    name_column,
    numeric_column,
    shorten,
    shorten_message,
    table_to_markdown,
)
from evalwright.text.visible import visible

_MOST_LEFT_OUT = 50
_MOST_FLAKY = 10
_MOST_RANKED = 50
"""Models in a table of a leaderboard; JSON has all."""
_MOST_COMPARED = 14
"""Models whose pairs are shown, if all pairs would be more rows than theirs; JSON has all."""
_SEVERAL = 2
_LONGEST_REASON = 300
_POOLED_DIGITS = 2
_USAGE_COLUMNS = (
    TableColumn("model", lambda item: shorten(item[0])),
    numeric_column("requests", lambda item: str(item[1].requests)),
    numeric_column("prompt tokens", lambda item: str(item[1].prompt_tokens)),
    numeric_column("completion tokens", lambda item: str(item[1].completion_tokens)),
    numeric_column("cost", lambda item: dollars(item[1].cost)),
)
_JUDGE_CHECK = ": `evalwright judge check"


def tables(report: Report) -> list[Table]:
    """Return every table that has something to say."""
    pooled = (
        [row for row in report.metrics if _has_own_table(row)] if _ranks_all_tasks(report) else []
    )
    others = [
        row for row in report.metrics if row.group is None and not (pooled and _has_own_table(row))
    ]
    candidates = [
        *_rankings(report, pooled),
        _pass_at_k(pooled),
        _results(others, "score"),
        _results(others, "qa"),
        groups_table(report.metrics),
        *calibration_tables(report),
        judges_table(report.judges),
        policies_table(report.policies),
        *_repeat_tables(report),
        make_table(
            "Excluded from metrics",
            [row for row in report.rules if row.excluded],
            [*map(name_column, ("task", "model", "rule")), count_column("excluded", "samples")],
            "a sample may be excluded by several rules",
        ),
        *usage_tables(report),
        *_problem_tables(report),
        *moved_tables(report),
    ]
    return [table for table in candidates if table.rows]


def to_markdown(report: Report, *, keys: bool = False) -> str:
    """Return title, summary, remarks and every table, with display names or with keys."""
    report = report if keys else show_display_names(report)
    title = escape_markdown(", ".join(report.tasks))
    parts = [f"# {title}", describe_run(report, run_id=f"`{report.run_id}`")]
    if notes := remarks(report):
        parts.append("\n".join(f"- {escape_markdown(note)}" for note in notes))
    parts.extend(map(table_to_markdown, tables(report)))
    return "\n\n".join(parts) + "\n"


def describe_run(report: Report, *, run_id: str = "") -> str:
    """Return which run a report is about, how it ended and how many samples it has."""
    summary = report.summary
    counts = (
        f"{summary.completed} of {planned_samples(report)} samples completed, "
        f"{summary.failed} failed, "
        f"{summary.excluded} excluded"
    )
    name = f" ({report.name})" if report.name else ""
    status = report.status.replace("_", " ")
    run_id = run_id or report.run_id
    return f"Run {run_id}{name}, {status}: {counts}. evalwright {report.version}."


def planned_samples(report: Report) -> int:
    """Return how many samples the run has, including those that it was stopped before."""
    summary = report.summary
    is_stopped = report.status == "stopped"
    return max(summary.samples, summary.planned) if is_stopped else summary.samples


def remarks(report: Report) -> list[str]:
    """Return what a reader must know before believing the numbers."""
    notes = [join_lines(note) for note in report.notes]
    execution = report.code_execution
    if execution and not execution.verified:
        tier = f"(tier `{execution.tier}`)"
        how = f"programs ran in a plain child process {tier}, not isolated"
        if execution.isolates:
            how = f"programs were isolated {tier}, but judged in their own process"
        notes.append(f"code_exec: {how}; a program could have forged its own verdict")
    elif execution and execution.verified_passes < execution.passes:
        notes.append(
            f"code_exec: {execution.verified_passes} of {execution.passes} passes are verified; "
            f"mean {execution.mean:.3f}, or {execution.verified_mean:.3f} if scores that are not "
            "verified counted 0"
        )
    if execution and (timeouts := execution.wall_clock_timeouts):
        notes.append(
            f"code_exec: {timeouts} {'timeout was' if timeouts == 1 else 'timeouts were'} caused "
            "by wall-clock time: the program was waiting, or the machine was too busy"
        )
    notes += describe_moved_scores(report)
    return notes


def _ranks_all_tasks(report: Report) -> bool:
    return any(not row.task for row in report.leaderboard)


def _has_own_table(row: MetricRow) -> bool:
    return row.metric == "mean" or row.metric.startswith("pass@")


def _rankings(report: Report, pooled: Sequence[MetricRow]) -> Iterator[Table]:
    pairs: dict[tuple[str, str], list[TaskPairwiseRow]] = {}
    for row in report.pairwise:
        pairs.setdefault((row.task, row.metric), []).append(row)
    for (task, metric), rows in groupby(report.leaderboard, lambda row: (row.task, row.metric)):
        board = list(rows)
        ranked_by = f": {join_lines(task)}, {join_lines(metric)}" if task else ""
        is_of_models = all(row.model in report.models for row in board)
        head = "model" if is_of_models else "specification"
        compared = pairs.get((task, metric), [])
        *rankings, differences = ranking_tables(board, compared, ranked_by, head)
        yield from rankings
        if not task:
            yield _means_by_file(report, pooled)
        yield differences


def ranking_tables(
    board: Sequence[LeaderboardRow],
    pairs: Sequence[TaskPairwiseRow],
    ranked_by: str = "",
    head: str = "model",
) -> list[Table]:
    """Return the leaderboard, the means by category and the differences; any may have no row."""
    best = [row.model for row in board[:_MOST_COMPARED]]
    most = math.comb(_MOST_COMPARED, 2)
    shown = [row for row in pairs if len(pairs) <= most or {row.a, row.b} <= {*best}]
    return [
        _leaderboard(board, ranked_by, head),
        _categories(board, ranked_by, head),
        _differences(shown, ranked_by, head, of=len(pairs)),
    ]


def _describe_cut(shown: str, of: str) -> str:
    return f"; {shown} of {of}; JSON has all"


def _leaderboard(board: Sequence[LeaderboardRow], ranked_by: str, head: str) -> Table:
    digits = 3 if ranked_by else _POOLED_DIGITS
    columns = [
        numeric_column("#", lambda row: NOTHING if row.rank is None else str(row.rank)),
        name_column("model", head),
        decimal_column("mean", digits=digits),
        marked_interval_column(digits),
    ]
    if len(board) > 1:
        columns.append(numeric_column("wins", lambda row: _percent(row.win_rate)))
    columns.append(numeric_column("completed", lambda row: f"{row.completed}/{row.total}"))
    if any(row.completed < row.total for row in board):
        columns.append(decimal_column("own_mean", "own mean", digits))
        bounds = numeric_column("if failures were 0 … 1", lambda row: _bounds(row, digits))
        columns.append(bounds)
    note = _ranked_on(board) + explain_bounds(board) + _note_cut_board(board, head)
    return make_table(f"Leaderboard{ranked_by}", board[:_MOST_RANKED], columns, note)


def _note_cut_board(board: Sequence[LeaderboardRow], head: str) -> str:
    if len(board) <= _MOST_RANKED:
        return ""
    return _describe_cut(f"the best {_MOST_RANKED}", count_noun(len(board), head))


def _ranked_on(board: Sequence[LeaderboardRow]) -> str:
    shared = board[0].n
    everyone = "all of them" if board[0].task else "every model"
    if not shared:
        return f"no sample was completed by {everyone}, so nothing can be ranked"
    who = everyone if len(board) > 1 else "it"
    return f"mean over the {count_noun(shared, 'sample')} that {who} completed"


def _categories(board: Sequence[LeaderboardRow], ranked_by: str, head: str) -> Table:
    digits = 3 if ranked_by else _POOLED_DIGITS

    def column(category: str) -> TableColumn:
        return numeric_column(
            shorten(category), lambda row: format_number(row.categories[category], digits)
        )

    rows = board[:_MOST_RANKED] if len(board[0].categories) > 1 else []
    columns = [name_column("model", head), *map(column, board[0].categories)]
    note = _note_cut_board(board, head).removeprefix("; ")
    return make_table(f"Mean by category{ranked_by}", rows, columns, note)


def _differences(rows: Sequence[TaskPairwiseRow], ranked_by: str, head: str, *, of: int) -> Table:
    digits = 3 if ranked_by else _POOLED_DIGITS
    cut = ""
    if len(rows) < of:
        best = f"the {len(rows)} pairs of the best {_MOST_COMPARED} {head}s"
        cut = _describe_cut(best, f"{of:,} pairs")
    return make_table(
        f"Differences{ranked_by}",
        rows,
        [
            TableColumn(f"{head}s", lambda row: f"{shorten(row.a)} − {shorten(row.b)}"),
            decimal_column("difference", digits=digits, flag="+"),
            interval_column(digits, flag="+"),
            TableColumn("verdict", _verdict),
        ],
        "paired by sample; if the interval includes zero, the models are tied" + cut,
    )


def _verdict(row: TaskPairwiseRow) -> str:
    if not row.n:
        return "nothing to compare"
    if row.ci_low is None:
        return "no interval"
    return "significant" if row.significant else "tied"


def _means_by_file(report: Report, rows: Sequence[MetricRow]) -> Table:
    shown = [row for row in rows if row.metric == "mean" and len(report.tasks) > 1]
    return make_table(
        "Mean by file",
        shown,
        [
            name_column("task", "file"),
            name_column("model"),
            decimal_column("value", "mean", digits=_POOLED_DIGITS),
            marked_interval_column(_POOLED_DIGITS),
            numeric_column("completed", lambda row: f"{row.n}/{row.n + row.failed}"),
        ],
        "each model over the samples that it completed itself" + explain_bounds(shown),
    )


def _pass_at_k(rows: Sequence[MetricRow]) -> Table:
    shown = [row for row in rows if row.metric.startswith("pass@")]
    return make_table(
        "pass@k",
        shown,
        [
            name_column("task", "file"),
            *map(name_column, ("model", "metric")),
            decimal_column("value", digits=_POOLED_DIGITS),
            marked_interval_column(_POOLED_DIGITS),
            count_column("n", "samples"),
        ],
        "over the samples that run code or have several trials, and that have at least k trials"
        + explain_bounds(shown),
    )


def _results(rows: Sequence[MetricRow], purpose: str) -> Table:
    """Leave out what would be the same in every row: one model, no failure, nothing excluded."""
    shown = [row for row in rows if row.purpose == purpose]
    has_absent = any(row.absent for row in shown)
    columns = [
        name_column("task"),
        *([name_column("model")] if len({row.model for row in shown}) > 1 else []),
        name_column("scorer"),
        TableColumn("metric", _name_metric),
        decimal_column("value"),
        marked_interval_column(),
        count_column("n", "samples"),
    ]
    if any(row.failed for row in shown):
        columns.append(count_column("failed"))
    if any(row.excluded for row in shown):
        columns.append(count_column("excluded"))
    if has_absent:
        columns.append(count_column("absent", "no value"))
    return make_table(
        "Results" if purpose == "score" else "Checks (purpose: qa)",
        shown,
        columns,
        "metrics do not include failed or excluded samples"
        + (
            "; no value: samples without a score value, which metrics do not include either"
            if has_absent
            else ""
        )
        + ("; default: the scorer has no `metrics`" if any(row.is_default for row in shown) else "")
        + explain_bounds(shown)
        + _reasons(shown),
    )


def _name_metric(row: MetricRow) -> str:
    return shorten_message(row.metric) + (" (default)" if row.is_default else "")


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
    return make_table(
        "Judges",
        rows,
        [
            *map(name_column, ("task", "scorer")),
            name_column("model", "judge"),
            TableColumn("result", lambda row: visible(row.known.partition(_JUDGE_CHECK)[0])),
        ],
        "`evalwright judge check RUN --labels FILE` compares a judge with people"
        if is_unchecked
        else "",
    )


def policies_table(rows: Sequence[PolicyRow]) -> Table:
    """Show one rule per row, with the reason of its verdict."""
    return make_table(
        "Policies",
        rows,
        [
            name_column("policy"),
            name_column("name", "rule"),
            TableColumn("demand", lambda row: shorten(row.demand, _LONGEST_REASON)),
            TableColumn("verdict", lambda row: "holds" if row.holds else "FAILS"),
            TableColumn("why", lambda row: shorten(row.reason, _LONGEST_REASON)),
        ],
        count_rules(rows),
    )


def count_rules(rows: Sequence[PolicyRow]) -> str:
    """`3 rules, 1 fails`."""
    bad = sum(not row.holds for row in rows)
    verdict = f"{bad} {'fails' if bad == 1 else 'fail'}" if bad else "none fails"
    return f"{count_noun(len(rows), 'rule')}, {verdict}"


def _repeat_tables(report: Report) -> Iterator[Table]:
    yield make_table(
        "Repeatability",
        [row for row in report.repeatability if row.group is None],
        [
            *map(name_column, ("task", "model", "scorer", "metric")),
            count_column("runs"),
            *map(decimal_column, ("mean", "std", "min", "max")),
            interval_column(),
        ],
        "over runs on the same samples: std is the spread of single runs, the interval is that of "
        "their mean. For the variation between samples, see the intervals under Results",
    )
    yield make_table(
        "Agreement between runs",
        report.agreement,
        [
            *map(name_column, ("task", "model", "scorer", "score")),
            decimal_column("agreement"),
            interval_column(),
            count_column("n", "samples"),
            count_column("flaky"),
        ],
        "share of runs that give a sample its most common value; not corrected for chance",
    )
    shown, total = report.flaky[:_MOST_FLAKY], report.summary.flaky
    more = f"; {len(shown)} of {total}, JSON has {len(report.flaky)}" if total > len(shown) else ""
    yield make_table(
        "Flaky samples",
        shown,
        [
            *map(name_column, ("task", "model")),
            name_column("sample_id", "sample"),
            TableColumn("score", lambda row: shorten(f"{row.scorer}.{row.score}")),
            decimal_column("agreement"),
            TableColumn("values", _format_run_values),
        ],
        f"the score on which the runs agree least, and how many runs gave each value{more}",
    )


def _format_run_values(row: FlakyRow) -> str:
    return ", ".join(f"{shorten(value)} ({runs})" for value, runs in row.values)


def usage_tables(report: Report) -> Iterator[Table]:
    """Yield a table of the answers, and one of the other requests."""
    perplexities = {model: row.perplexity for model, row in report.perplexity.items()}
    columns = list(_USAGE_COLUMNS)
    if _ranks_all_tasks(report) or any(value is not None for value in perplexities.values()):
        columns.append(
            numeric_column("perplexity", lambda item: format_number(perplexities.get(item[0]), 2))
        )
    yield make_table("Usage", report.usage.items(), columns)
    yield make_table(
        "Other requests",
        report.asked_beside.items(),
        _USAGE_COLUMNS,
        f"requests from scorers and solvers, such as judges and embeddings; {_total_cost(report)}",
    )


def _total_cost(report: Report) -> str:
    costs = [row.cost for row in (*report.usage.values(), *report.asked_beside.values())]
    if None in costs:
        return "the total cost of the run is unknown"
    return f"total cost of the run: {dollars(sum(cost or 0.0 for cost in costs))}"


def _problem_tables(report: Report) -> Iterator[Table]:
    yield make_table(
        "Failures",
        report.failures,
        [
            name_column("model"),
            TableColumn("stage", lambda row: row.stage),
            count_column("count"),
            TableColumn("what", lambda row: _describe_failure(row, report.run_id)),
            TableColumn("for example", lambda row: shorten((*row.sample_ids, NOTHING)[0])),
        ],
        "means do not include failed samples",
    )
    shown, total = report.left_out[:_MOST_LEFT_OUT], len(report.left_out)
    total = max(total, report.summary.excluded_rows)
    has_rows = report.summary.excluded_rows > 0
    what = "invalid records, which were not run"
    if has_rows:
        what = "bad rows, which `on_bad_rows` left out of a dataset"
    rest = "JSON has more" if has_rows else "JSON has all"
    more = f"; the first {len(shown)} of {total}, {rest}" if total > len(shown) else ""
    yield make_table(
        "Excluded rows" if has_rows else "Excluded records",
        shown,
        [
            TableColumn("where", lambda row: join_lines(_describe_place(row))),
            TableColumn("rule", lambda row: row.rule),
            TableColumn("what", lambda row: shorten_message(row.detail)),
        ],
        f"{what}{more}",
    )


def _describe_place(row: LeftOutRow) -> str:
    return f"{row.file}:{row.line}" if row.line else row.file


def _describe_failure(row: FailureRow, run_id: str) -> str:
    is_typed = f"{row.type}: " in row.message  # a message of a snippet names the type itself
    text = shorten_message(row.message if is_typed else f"{row.type}: {row.message}")
    if row.messages >= _SEVERAL:
        others = count_noun(row.messages - 1, "other message")
        text += f" (and {others}: `evalwright show {run_id} --failed`)"
    return text + (f" (hint: {shorten_message(row.hint)})" if row.hint else "")


def _percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.0f} %"


def _bounds(row: LeaderboardRow, digits: int) -> str:
    if row.own_low is None or row.own_high is None:
        return NOTHING
    return f"{row.own_low:.{digits}f} … {row.own_high:.{digits}f}"
