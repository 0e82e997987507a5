from typing import Any

import numpy as np
import pytest

from evalwright.plan.outline import PrimaryMetric, TaskOutline
from evalwright.report.ranking import compare_pairs, find_ranked_tasks, rank_models
from evalwright.report.report import LeaderboardRow
from evalwright.stats.arrays import Floats


def scored(*scores: float | None) -> Floats:
    """A score a record; None where it was not completed."""
    return np.array([np.nan if score is None else score for score in scores])


def ranked(**scores: Floats) -> list[LeaderboardRow]:
    return rank_models(scores, [])


def row_of(board: list[LeaderboardRow], model: str) -> LeaderboardRow:
    return next(row for row in board if row.model == model)


def test_models_are_ranked_on_the_tasks_that_all_of_them_completed() -> None:
    # `fails` skipped the hard task: on its own tasks it looks better, on the shared ones it loses.
    board = ranked(steady=scored(1.0, 1.0, 0.0), fails=scored(1.0, 0.5, None))

    assert [row.model for row in board] == ["steady", "fails"]
    assert [row.mean for row in board] == [1.0, 0.75]
    assert [row.n for row in board] == [2, 2]
    assert [row.own_mean for row in board] == [2 / 3, 0.75]


def test_a_failure_is_in_no_mean() -> None:
    (row,) = ranked(model=scored(1.0, None, 1.0, None))

    assert row.mean == row.own_mean == 1.0
    assert (row.completed, row.total) == (2, 4)


def test_the_bounds_count_every_failure_as_0_or_as_1() -> None:
    (row,) = ranked(model=scored(1.0, 0.5, None, None))

    assert row.own_low == (1.0 + 0.5 + 0 + 0) / 4
    assert row.own_high == (1.0 + 0.5 + 1 + 1) / 4


def test_without_failures_the_bounds_are_the_own_mean() -> None:
    (row,) = ranked(model=scored(1.0, 0.5))

    assert row.own_low == row.own_mean == row.own_high == 0.75


def test_equal_means_share_a_rank_and_the_next_one_is_left_out() -> None:
    board = ranked(
        z=scored(1.0, 0.0), y=scored(0.0, 1.0), x=scored(0.0, 0.0), best=scored(1.0, 1.0)
    )

    assert [(row.rank, row.model) for row in board] == [(1, "best"), (2, "y"), (2, "z"), (4, "x")]


def test_of_equals_the_one_that_completed_more_comes_first() -> None:
    board = ranked(a=scored(1.0, None), z=scored(1.0, 1.0))

    assert [(row.rank, row.model) for row in board] == [(1, "z"), (1, "a")]


def test_ties_split_the_win() -> None:
    board = ranked(
        one=scored(1.0, 1.0, 0.0, 0.2),
        two=scored(1.0, 0.0, 0.0, 0.1),
        three=scored(1.0, 0.0, 0.0, 0.1),
    )

    wins = {row.model: row.win_rate for row in board}
    assert wins["one"] == pytest.approx((1 / 3 + 1 + 1 / 3 + 1) / 4)
    assert wins["two"] == wins["three"] == pytest.approx((1 / 3 + 0 + 1 / 3 + 0) / 4)
    assert sum(rate for rate in wins.values() if rate is not None) == pytest.approx(1)


def test_categories_are_means_over_the_shared_tasks() -> None:
    scores = {"one": scored(1.0, 0.0, 1.0, 1.0), "two": scored(0.5, 0.5, 0.25, None)}
    categories = [
        ("arithmetic", np.array([True, True, False, False])),
        ("mcq", np.array([False, False, True, True])),
    ]

    board = rank_models(scores, categories)

    assert row_of(board, "one").categories == {"arithmetic": 0.5, "mcq": 1.0}
    assert row_of(board, "two").categories == {"arithmetic": 0.5, "mcq": 0.25}


