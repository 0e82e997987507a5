import re
from io import StringIO

import pytest
from msgspec import structs
from tests.report.made import answer, finalized_report, outcome, report_of, task_of

from evalwright.report.report import CodeExecution, PerplexityRow, Report, UsageRow
from evalwright.report.tables import Table
from evalwright.report.to_tables import remarks, tables, to_markdown, usage_tables
from evalwright.report.to_text import print_report
from evalwright.types import Failure, Issue, Usage


def table(report: Report, title: str) -> Table:
    return next(one for one in tables(report) if one.title == title)


def titles(report: Report) -> list[str]:
    return [one.title for one in tables(report)]


def cells(found: Table, column: str) -> list[str]:
    return [row[found.columns.index(column)] for row in found.rows]


TWO = [
    outcome("good", "a", 1.0, logprob=-0.1),
    outcome("good", "b", 1.0, group="mcq", logprob=-0.1),
    outcome("poor", "a", 1.0),
    outcome("poor", "b", 0.0, group="mcq"),
]


def test_two_models_without_a_failure() -> None:
    found = table(report_of(TWO), "Leaderboard")

    assert found.columns == ("#", "model", "mean", "95 % interval", "wins", "completed")
    assert found.rows == [
        ("1", "good", "1.00", "[0.34, 1.00]", "75 %", "2/2"),
        ("2", "poor", "0.50", "[0.09, 0.91]", "25 %", "2/2"),
    ]
    assert found.note == "mean over the 2 samples that every model completed"


def test_with_a_failure_the_own_mean_and_its_bounds_stand_beside() -> None:
    report = report_of([*TWO, outcome("good", "c", 1.0), outcome("poor", "c", None)])

    found = table(report, "Leaderboard")

    assert cells(found, "own mean") == ["1.00", "0.50"]
    assert cells(found, "if failures were 0 … 1") == ["1.00 … 1.00", "0.33 … 0.67"]
    assert cells(found, "completed") == ["3/3", "2/3"]


def test_one_model_wins_nothing_and_is_compared_with_nobody() -> None:
    report = report_of([outcome("only", "a", 1.0)])

    assert "wins" not in table(report, "Leaderboard").columns
    assert table(report, "Leaderboard").note == "mean over the 1 sample that it completed"
    assert "Differences" not in titles(report)


def test_when_no_task_is_shared_the_note_says_so() -> None:
    report = report_of([outcome("one", "a", 1.0), outcome("two", "a", None)])

    found = table(report, "Leaderboard")

    assert found.note == "no sample was completed by every model, so nothing can be ranked"
    assert cells(found, "#") == cells(found, "mean") == ["–", "–"]
    assert cells(found, "own mean") == ["1.00", "–"]
    assert cells(table(report, "Differences"), "verdict") == ["nothing to compare"]


def test_an_interval_of_equal_scores_is_marked_as_a_bound() -> None:
    report = report_of([outcome("m", "a", 0.5), outcome("m", "b", 0.5)])

    found = table(report, "Leaderboard")

    assert cells(found, "95 % interval")[0].endswith(" (b)")
    assert "(b): all scores are equal" in found.note


def test_categories_are_shown_when_there_are_several() -> None:
    assert table(report_of(TWO), "Mean by category").rows == [
        ("good", "1.00", "1.00"),
        ("poor", "1.00", "0.00"),
    ]
    assert "Mean by category" not in titles(report_of(TWO[:1]))


def test_several_files_are_shown_each_alone() -> None:
    report = report_of([outcome("m", "a", 1.0, task="x"), outcome("m", "a", None, task="y")])

    found = table(report, "Mean by file")

    assert cells(found, "file") == ["x", "y"]
    assert cells(found, "mean") == ["1.00", "–"]
    assert cells(found, "completed") == ["1/1", "0/1"]
    assert "Mean by file" not in titles(report_of(TWO))


def test_a_difference_says_whether_it_is_significant() -> None:
    outcomes = [
        outcome(model, str(n), score)
        for n in range(20)
        for model, score in (("best", 1.0), ("near", float(n > 0)), ("worst", 0.0))
    ]

    found = table(report_of(outcomes), "Differences")

    assert cells(found, "models") == ["best − near", "best − worst", "near − worst"]
    assert cells(found, "verdict") == ["tied", "significant", "significant"]
    assert cells(found, "difference") == ["+0.05", "+1.00", "+0.95"]


def test_pass_at_k_says_over_how_many_tasks() -> None:
    outcomes = [outcome("m", "a", float(n), trial=n) for n in range(2)]

    found = table(report_of(outcomes), "pass@k")

    assert cells(found, "metric") == ["pass@1", "pass@2"]
    assert cells(found, "value") == ["0.50", "1.00"]
    assert cells(found, "samples") == ["1", "1"]


