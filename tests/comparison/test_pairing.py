import evalwright as ew


def fail(prompt: str) -> str:
    raise ValueError(prompt)


def test_models_without_a_sample_that_both_completed_are_undecided() -> None:
    task = ew.Task("t", [{"word": "a", "target": "a"}], prompt="{word}", scorers=["exact_match"])
    report = ew.run(task, ["scripted/echo", fail])

    comparison = ew.compare(report)

    assert len(comparison) == 1
    assert {(row.n, row.difference, row.verdict) for row in comparison} == {(0, None, "undecided")}
    assert repr(comparison) == (
        f"<ComparisonReport {report.run_id} and {report.run_id}: 1 comparisons, 1 undecided, "
        "0 samples changed>"
    )
