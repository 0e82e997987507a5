import json
import math
from typing import Any

import pytest

import evalwright as ew

SCORES: dict[str, dict[str, float | None]] = {
    "small": {"t1": 0.0, "t2": 1.0, "t3": 0.5},
    "large": {"t1": 1.0, "t2": 1.0, "t3": None},
}
CATEGORIES = {"t1": "mcq", "t2": "summary", "t3": "summary"}


def test_models_are_ranked_on_what_all_of_them_completed() -> None:
    first, second = ew.leaderboard.rank(SCORES)

    assert (first.model, first.rank, first.mean, first.n) == ("large", 1, 1.0, 2)
    assert (first.completed, first.total) == (2, 3)
    assert (first.own_mean, first.own_low, first.own_high) == (1.0, 2 / 3, 1.0)
    assert (second.model, second.rank, second.mean, second.own_mean) == ("small", 2, 0.5, 0.5)
    assert (first.win_rate, second.win_rate) == (0.75, 0.25)


def test_a_task_that_a_model_does_not_name_is_not_completed() -> None:
    named: dict[str, dict[str, float | None]] = {
        "small": SCORES["small"],
        "large": {"t1": 1.0, "t2": 1.0},
    }

    assert ew.leaderboard.rank(named) == ew.leaderboard.rank(SCORES)


def test_lists_are_in_the_order_of_the_tasks() -> None:
    lists = {model: list(row.values()) for model, row in SCORES.items()}

    assert ew.leaderboard.rank(lists) == ew.leaderboard.rank(SCORES)
    assert ew.leaderboard.compare(lists) == ew.leaderboard.compare(SCORES)


def test_categories_have_means_of_their_own() -> None:
    lists = {model: list(row.values()) for model, row in SCORES.items()}

    rows = ew.leaderboard.rank(SCORES, categories=CATEGORIES)

    assert rows[1].categories == {"mcq": 0.0, "summary": 1.0}
    assert ew.leaderboard.rank(lists, categories=list(CATEGORIES.values())) == rows


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        pytest.param({}, "at least 1 model, got none: `scores` is empty", id="no model"),
        pytest.param({"a": []}, "at least 1 sample, got none", id="no task"),
        pytest.param(
            {"a": [1], "b": [1, 0]}, r"for every model, got {'a': 1, 'b': 2}", id="uneven"
        ),
        pytest.param({"a": [1], "b": {"t": 1}}, "for all models or for none, got both", id="mixed"),
        pytest.param({"a": [0, 1.5]}, r"got `1.5` - at `scores\['a'\]\[1\]`", id="above 1"),
        pytest.param({"a": {"t": -1}}, r"got `-1` - at `scores\['a'\]\['t'\]`", id="below 0"),
        pytest.param({"a": ["1"]}, r"got `1` - at `scores\['a'\]\[0\]`", id="a text"),
        pytest.param({"a": [math.nan]}, "or None for a sample that was not completed", id="NaN"),
    ],
)
def test_bad_scores_are_named(scores: Any, message: str) -> None:
    for function in (ew.leaderboard.rank, ew.leaderboard.compare):
        with pytest.raises(ValueError, match=message):
            function(scores)


def test_bad_categories_are_named() -> None:
    with pytest.raises(ValueError, match="one category per sample, got 1 and 2"):
        ew.leaderboard.rank({"a": [0, 1]}, categories=["mcq"])
    with pytest.raises(ValueError, match="expected categories by sample id"):
        ew.leaderboard.rank(SCORES, categories=["mcq"] * 3)
    with pytest.raises(ValueError, match="a category for every sample, got none for `t2`"):
        ew.leaderboard.rank(SCORES, categories={"t1": "mcq"})


def test_nothing_can_be_ranked_if_no_task_is_shared() -> None:
    rows = ew.leaderboard.rank({"a": [1, None], "b": [None, 1]})

    assert [row.mean for row in rows] == [None, None]
    assert "nothing can be ranked" in ew.leaderboard.to_text(rows)


def test_text_has_the_tables_of_a_report() -> None:
    rows = ew.leaderboard.rank(SCORES, categories=CATEGORIES)
    text = ew.leaderboard.to_text(rows, ew.leaderboard.compare(SCORES))

    titles = [part.splitlines()[0] for part in text.strip().split("\n\n")]
    assert titles == ["Leaderboard", "Mean by category", "Differences"]
    assert "2/3" in text


def test_markdown_escapes_the_names_of_models() -> None:
    rows = ew.leaderboard.rank({"a|b": [1, 0]})

    assert r"a\|b" in ew.leaderboard.to_markdown(rows)


def test_json_has_the_fields_of_a_report() -> None:
    rows = ew.leaderboard.rank(SCORES)
    shown = json.loads(ew.leaderboard.to_json(rows, ew.leaderboard.compare(SCORES)))

    assert shown["leaderboard"][0]["model"] == "large"
    assert shown["pairwise"][0]["difference"] == 0.5
    assert set(shown["leaderboard"][0]) == set(ew.leaderboard.LeaderboardRow.__struct_fields__)


@pytest.mark.parametrize("render", [ew.leaderboard.to_text, ew.leaderboard.to_markdown])
def test_no_rows_are_an_error(render: Any) -> None:
    with pytest.raises(ValueError, match="`rows` is empty"):
        render([])


MANY = {f"model-{n:03d}": [n / 60, *(1 - n / 60, 0.5)] for n in range(60)}


def test_a_board_of_many_models_is_cut_with_a_count_and_json_has_all() -> None:
    rows = ew.leaderboard.rank(MANY, categories=["a", "b", "a"])
    pairs = ew.leaderboard.compare(MANY)

    text = ew.leaderboard.to_text(rows, pairs)
    markdown = ew.leaderboard.to_markdown(rows, pairs)
    data = json.loads(ew.leaderboard.to_json(rows, pairs))

    for shown in (text, markdown):
        assert shown.count("the best 50 of 60 models; JSON has all") == 2, "board and categories"
        assert "the 91 pairs of the best 14 models of 1,770 pairs; JSON has all" in shown
        assert shown.count(" − ") == 91
    assert (len(data["leaderboard"]), len(data["pairwise"])) == (60, 1_770)


def test_a_board_of_few_models_is_not_cut() -> None:
    few = dict(list(MANY.items())[:14])
    rows, pairs = ew.leaderboard.rank(few), ew.leaderboard.compare(few)

    text = ew.leaderboard.to_text(rows, pairs)

    assert "JSON has all" not in text
    assert text.count(" − ") == 91
