"""Lesson 74, the leaderboard: rows from scores, intervals, paired differences, rendering."""

import json

import pytest

import evalwright as ew

TASKS = [f"t{n}" for n in range(12)]
GOOD = dict.fromkeys(TASKS, 1.0)
MIXED = {task: float(n % 3 == 0) for n, task in enumerate(TASKS)}
SCORES = {"mixed": MIXED, "good": GOOD}
CATEGORIES = {task: "mcq" if n < 6 else "summary" for n, task in enumerate(TASKS)}


def test_the_best_model_comes_first() -> None:
    rows = ew.leaderboard.rank(SCORES)

    assert [(row.rank, row.model, row.mean) for row in rows] == [
        (1, "good", 1.0),
        (2, "mixed", pytest.approx(1 / 3)),
    ]


def test_equal_models_share_a_rank_and_split_the_wins() -> None:
    rows = ew.leaderboard.rank({"a": GOOD, "b": GOOD})

    assert [row.rank for row in rows] == [1, 1]
    assert [row.win_rate for row in rows] == [0.5, 0.5]


def test_a_row_has_an_interval_around_its_mean() -> None:
    for row in ew.leaderboard.rank(SCORES):
        assert row.mean is not None
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert 0 <= row.ci_low <= row.mean <= row.ci_high <= 1
        assert row.ci_low < row.ci_high


def test_a_failure_is_in_no_mean_and_is_counted() -> None:
    failed = {**GOOD, "t0": None}
    first, second = ew.leaderboard.rank({"failed": failed, "mixed": MIXED})

    assert (first.model, first.completed, first.total, first.n) == ("failed", 11, 12, 11)
    assert first.own_low == pytest.approx(11 / 12)
    assert (first.own_mean, first.own_high) == (1.0, 1.0)
    assert second.completed == 12


def test_categories_have_their_own_means() -> None:
    rows = ew.leaderboard.rank(SCORES, categories=CATEGORIES)

    assert rows[0].categories == {"mcq": 1.0, "summary": 1.0}
    assert rows[1].categories == {"mcq": pytest.approx(1 / 3), "summary": pytest.approx(1 / 3)}


def test_a_difference_whose_interval_excludes_zero_is_significant() -> None:
    (row,) = ew.leaderboard.compare(SCORES)

    assert (row.a, row.b, row.n) == ("good", "mixed", 12)
    assert row.difference == pytest.approx(2 / 3)
    assert row.ci_low is not None
    assert row.ci_low > 0
    assert row.significant


def test_equal_models_are_tied() -> None:
    (row,) = ew.leaderboard.compare({"a": MIXED, "b": MIXED})

    assert (row.difference, row.significant) == (0.0, False)


def test_a_score_outside_the_unit_interval_is_refused() -> None:
    for score in (1.1, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"expected a score in \[0, 1\]"):
            ew.leaderboard.rank({"a": {"t": score}})


def test_nothing_to_rank_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match="`scores` is empty"):
        ew.leaderboard.rank({})
    with pytest.raises(ValueError, match="at least 1 sample, got none"):
        ew.leaderboard.rank({"a": {}})


def test_a_bootstrap_is_seeded() -> None:
    scores = [0.1, 0.5, 0.9, 0.7]

    assert ew.bootstrap_mean_ci(scores, seed=1) == ew.bootstrap_mean_ci(scores, seed=1)
    assert ew.leaderboard.rank({"a": scores}, seed=7) == ew.leaderboard.rank({"a": scores}, seed=7)
    with pytest.raises(ValueError, match="`scores` is empty"):
        ew.bootstrap_mean_ci([])


def test_wilson_has_a_width_where_every_answer_is_right() -> None:
    interval = ew.intervals.wilson(10, 10)

    assert interval.low == pytest.approx(0.7225, abs=1e-4)
    assert interval.high == 1.0
    with pytest.raises(ValueError, match="at least 1 trial"):
        ew.intervals.wilson(0, 0)


def test_a_leaderboard_is_text_markdown_and_json() -> None:
    rows, pairs = ew.leaderboard.rank(SCORES), ew.leaderboard.compare(SCORES)

    text = ew.leaderboard.to_text(rows, pairs)
    markdown = ew.leaderboard.to_markdown(rows, pairs)
    data = json.loads(ew.leaderboard.to_json(rows, pairs))

    assert text.startswith("Leaderboard\n")
    assert "good − mixed" in text
    assert "| 1 | good | 1.00 |" in markdown
    assert [row["model"] for row in data["leaderboard"]] == ["good", "mixed"]
    assert data["pairwise"][0]["significant"] is True
