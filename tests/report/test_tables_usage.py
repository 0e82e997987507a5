from io import StringIO

import pytest
from msgspec import structs
from tests.report.made import outcome, report_of

from evalwright.report.report import Report, UsageRow
from evalwright.report.tables import tables
from evalwright.report.tables_usage import usage_tables
from evalwright.report.to_markdown import to_markdown
from evalwright.report.to_text import print_report


def row(cost: float | None) -> UsageRow:
    return UsageRow(requests=2, prompt_tokens=20, completion_tokens=10, total_tokens=30, cost=cost)


def report(kind: str = "evaluation", **fields: object) -> Report:
    made = structs.replace(report_of([outcome("m", "a", 1.0)]), kind=kind, perplexity={})
    return structs.replace(made, **fields)


def test_the_answers_and_what_was_asked_beside_them_are_two_tables() -> None:
    shown = report(usage={"m": row(0.5)}, asked_beside={"judge": row(0.25), "m": row(0.25)})

    answers, beside = usage_tables(shown)

    assert (answers.title, answers.rows) == ("Usage", [("m", "2", "20", "10", "$0.50")])
    assert beside.title == "Asked beside the answers"
    assert [cells[0] for cells in beside.rows] == ["judge", "m"]
    assert beside.note.endswith("; the run cost $1.00 with the answers")


def test_a_cost_that_is_not_known_makes_the_whole_unknown() -> None:
    _, beside = usage_tables(report(usage={"m": row(0.5)}, asked_beside={"judge": row(None)}))

    assert beside.rows[0][-1] == "unknown"
    assert beside.note.endswith("; what the run cost is not known")


def test_where_nothing_was_asked_beside_there_is_no_table() -> None:
    titles = [table.title for table in tables(report(usage={"m": row(0.5)}))]

    assert "Asked beside the answers" not in titles
    assert "Usage" in titles


@pytest.mark.parametrize("kind", ["evaluation", "records"])
def test_both_tables_are_printed_and_written(kind: str) -> None:
    shown = report(kind, usage={"m": row(0.5)}, asked_beside={"judge": row(0.25)})

    out = StringIO()
    print_report(shown, out)

    assert "Asked beside the answers" in out.getvalue()
    assert "## Asked beside the answers" in to_markdown(shown)
