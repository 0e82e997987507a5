from evalwright.report.gate_text import gate_lines, gate_markdown
from evalwright.report.policies import Judgement
from evalwright.report.report import PolicyRow
from evalwright.report.report_tables import policies_table


def verdict(rule: str, *, holds: bool, reason: str = "why") -> PolicyRow:
    return PolicyRow(
        policy="release",
        rule=rule,
        name=rule.title(),
        demand="bleu >= 0.5",
        holds=holds,
        reason=reason,
        figures=[],
    )


ROWS = [verdict("one", holds=True), verdict("other", holds=False)]


def judgement(*rows: PolicyRow, strict: bool = False) -> Judgement:
    holds = all(row.holds for row in rows)
    return Judgement(run_id="r1", holds=holds, strict=strict, policies=list(rows))


def test_a_rule_is_a_row() -> None:
    table = policies_table(ROWS)

    assert table.rows == [
        ("release", "One", "bleu >= 0.5", "holds", "why"),
        ("release", "Other", "bleu >= 0.5", "FAILS", "why"),
    ]
    assert table.note == "2 rules, 1 fails"
    assert policies_table(ROWS[:1]).note == "1 rule, none fails"


def test_a_gate_prints_what_must_hold_and_why() -> None:
    assert list(gate_lines(judgement(*ROWS))) == [
        "holds  release/one    bleu >= 0.5",
        "       why",
        "FAILS  release/other  bleu >= 0.5",
        "       why",
        "r1: 2 rules, 1 fails",
    ]


def test_what_an_author_or_a_model_wrote_acts_on_no_terminal_and_no_page() -> None:
    row = verdict("one", holds=False, reason="a\x1b[31m | <b>\u202e")

    assert "\x1b" not in "".join(gate_lines(judgement(row)))
    assert "\u202e" not in "".join(gate_lines(judgement(row)))
    assert "\\| \\<b\\>" in gate_markdown(judgement(row))


def test_a_page_says_at_once_whether_all_holds() -> None:
    assert gate_markdown(judgement(*ROWS)).startswith("# The policies do not hold\n\nRun `r1`.\n")
    strict = gate_markdown(judgement(ROWS[0], strict=True))
    assert strict.startswith("# The policies hold\n\nRun `r1`, judged by whole intervals.\n")
