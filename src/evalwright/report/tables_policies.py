"""What policies say of a run: a table of the report, and the lines and the page of a gate."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalwright.report.report import PolicyRow
from evalwright.report.samples import visible
from evalwright.report.tables import Table, counted, shortened
from evalwright.report.to_markdown import table_text

if TYPE_CHECKING:
    from evalwright.report.policies import Judgement

_LONGEST_REASON = 300


def policies_table(rows: Sequence[PolicyRow]) -> Table:
    """A rule a row, with the reason of its verdict."""
    return Table(
        "Policies",
        ("policy", "rule", "demand", "verdict", "why"),
        [
            (
                shortened(row.policy),
                shortened(row.name),
                shortened(row.demand, _LONGEST_REASON),
                "holds" if row.holds else "FAILS",
                shortened(row.reason, _LONGEST_REASON),
            )
            for row in rows
        ],
        note=summed(rows),
    )


def summed(rows: Sequence[PolicyRow]) -> str:
    """`3 rules, 1 fails`."""
    bad = sum(not row.holds for row in rows)
    verdict = f"{bad} {'fails' if bad == 1 else 'fail'}" if bad else "none fails"
    return f"{counted(len(rows), 'rule')}, {verdict}"


def gate_lines(judged: "Judgement") -> Iterator[str]:
    """For people: two lines a rule, what must hold and why it does or does not."""
    width = max(len(_named(row)) for row in judged.policies)
    for row in judged.policies:
        yield visible(f"{_verdict(row)}  {_named(row):<{width}}  {row.demand}").rstrip()
        yield visible(f"       {row.reason}")
    yield f"{judged.run_id}: {summed(judged.policies)}"


def gate_markdown(judged: "Judgement") -> str:
    """For an issue, a pull request or a page."""
    verdict = "The policies hold" if judged.holds else "The policies do not hold"
    strict = ", judged by whole intervals" if judged.strict else ""
    title = f"# {verdict}\n\nRun `{judged.run_id}`{strict}."
    return f"{title}\n\n{table_text(policies_table(judged.policies))}\n"


def _verdict(row: PolicyRow) -> str:
    return "holds" if row.holds else "FAILS"


def _named(row: PolicyRow) -> str:
    return f"{row.policy}/{row.rule}"
