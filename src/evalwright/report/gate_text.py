"""What the policies of a gate say of a run, as lines and as a page."""

from collections.abc import Iterator

from evalwright.report.policies import Judgement
from evalwright.report.report import PolicyRow
from evalwright.report.report_tables import count_rules, policies_table
from evalwright.report.tables import visible
from evalwright.report.to_markdown import table_text


def gate_lines(judgement: Judgement) -> Iterator[str]:
    """Yield two lines per rule: what must hold, and why it does or does not."""
    width = max(len(_rule_name(row)) for row in judgement.policies)
    for row in judgement.policies:
        yield visible(f"{_verdict(row)}  {_rule_name(row):<{width}}  {row.demand}").rstrip()
        yield visible(f"       {row.reason}")
    yield f"{judgement.run_id}: {count_rules(judgement.policies)}"


def gate_markdown(judgement: Judgement) -> str:
    """Return a page for an issue or a pull request."""
    verdict = "The policies hold" if judgement.holds else "The policies do not hold"
    strict = ", judged by whole intervals" if judgement.strict else ""
    title = f"# {verdict}\n\nRun `{judgement.run_id}`{strict}."
    return f"{title}\n\n{table_text(policies_table(judgement.policies))}\n"


def _verdict(row: PolicyRow) -> str:
    return "holds" if row.holds else "FAILS"


def _rule_name(row: PolicyRow) -> str:
    return f"{row.policy}/{row.rule}"