def test_a_category_that_no_task_is_shared_in_is_null() -> None:
    scores = {"one": scored(1.0, 1.0), "two": scored(1.0, None)}
    categories = [("arithmetic", np.array([True, False])), ("mcq", np.array([False, True]))]

    board = rank_models(scores, categories)

    assert row_of(board, "one").categories == {"arithmetic": 1.0, "mcq": None}


def test_a_model_that_completed_nothing_leaves_nobody_ranked() -> None:
    board = ranked(good=scored(1.0, 1.0), broken=scored(None, None))

    assert [row.rank for row in board] == [None, None]
    assert [(row.mean, row.ci_low, row.ci_high, row.win_rate) for row in board] == [(None,) * 4] * 2
    assert row_of(board, "good").own_mean == 1.0
    assert row_of(board, "broken").own_mean is None
    assert (row_of(board, "broken").own_low, row_of(board, "broken").own_high) == (0.0, 1.0)


def test_nothing_at_all_is_null_everywhere() -> None:
    (row,) = ranked(model=scored())

    assert (row.rank, row.mean, row.own_mean, row.own_low, row.own_high) == (None,) * 5
    assert row.categories == {}


@pytest.mark.parametrize(
    ("scores", "method"),
    [
        pytest.param(scored(1.0, 0.0), "wilson", id="right or wrong: Wilson"),
        pytest.param(scored(1.0), "wilson", id="one right answer has a wide interval"),
        pytest.param(scored(0.5, 0.7, 1.0), "bootstrap-t", id="graded: bootstrap"),
        pytest.param(scored(0.5, 0.5), "bound", id="equal graded scores: a bound"),
        pytest.param(scored(0.5, None, 0.5), "bound", id="what failed is not a score"),
    ],
)
def test_every_mean_has_an_interval_of_some_width(scores: Floats, method: str) -> None:
    (row,) = ranked(model=scores)

    assert row.interval == method
    assert row.mean is not None
    assert row.ci_low is not None
    assert row.ci_high is not None
    assert 0 <= row.ci_low <= row.mean <= row.ci_high <= 1
    assert row.ci_high - row.ci_low > 0.1


def test_grades_outside_0_to_1_are_ranked_and_failures_of_them_have_no_bounds() -> None:
    board = ranked(strict=scored(1.0, 2.0, 4.0), kind=scored(5.0, 5.0, None))

    assert [(row.model, row.mean, row.own_mean) for row in board] == [
        ("kind", 5.0, 5.0),
        ("strict", 1.5, 7 / 3),
    ]
    assert {(row.own_low, row.own_high) for row in board} == {(None, None)}


def test_equal_differences_of_grades_have_no_interval_and_are_not_called_significant() -> None:
    (row,) = compare_pairs({"a": scored(5.0, 4.0), "b": scored(4.0, 3.0)}, ["a", "b"])

    assert (row.difference, row.ci_low, row.significant, row.n) == (1.0, None, False, 2)


def test_excluded_samples_are_not_in_the_total() -> None:
    (row,) = rank_models({"m": scored(1.0, None, None)}, [], excluded={"m": 1})

    assert (row.completed, row.total, row.own_low, row.own_high) == (1, 2, 0.5, 1.0)


def test_intervals_can_be_withheld() -> None:
    scores = {"a": scored(1.0, 1.0), "b": scored(0.0, 1.0)}

    assert {row.ci_low for row in rank_models(scores, [], has_intervals=False)} == {None}
    (pair,) = compare_pairs(scores, ["a", "b"], has_intervals=False)
    assert (pair.difference, pair.ci_low, pair.significant) == (0.5, None, False)


def test_the_same_seed_gives_the_same_board() -> None:
    scores = {"one": scored(0.5, 0.7, 1.0), "two": scored(0.1, 0.9, 0.3)}

    assert rank_models(scores, [], seed=7) == rank_models(scores, [], seed=7)
    assert compare_pairs(scores, ["one", "two"], seed=7) == compare_pairs(
        scores, ["one", "two"], seed=7
    )


