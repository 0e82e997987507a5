"""A report as plain tables of strings: what the terminal and markdown both show.

Names and messages are shortened here, and only here: JSON has them whole. A cell is one line of
printable characters, whatever a model or an author wrote.
"""

from collections.abc import Sequence
from typing import NamedTuple

from evalwright.report.report import (
    CodeExecution,
    FailureRow,
    LeaderboardRow,
    MetricRow,
    Report,
)

_LONGEST_NAME = 36
_LONGEST_MESSAGE = 200
_MOST_LEFT_OUT = 50
_NOBODY = "–"
_SEVERAL = 2


class Table(NamedTuple):
    """One table, its cells ready to print. `numeric` says which columns align right."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numeric: frozenset[int] = frozenset()
    note: str = ""
    below: tuple[str, ...] = ()
    """Lines to show below it as they are, each character as wide as the others."""


def tables(report: Report) -> list[Table]:
    """Every table that has something to say."""
    from evalwright.report.tables_calibration import calibration_tables
    from evalwright.report.tables_judges import judges_table
    from evalwright.report.tables_policies import policies_table
    from evalwright.report.tables_repeats import repeat_tables
    from evalwright.report.tables_usage import usage_tables

    if report.kind == "evaluation":
        made = [
            _results(report, "score"),
            _results(report, "qa"),
            *calibration_tables(report),
            judges_table(report.judges),
            policies_table(report.policies),
            *repeat_tables(report),
            _rules(report),
            *usage_tables(report),
            _failures(report),
        ]
        return [table for table in made if table.rows]
    made = [
        _leaderboard(report),
        _categories(report),
        _tasks(report),
        _pairwise(report),
        _pass_at_k(report),
        *calibration_tables(report),
        *usage_tables(report),
        _failures(report),
        _left_out(report),
    ]
    return [table for table in made if table.rows]


def remarks(report: Report) -> list[str]:
    """What a reader must know before believing the numbers."""
    said = [_line(note) for note in report.notes]
    held = report.code_execution
    if held and not held.verified:
        said.append(f"code_exec: {_held(held)}; a program could have forged its own verdict")
    return said


def _held(held: CodeExecution) -> str:
    if held.isolated:
        return f"programs were isolated (tier `{held.tier}`), but judged in their own process"
    return f"programs ran in a plain child process (tier `{held.tier}`), not isolated"


def shortened(name: str, limit: int = _LONGEST_NAME) -> str:
    """A long name with its middle cut out: both ends of a model name tell models apart."""
    name = _line(name)
    if len(name) <= limit:
        return name
    tail = limit // 2
    return f"{name[: limit - tail - 1]}…{name[-tail:]}"


def counted(n: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _leaderboard(report: Report) -> Table:
    board = report.leaderboard
    several = len(board) > 1
    failed = any(row.completed < row.total for row in board)
    wins = ("wins",) if several else ()
    extra = ("own mean", "if failures were 0 … 1") if failed else ()
    return Table(
        "Leaderboard",
        ("#", "model", "mean", "95 % interval", *wins, "completed", *extra),
        [
            (
                "–" if row.rank is None else str(row.rank),
                shortened(row.model),
                _number(row.mean),
                _interval_of(row),
                *((_percent(row.win_rate),) if several else ()),
                f"{row.completed}/{row.total}",
                *((_number(row.own_mean), _range(row.own_low, row.own_high)) if failed else ()),
            )
            for row in board
        ],
        frozenset({0, 2, 3, 4, 5, 6, 7}),
        _ranked_on(board) + _bound_note(board),
    )


def _ranked_on(board: Sequence[LeaderboardRow]) -> str:
    shared = board[0].n if board else 0
    if not shared:
        return "no task was completed by every model, so nothing can be ranked"
    which = "that every model completed" if len(board) > 1 else "that it completed"
    return f"mean over the {counted(shared, 'task')} {which}"


def _categories(report: Report) -> Table:
    names = tuple(report.leaderboard[0].categories) if report.leaderboard else ()
    rows = [
        (shortened(row.model), *(_number(row.categories[name]) for name in names))
        for row in report.leaderboard
    ]
    numeric = frozenset(range(1, len(names) + 1))
    return Table("Mean by category", ("model", *names), rows if len(names) > 1 else [], numeric)


def _tasks(report: Report) -> Table:
    """Of several files, each alone."""
    shown = [row for row in report.metrics if row.metric == "mean" and len(report.tasks) > 1]
    return Table(
        "Mean by file",
        ("file", "model", "mean", "95 % interval", "completed"),
        [
            (
                shortened(row.task),
                shortened(row.model),
                _number(row.value),
                _interval_of(row),
                f"{row.n}/{row.n + row.failed}",
            )
            for row in shown
        ],
        frozenset({2, 3, 4}),
        "each model over the tasks that it completed itself" + _bound_note(shown),
    )


def _results(report: Report, purpose: str) -> Table:
    """What would be the same in every row is left out: one model, no failure, nothing excluded."""
    shown = [row for row in report.metrics if row.purpose == purpose]
    model = len({row.model for row in shown}) > 1
    failed = any(row.failed for row in shown)
    excluded = any(row.excluded for row in shown)
    absent = any(row.absent for row in shown)
    return Table(
        "Results" if purpose == "score" else "Checks (purpose: qa)",
        (
            *("task", *(["model"] if model else []), "scorer", "metric", "value"),
            *("95 % interval", "samples"),
            *(["failed"] if failed else []),
            *(["excluded"] if excluded else []),
            *(["no value"] if absent else []),
        ),
        [
            (
                shortened(row.task),
                *([shortened(row.model or _NOBODY)] if model else []),
                shortened(row.scorer),
                _message(row.metric),
                _number(row.value, 3),
                _interval_of(row, 3),
                str(row.n),
                *([str(row.failed)] if failed else []),
                *([str(row.excluded)] if excluded else []),
                *([str(row.absent)] if absent else []),
            )
            for row in shown
        ],
        frozenset(range(4 if model else 3, 10)),
        "a failed or excluded sample is in no figure"
        + ("; no value: samples whose score has none, left out as well" if absent else "")
        + _bound_note(shown)
        + _reasons(shown),
    )


def _reasons(rows: Sequence[MetricRow]) -> str:
    """Why a value or an interval is not there, or what a system task says of it."""
    said: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.reason and (row.value is None or row.interval is None or not row.n):
            said.setdefault(_message(row.reason), {})[_line(row.metric)] = None
    return "".join(f"\n {', '.join(names)}: {why}" for why, names in said.items())


def _rules(report: Report) -> Table:
    return Table(
        "Excluded from metrics",
        ("task", "model", "rule", "samples"),
        [
            (
                shortened(row.task),
                shortened(row.model or _NOBODY),
                shortened(row.rule),
                str(row.excluded),
            )
            for row in report.rules
            if row.excluded
        ],
        frozenset({3}),
        "a sample may be excluded by several rules",
    )


def _pairwise(report: Report) -> Table:
    return Table(
        "Differences",
        ("models", "difference", "95 % interval", "verdict"),
        [
            (
                f"{shortened(row.a)} − {shortened(row.b)}",
                _signed(row.difference),
                _interval(row.ci_low, row.ci_high, signed=True),
                _verdict(row.significant, row.n),
            )
            for row in report.pairwise
        ],
        frozenset({1, 2}),
        "paired by task; an interval that includes zero is a tie",
    )


def _verdict(significant: bool, n: int) -> str:  # noqa: FBT001 - two facts of one row
    if not n:
        return "nothing to compare"
    return "significant" if significant else "tied"


def _pass_at_k(report: Report) -> Table:
    shown = [row for row in report.metrics if row.metric.startswith("pass@")]
    return Table(
        "pass@k",
        ("file", "model", "metric", "value", "95 % interval", "tasks"),
        [
            (
                shortened(row.task),
                shortened(row.model),
                row.metric,
                _number(row.value),
                _interval_of(row),
                str(row.n),
            )
            for row in shown
        ],
        frozenset({3, 4, 5}),
        "over the tasks that run code or were tried more than once, and at least k times"
        + _bound_note(shown),
    )


def _failures(report: Report) -> Table:
    return Table(
        "Failures",
        ("model", "stage", "count", "what", "for example"),
        [
            (
                shortened(row.model or _NOBODY),
                row.stage,
                str(row.count),
                _message(_what(row)) + _others(row, report.run_id) + _hinted(row),
                shortened(row.sample_ids[0]) if row.sample_ids else _NOBODY,
            )
            for row in report.failures
        ],
        frozenset({2}),
        "a failed sample is in no mean",
    )


def _what(row: FailureRow) -> str:
    """A message of a snippet names the type itself."""
    return row.message if f"{row.type}: " in row.message else f"{row.type}: {row.message}"


def _others(row: FailureRow, run_id: str) -> str:
    """That there is more to be said of this kind than the first message."""
    if row.messages < _SEVERAL:
        return ""
    more = f"{counted(row.messages - 1, 'other message')}: `evalwright show {run_id} --failed`"
    return f" (and {more})"


def _hinted(row: FailureRow) -> str:
    return f" (hint: {_message(row.hint)})" if row.hint else ""


def _left_out(report: Report) -> Table:
    shown, count = report.left_out[:_MOST_LEFT_OUT], len(report.left_out)
    more = f"; the first {len(shown)} of {count}, JSON has all" if count > len(shown) else ""
    return Table(
        "Left out",
        ("where", "rule", "what"),
        [(_line(f"{row.file}:{row.line}"), row.rule, _message(row.detail)) for row in shown],
        note=f"bad records, which were not run{more}",
    )


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _message(text: str) -> str:
    line = _line(text)
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 1]}…"


def _number(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.2f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _interval(
    low: float | None, high: float | None, *, signed: bool = False, digits: int = 2
) -> str:
    if low is None or high is None:
        return "–"
    form = f"{'+' if signed else ''}.{digits}f"
    return f"[{low:{form}}, {high:{form}}]"


def _interval_of(row: LeaderboardRow | MetricRow, digits: int = 2) -> str:
    bound = " (b)" if row.interval == "bound" else ""
    return _interval(row.ci_low, row.ci_high, digits=digits) + bound


def _bound_note(rows: Sequence[LeaderboardRow] | Sequence[MetricRow]) -> str:
    bound = any(row.interval == "bound" for row in rows)
    return "; (b): all scores are equal, so this is a bound for scores in [0, 1]" if bound else ""


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.2f} … {high:.2f}"