def test_calibration_shows_the_models_that_said_how_sure_they_were() -> None:
    assert cells(table(report_of(TWO), "Calibration"), "model") == ["good"]
    assert cells(table(report_of(TWO), "Calibration"), "answers") == ["2/2"]
    assert "Calibration" not in titles(report_of([outcome("m", "a", 1.0)]))


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        pytest.param(None, "unknown", id="no price is no guess"),
        pytest.param(0.0, "$0.00", id="free"),
        pytest.param(1.239, "$1.24", id="paid"),
    ],
)
def test_a_cost_is_shown_or_said_to_be_unknown(cost: float | None, shown: str) -> None:
    report = report_of([outcome("m", "a", 1.0, usage=Usage(requests=1, cost=cost))])

    assert cells(table(report, "Usage"), "cost") == [shown]


def test_a_failure_shows_what_broke_how_often_and_for_example_where() -> None:
    report = report_of([outcome("m", name, None) for name in "ab"])

    assert table(report, "Failures").rows == [
        ("m", "solver", "2", "TimeoutError: no answer in 60 s (hint: wait)", "a")
    ]


def test_that_there_are_other_messages_is_said_with_the_way_to_them() -> None:
    said = [Failure(stage="score", type="ValueError", message=f"m{n}") for n in range(3)]
    report = report_of([outcome("m", f"s{n}", None, failure=one) for n, one in enumerate(said)])

    (what,) = cells(table(report, "Failures"), "what")

    assert what == (
        f"ValueError: m0 (and 2 other messages: `evalwright show {report.run_id} --failed`)"
    )


def test_a_message_is_one_printable_line_of_bearable_length() -> None:
    text = "bad \x1b[31mred\x1b[0m\r\nTraceback\t" + "x" * 1000
    failure = Failure(stage="solver", type="ValueError", message=text)

    report = report_of([outcome("m", "a", None, failure=failure)])

    what = cells(table(report, "Failures"), "what")[0]
    assert what.startswith("ValueError: bad [31mred [0m Traceback xxx")
    assert what.isprintable()
    assert len(what) == 200
    assert what.endswith("…")
    assert report.failures[0].message == text


def test_a_long_list_of_bad_records_is_cut_and_says_so() -> None:
    issues = [Issue(line=n, rule="bad_json", field=None, detail="cut") for n in range(1, 1001)]

    found = table(report_of([outcome("m", "a", 1.0)], issues=issues), "Excluded records")

    assert len(found.rows) == 50
    assert found.rows[0] == ("tasks.jsonl:1", "bad_json", "cut")
    assert found.note == "invalid records, which were not run; the first 50 of 1000, JSON has all"


def test_two_long_names_that_differ_at_their_ends_stay_different() -> None:
    stem = "replay/outputs-of-a-very-long-experiment-name"
    report = report_of([outcome(f"{stem}-{end}", "a", 1.0) for end in ("one", "two")])

    shown = cells(table(report, "Leaderboard"), "model")

    assert len(set(shown)) == 2
    assert all(name.startswith("replay/outputs") and len(name) == 36 for name in shown)


def test_remarks_say_who_is_no_model_and_that_code_could_have_lied() -> None:
    unsafe = CodeExecution(tier="rlimits", verified=False)
    safe = CodeExecution(tier="container", verified=True)
    outcomes = [outcome("m", "a", 1.0)]

    assert remarks(report_of(outcomes, code_execution=safe)) == []
    said = remarks(report_of(outcomes, code_execution=unsafe, notes=["m: a script"]))
    assert said[0] == "m: a script"
    assert said[1] == (
        "code_exec: programs ran in a plain child process (tier `rlimits`), not isolated; "
        "a program could have forged its own verdict"
    )


def test_a_remark_says_how_many_passes_are_verified() -> None:
    some = CodeExecution(
        tier="container", verified=True, passes=3, verified_passes=2, mean=0.75, verified_mean=0.5
    )

    (note,) = remarks(report_of([outcome("m", "a", 1.0)], code_execution=some))

    assert note == (
        "code_exec: 2 of 3 passes are verified; mean 0.750, or 0.500 if scores that are not "
        "verified counted 0"
    )


@pytest.mark.parametrize(("count", "text"), [(1, "1 timeout was"), (2, "2 timeouts were")])
def test_a_remark_says_how_many_timeouts_wall_clock_time_caused(count: int, text: str) -> None:
    execution = CodeExecution(tier="container", verified=True, wall_clock_timeouts=count)

    (note,) = remarks(report_of([outcome("m", "a", 1.0)], code_execution=execution))

    assert note.startswith(f"code_exec: {text} caused by wall-clock time: ")


def test_a_remark_says_when_isolated_programs_were_judged_where_they_could_lie() -> None:
    held = CodeExecution(tier="landlock+seccomp", verified=False)

    (said,) = remarks(report_of([outcome("m", "a", 1.0)], code_execution=held))

    assert said == (
        "code_exec: programs were isolated (tier `landlock+seccomp`), but judged in their own "
        "process; a program could have forged its own verdict"
    )