def test_pairs_are_compared_task_by_task_on_what_all_completed() -> None:
    scores = {"one": scored(1.0, 1.0, 0.0), "two": scored(0.5, 1.0, None)}

    rows = compare_pairs(scores, ["one", "two"])

    assert [(row.a, row.b, row.difference, row.n) for row in rows] == [("one", "two", 0.25, 2)]


def test_every_pair_is_there_once_in_the_order_of_the_board() -> None:
    scores = {name: scored(1.0) for name in ("x", "y", "z")}

    rows = compare_pairs(scores, ["z", "x", "y"])

    assert [(row.a, row.b) for row in rows] == [("z", "x"), ("z", "y"), ("x", "y")]


def test_one_model_has_nobody_to_be_compared_with() -> None:
    assert compare_pairs({"model": scored(1.0)}, ["model"]) == []


def test_a_pair_that_shares_no_task_has_a_null_difference_and_is_not_significant() -> None:
    (row,) = compare_pairs({"one": scored(1.0), "two": scored(None)}, ["one", "two"])

    assert (row.difference, row.ci_low, row.ci_high) == (None, None, None)
    assert (row.significant, row.n) == (False, 0)


def test_a_difference_is_significant_when_its_interval_excludes_zero() -> None:
    scores = {
        "always": scored(*[1.0] * 30),
        "seldom": scored(*(float(n % 3 == 0) for n in range(30))),
        "nearly": scored(*(float(n > 0) for n in range(30))),
    }

    (apart,) = compare_pairs(scores, ["always", "seldom"])
    (tied,) = compare_pairs(scores, ["always", "nearly"])

    assert apart.significant
    assert apart.ci_low is not None
    assert apart.ci_low > 0
    assert not tied.significant
    assert tied.ci_low is not None
    assert tied.ci_low <= 0


PRIMARY = PrimaryMetric(scorer="exact", field="is_correct", metric="is_correct_mean")


def spec(name: str, *models: str, **fields: Any) -> TaskOutline:
    known = {"task_key": "qa", "records": 2, "primary": PRIMARY, "samples_digest": "d", **fields}
    return TaskOutline(name=name, models=models, **known)


def contestants(*tasks: TaskOutline) -> list[tuple[str, list[str]]]:
    return [
        (ranked.name, [one.label for one in ranked.contestants])
        for ranked in find_ranked_tasks(tasks)
    ]


@pytest.mark.parametrize(
    ("tasks", "found"),
    [
        pytest.param([spec("one", "m", "n")], [("one", ["m", "n"])], id="two models of a task"),
        pytest.param([spec("one", "m")], [], id="one model alone"),
        pytest.param(
            [spec("one", "m", "n", primary=None)], [], id="no metric that models are ranked by"
        ),
        pytest.param(
            [spec("one", "m"), spec("two", "m")],
            [("qa", ["one (m)", "two (m)"])],
            id="two specifications with one model",
        ),
        pytest.param(
            [spec("one", "m"), spec("two", "n")],
            [("qa", ["m", "n"])],
            id="two specifications with a model each",
        ),
        pytest.param(
            [spec("one", ""), spec("two", "")], [("qa", ["one", "two"])], id="no model is asked"
        ),
        pytest.param(
            [spec("one", "m"), spec("two", "m", samples_digest="other")], [], id="other samples"
        ),
        pytest.param(
            [spec("one", "m", samples_digest=""), spec("two", "m", samples_digest="")],
            [],
            id="samples that nobody has told apart",
        ),
        pytest.param([spec("one", "m"), spec("two", "m", task_key="other")], [], id="another task"),
        pytest.param(
            [spec(name, "m", samples_digest=name[0]) for name in ("a1", "a2", "b1", "b2")],
            [("a1, a2", ["a1 (m)", "a2 (m)"]), ("b1, b2", ["b1 (m)", "b2 (m)"])],
            id="a task on two sets of samples",
        ),
    ],
)
def test_what_ran_on_the_same_samples_is_ranked_together(
    tasks: list[TaskOutline], found: list[tuple[str, list[str]]]
) -> None:
    assert contestants(*tasks) == found
