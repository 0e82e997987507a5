import math

from tests.report.export.made import RECORD, completed, failed, fanned_out, judged

from evalwright.report.export import TableLayout, outcome_row, to_json
from evalwright.types import Score


def test_a_completed_outcome_has_no_failure() -> None:
    row = outcome_row(completed())

    assert row.status == "completed"
    assert row.failure is None
    assert row.scores == {"record": {"score": 1.0}}
    assert row.metadata == {}


def test_a_failed_outcome_is_null_where_nothing_is_known() -> None:
    row = outcome_row(failed())

    assert row.status == "failed"
    assert (row.input, row.output, row.post_processed) == (None, None, None)
    assert (row.usage, row.latency_s) == (None, None)
    assert row.scores == {}


def test_what_a_scorer_adds_stands_under_its_name() -> None:
    assert outcome_row(judged()).metadata == {"record": RECORD}


def test_a_score_that_is_no_number_is_null() -> None:
    outcome = completed(scores={"record": Score(values={"score": math.nan, "best": math.inf})})

    assert outcome_row(outcome).scores == {"record": {"score": None, "best": None}}


def test_half_a_surrogate_pair_is_escaped_in_json_and_infinity_is_null() -> None:
    assert to_json({"text": "\ud800", "value": math.inf}) == b'{"text": "\\ud800", "value": null}'


def test_a_table_has_a_column_for_every_score_that_any_outcome_has() -> None:
    late = completed(
        scores={"record": Score(values={"score": 0.0, "f1": 0.5}), "judge": Score(values={"ok": 1})}
    )
    layout = TableLayout([failed(), completed(), late])

    names = [column.name for column in layout.columns]

    assert names[7:12] == ["post_processed", "record.score", "record.f1", "judge.ok", "metadata"]
    assert [cells[8:11] for cells in layout.rows(completed())] == [(1.0, None, None)]
    assert [cells[8:11] for cells in layout.rows(late)] == [(0.0, 0.5, 1.0)]


def test_a_row_has_a_cell_for_every_column() -> None:
    outcomes = [completed(), failed(), judged()]
    layout = TableLayout(outcomes)

    widths = {len(cells) for one in outcomes for cells in layout.rows(one)}
    assert widths == {len(layout.columns)}


def test_each_part_of_a_sample_has_a_row_with_its_scores_and_what_excluded_it() -> None:
    outcomes = [fanned_out(), failed()]
    layout = TableLayout(outcomes)
    names = [column.name for column in layout.columns]

    rows = [dict(zip(names, cells, strict=True)) for one in outcomes for cells in layout.rows(one)]

    wanted = ("sample_id", "part", "record.score", "sample", "excluded_by")
    assert [tuple(row[name] for name in wanted) for row in rows] == [
        ("a", 0, 1.0, '{"n":1}', "[]"),
        ("a", 1, 0.0, '{"n":2}', '["odd"]'),
        ("b", None, None, "{}", "[]"),
    ]
    assert [(row["usage.cost"], row["latency_s"]) for row in rows] == [
        (0.25, 0.5),
        (None, None),
        (None, None),
    ]
    assert "part" not in [column.name for column in TableLayout([completed()]).columns]
