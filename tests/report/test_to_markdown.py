import re

import pytest
from tests.report.made import outcome, report_of

from evalwright.report.report import Report
from evalwright.types import Failure, Issue


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
        "1 of 2 samples completed, 1 failed, 1 left out. evalwright "
    )
    assert lines[4] == "- m: a script"


def test_a_table_has_a_title_a_note_a_header_a_rule_and_its_rows() -> None:
    text = report_of([outcome("m", "a", 1.0)]).to_markdown()

    assert (
        "## Leaderboard\n"
        "\n"
        "mean over the 1 task that it completed\n"
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
