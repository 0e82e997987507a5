"""A report as GitHub-flavoured markdown."""

from evalwright.report.report import Report
from evalwright.report.report_tables import remarks, tables
from evalwright.report.tables import Table


def to_markdown(report: Report) -> str:
    """Title, summary, remarks and every table."""
    summary = report.summary
    parts = [
        f"# {_escape(', '.join(report.tasks))}",
        (
            f"Run `{report.run_id}`, {report.status.replace('_', ' ')}: "
            f"{summary.completed} of {summary.samples} samples completed, {summary.failed} failed, "
            f"{summary.excluded} left out. evalwright {report.version}."
        ),
    ]
    if said := remarks(report):
        parts.append("\n".join(f"- {_escape(remark)}" for remark in said))
    parts.extend(map(table_text, tables(report)))
    return "\n\n".join(parts) + "\n"


def table_text(table: Table) -> str:
    """One table under its title."""
    rule = ("--:" if index in table.numeric else ":--" for index in range(len(table.columns)))
    lines = [f"## {_escape(table.title)}", ""]
    if table.note:
        lines += [f"{_escape(table.note)}", ""]
    lines += [_row(table.columns), f"| {' | '.join(rule)} |"]
    lines += [_row(row) for row in table.rows]
    if table.below:
        lines += ["", "```text", *(line.replace("`", "'") for line in table.below), "```"]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(_escape(cell) for cell in cells)} |"


def _escape(text: str) -> str:
    """Text that a model or an author wrote must not become markup or another cell."""
    for sign in "\\|<>*_[]`~&":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