def used(cost: float | None) -> UsageRow:
    return UsageRow(requests=2, prompt_tokens=20, completion_tokens=10, total_tokens=30, cost=cost)


def report(made: Report | None = None, **fields: object) -> Report:
    return structs.replace(made or finalized_report([answer("m", 0)]), **fields)


def test_the_answers_and_the_other_requests_are_two_tables() -> None:
    shown = report(usage={"m": used(0.5)}, asked_beside={"judge": used(0.25), "m": used(0.25)})

    answers, beside = usage_tables(shown)

    assert (answers.title, answers.rows) == ("Usage", [("m", "2", "20", "10", "$0.50")])
    assert beside.title == "Other requests"
    assert [cells[0] for cells in beside.rows] == ["judge", "m"]
    assert beside.note.endswith("; total cost of the run: $1.00")


def test_a_cost_that_is_not_known_makes_the_whole_unknown() -> None:
    _, beside = usage_tables(report(usage={"m": used(0.5)}, asked_beside={"judge": used(None)}))

    assert beside.rows[0][-1] == "unknown"
    assert beside.note.endswith("; the total cost of the run is unknown")


def test_where_nothing_was_asked_beside_there_is_no_table() -> None:
    titles = [table.title for table in tables(report(usage={"m": used(0.5)}))]

    assert "Other requests" not in titles
    assert "Usage" in titles


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(finalized_report([answer("m", 0)]), id="ranked by task"),
        pytest.param(report_of([outcome("m", "a", 1.0)]), id="ranked over all tasks"),
    ],
)
def test_both_tables_are_printed_and_written(made: Report) -> None:
    shown = report(made, usage={"m": used(0.5)}, asked_beside={"judge": used(0.25)})

    out = StringIO()
    print_report(shown, out)

    assert "Other requests" in out.getvalue()
    assert "## Other requests" in to_markdown(shown)


RANKED = [
    answer(model, n, n > at, category=("easy", "hard", "easy")[n])
    for at, model in enumerate(("good", "poor"))
    for n in range(3)
]


def test_the_tables_of_a_ranked_task_are_titled_with_task_and_metric() -> None:
    assert titles(finalized_report(RANKED)) == [
        "Leaderboard: qa, is_correct_mean",
        "Mean by category: qa, is_correct_mean",
        "Differences: qa, is_correct_mean",
        "Usage",
    ]


def test_the_leaderboard_of_a_task_has_the_digits_of_its_results() -> None:
    found = table(finalized_report(RANKED), "Leaderboard: qa, is_correct_mean")

    assert found.rows == [
        ("1", "good", "0.667", "[0.208, 0.939]", "67 %", "3/3"),
        ("2", "poor", "0.333", "[0.061, 0.792]", "33 %", "3/3"),
    ]
    assert found.note == "mean over the 3 samples that all of them completed"


def test_every_ranked_task_has_its_tables_together() -> None:
    outcomes = [*RANKED, *(structs.replace(one, task="other") for one in RANKED)]
    report = finalized_report(outcomes, task_of(outcomes), task_of(outcomes, "other"))

    heads = [title.partition(":")[0] for title in titles(report)]
    assert heads[:-1] == ["Leaderboard", "Mean by category", "Differences"] * 2


def test_specifications_are_called_so() -> None:
    outcomes = [answer("", n, n > at, task=f"s{at}") for at in (0, 1) for n in (0, 1)]
    tasks = [
        structs.replace(task_of(outcomes, f"s{at}", samples_digest="d"), task_key="shared")
        for at in (0, 1)
    ]

    report = finalized_report(outcomes, *tasks)

    assert table(report, "Leaderboard: shared, is_correct_mean").columns[1] == "specification"
    assert cells(table(report, "Differences: shared, is_correct_mean"), "specifications") == [
        "s0 − s1"
    ]


def test_equal_differences_without_a_range_are_not_called_a_tie() -> None:
    report = finalized_report([answer(m, n, 4 + at) for at, m in enumerate("mn") for n in (0, 1)])

    assert cells(table(report, "Differences: qa, is_correct_mean"), "verdict") == ["no interval"]


def test_when_no_sample_is_shared_the_note_says_so() -> None:
    report = finalized_report([answer("m", 0, None), answer("n", 0)])

    found = table(report, "Leaderboard: qa, is_correct_mean")
    assert found.note == "no sample was completed by all of them, so nothing can be ranked"


def test_a_title_is_one_line_and_no_markup() -> None:
    task = "a\n*b*"
    outcomes = [structs.replace(one, task=task) for one in RANKED]
    report = finalized_report(outcomes, task_of(outcomes, task))

    assert "Leaderboard: a *b*, is_correct_mean" in titles(report)
    assert "## Leaderboard: a \\*b\\*, is\\_correct\\_mean\n" in to_markdown(report)


