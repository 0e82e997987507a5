import evalwright as ew


def fail(prompt: str) -> str:
    raise ValueError(prompt)


def test_models_without_a_sample_that_both_completed_are_undecided() -> None:
    task = ew.Task("t", [{"word": "a", "target": "a"}], prompt="{word}", scorers=["exact_match"])
    report = ew.run(task, ["scripted/echo", fail])

    rows = ew.compare(report).comparisons

    assert rows
    assert {(row.n, row.difference, row.verdict) for row in rows} == {(0, None, "undecided")}
