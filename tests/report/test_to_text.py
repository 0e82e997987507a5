import re
from io import StringIO

import pytest
from rich.console import Console
from tests.report.made import outcome, report_of

from evalwright.report.report import Report
from evalwright.report.tables import shorten
from evalwright.report.to_text import _print, print_report
from evalwright.types import Issue

LONG = "provider/a-model-with-a-name-of-36-sign"


def piped(report: Report) -> str:
    out = StringIO()
    print_report(report, out)
    return out.getvalue()


def on_a_terminal(report: Report, width: int) -> str:
    out = StringIO()
    _print(report, Console(file=out, highlight=False, width=width, force_terminal=True))
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())


def many_columns(name: str) -> Report:
    """Failures, bounds and five categories: as wide as tables get."""
    groups = ["arithmetic", "classification", "code_exec", "mcq", "summary"]
    first = [outcome(name, group, 0.5, group=group, logprob=-0.5) for group in groups]
    return report_of([*first, outcome(name, "x", None), outcome("m", "x", 1.0, logprob=-0.25)])


def test_without_a_terminal_it_is_plain_text() -> None:
    text = piped(report_of([outcome("m", "a", 1.0)], notes=["m: a script"]))

    assert "\x1b" not in text
    assert not re.search(" $", text, flags=re.MULTILINE)
    assert text.splitlines()[0] == "Leaderboard"
    assert text.splitlines()[-2] == "note: m: a script"


def test_the_last_line_counts() -> None:
    issue = Issue(line=1, rule="bad_json", field=None, detail="cut short")
    clean = report_of([outcome("m", "a", 1.0)])
    mixed = report_of([outcome("m", "a", 1.0), outcome("m", "b", None)], issues=[issue])

    assert piped(clean).splitlines()[-1] == "20261115-120000-abcd: 1 of 1 sample completed, 1.5 s"
    assert piped(mixed).splitlines()[-1] == (
        "20261115-120000-abcd: 1 of 2 samples completed, 1 failed, 1 invalid record excluded, 1.5 s"
    )


@pytest.mark.parametrize("width", [60, 80, 110, 200])
def test_no_number_and_no_name_is_cut_however_narrow_the_terminal(width: int) -> None:
    shown = on_a_terminal(many_columns("scripted/m"), width)

    assert "…" not in shown.replace("0 … 1", "").replace("were 0 …", "").replace(" … ", "")
    for whole in ("scripted/m", "0.607", "0.42 … 0.58", "5/6", "1.65", "completion"):
        assert whole in shown, whole


@pytest.mark.parametrize("name", ["scripted/oracle", LONG])
def test_every_table_fits_eighty_columns(name: str) -> None:
    shown = on_a_terminal(many_columns(name), 80).splitlines()

    assert max(map(len, shown)) <= 80


def test_a_name_that_does_not_fit_loses_its_middle() -> None:
    shown = on_a_terminal(many_columns(LONG), 80)

    assert re.search(r"  provider\S*…\S*sign  ", shown)
    assert shorten(LONG) in on_a_terminal(many_columns(LONG), 200)


def test_names_that_are_shortened_stay_different() -> None:
    names = [LONG, LONG.replace("with", "from")]
    report = report_of([outcome(name, "a", 1.0, group="mcq") for name in names])

    shown = on_a_terminal(report, 60)

    assert len(set(re.findall(r"provider\S*sign", shown))) >= len(names)


def test_notes_wrap_at_words() -> None:
    remark = "m: " + "word " * 60 + "end"

    shown = on_a_terminal(report_of([outcome("m", "a", 1.0)], notes=[remark]), 80)

    assert max(map(len, shown.splitlines())) <= 80
    assert set(shown.partition("note: m:")[2].split()) > {"word", "end"}
    assert "wor\n" not in shown


def test_a_remark_is_one_line_of_a_pipe() -> None:
    remark = "m: " + "word " * 60 + "end"

    assert f"note: {remark}" in piped(report_of([outcome("m", "a", 1.0)], notes=[remark]))


def test_what_others_wrote_is_no_markup() -> None:
    text = piped(report_of([outcome("[red]m[/red] [link=x]y", "a", 1.0)]))

    assert "[red]m[/red] [link=x]y" in text


def test_everything_failed_is_shown_as_dashes() -> None:
    text = piped(report_of([outcome("m", "a", None)]))

    assert re.search(r"^ +– +m +– +– +0/1 +– +0\.00 … 1\.00$", text, flags=re.MULTILINE)
    assert "None" not in text