def test_a_title_that_is_longer_than_its_table_is_not_cut() -> None:
    out = StringIO()
    print_report(finalized_report(RANKED), out)

    assert "Mean by category: qa, is_correct_mean\n" in out.getvalue()


def test_perplexities_of_a_project_are_shown_where_there_are_any() -> None:
    measured = PerplexityRow(perplexity=2.5, tokens=3, covered=1, n=1)
    plain = finalized_report([answer("m", 0)])

    (usage, _), (shown, _) = (
        usage_tables(plain),
        usage_tables(structs.replace(plain, perplexity={"m": measured})),
    )

    assert "perplexity" not in usage.columns
    assert cells(shown, "perplexity") == ["2.50"]


def test_the_last_line_counts_bad_records_and_excluded_samples_apart() -> None:
    issue = Issue(line=1, rule="bad_json", field=None, detail="cut")
    records = report_of([outcome("m", "a", 1.0)], issues=[issue])
    project = structs.replace(records, left_out=[])

    printed = []
    for shown in (records, project):
        out = StringIO()
        print_report(shown, out)
        printed.append(out.getvalue().splitlines()[-1])

    assert "1 invalid record excluded" in printed[0]
    assert "1 sample excluded by rules" in printed[1]


def rows_of(markdown: str) -> list[list[str]]:
    """The cells of every line of every table, as GitHub would split them."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]


def hostile(name: str) -> Report:
    failure = Failure(stage="solver", type="ValueError", message=f"no {name}\nanswer", hint=name)
    return report_of(
        [outcome(name, "a", 1.0), outcome(name, "b", None, failure=failure), outcome("m", "a", 1.0)]
    )


def test_a_report_opens_with_its_tasks_and_how_the_run_went() -> None:
    issue = Issue(line=1, rule="bad_json", field=None, detail="cut short")
    outcomes = [outcome("m", "a", 1.0, task="x_y"), outcome("m", "b", None, task="x_y")]

    lines = report_of(outcomes, issues=[issue], notes=["m: a script"]).to_markdown().splitlines()

    assert lines[0] == "# x\\_y"
    assert lines[2].startswith(
        "Run `20261115-120000-abcd`, finished with failures: "
        "1 of 2 samples completed, 1 failed, 1 excluded. evalwright "
    )
    assert lines[4] == "- m: a script"


def test_a_table_has_a_title_a_note_a_header_a_rule_and_its_rows() -> None:
    text = report_of([outcome("m", "a", 1.0)]).to_markdown()

    assert (
        "## Leaderboard\n"
        "\n"
        "mean over the 1 sample that it completed\n"
        "\n"
        "| # | model | mean | 95 % interval | completed |\n"
        "| --: | :-- | --: | --: | --: |\n"
        "| 1 | m | 1.00 | \\[0.21, 1.00\\] | 1/1 |\n"
    ) in text
    assert text.endswith("|\n")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("x/a|b", id="a pipe"),
        pytest.param("x/a\\|b", id="a pipe that is already escaped"),
        pytest.param("x/<img src=y>", id="HTML"),
        pytest.param("x/`a|b`", id="a code span"),
        pytest.param("x/a\n\n# b", id="a line break"),
    ],
)
def test_a_model_name_cannot_leave_its_cell(name: str) -> None:
    text = hostile(name).to_markdown()

    counts = {len(row) for row in rows_of(hostile("m2").to_markdown())}
    assert {len(row) for row in rows_of(text)} == counts
    assert not re.search(r"(?<!\\)<", text)
    assert not re.search("^# b", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("a|b", "a\\|b", id="pipe"),
        pytest.param("<b>", "\\<b\\>", id="HTML"),
        pytest.param("*a*_b_", "\\*a\\*\\_b\\_", id="emphasis"),
        pytest.param("[a](b)", "\\[a\\](b)", id="link"),
        pytest.param("`a_b`", "\\`a\\_b\\`", id="code: an escape inside it would show"),
        pytest.param("&lt;~~a~~", "\\&lt;\\~\\~a\\~\\~", id="entity, struck out"),
        pytest.param("a\\b", "a\\\\b", id="backslash"),
    ],
)
def test_what_others_wrote_is_shown_as_they_wrote_it(name: str, shown: str) -> None:
    text = report_of([outcome(name, "a", 1.0)]).to_markdown()

    assert f"| 1 | {shown} | 1.00 |" in text


def test_null_is_a_dash() -> None:
    text = report_of([outcome("m", "a", None)]).to_markdown()

    assert "| – | m | – | – | 0/1 | – | 0.00 … 1.00 |" in text
    assert "None" not in text
    assert "nan" not in text
