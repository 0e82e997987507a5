from collections.abc import Iterable
from typing import Any

import pytest
from tests.metrics.cases import measures

from evalwright.metrics.scores import Measure

FIELDS = {
    "type": "bradley_terry",
    "field": "score",
    "contestant": "{{ sample.a }}",
    "opponent": "{{ sample.b }}",
}
FOOD = {
    ("Pizza", "Sushi"): 2.0, ("Pasta", "Burger"): 2.0, ("Tacos", "Pizza"): 4.0,
    ("Tacos", "Sushi"): 1.0, ("Burger", "Pizza"): 3.0, ("Tacos", "Burger"): 1.0,
    ("Pasta", "Tacos"): 1.0, ("Sushi", "Burger"): 4.0, ("Burger", "Sushi"): 2.0,
    ("Burger", "Tacos"): 1.0, ("Tacos", "Pasta"): 4.0, ("Sushi", "Tacos"): 1.0,
    ("Sushi", "Pasta"): 1.0, ("Pizza", "Pasta"): 1.0,
}  # fmt: skip
"""Wins in `food.csv`, the example data of evalica (github.com/dustalov/evalica)."""
FOOD_TIES = [("Pizza", "Pasta"), ("Sushi", "Pasta")]


def rows(*games: tuple[Any, Any, Any]) -> list[dict[str, Any]]:
    return [{"a": a, "b": b, "score": score} for a, b, score in games]


def food() -> list[dict[str, Any]]:
    won = [(a, b, 1) for (a, b), times in FOOD.items() for _ in range(int(times))]
    return rows(*won, *((a, b, 0.5) for a, b in FOOD_TIES))


def rank(games: Iterable[dict[str, Any]], **more: Any) -> dict[str, Measure]:
    return {each.name: each for each in measures({**FIELDS, **more}, games)}


def values(found: dict[str, Measure], kind: str) -> dict[str, float | None]:
    return {
        name.removesuffix(f"_{kind}"): each.value
        for name, each in found.items()
        if name.endswith(kind)
    }


def test_strengths_are_those_of_evalica() -> None:
    found = values(rank(food()), "strength")

    # evalica 0.4.2: bradley_terry(…, tolerance=1e-13, limit=100000)
    assert found == pytest.approx(
        {
            "Tacos": 2.509025106194869,
            "Sushi": 1.1011561163592993,
            "Burger": 0.8549063536432601,
            "Pasta": 0.7403814322378546,
            "Pizza": 0.5718367125206294,
        },
        rel=1e-9,
    )
    # food-golden.csv of evalica, where the sum is 1 and not the geometric mean
    assert found["Tacos"] is not None
    total = sum(value or 0 for value in found.values())
    assert found["Tacos"] / total == pytest.approx(0.43428982771223773, rel=1e-5)


def test_the_strongest_is_first_and_ranks_have_intervals_of_whole_numbers() -> None:
    found = rank(food())

    assert list(values(found, "rank").items()) == [
        *(("Tacos", 1), ("Sushi", 2), ("Burger", 3), ("Pasta", 4), ("Pizza", 5)),
    ]
    assert {each.n for each in found.values()} == {30}
    for name, each in found.items():
        assert each.interval
        assert each.value is not None
        assert each.interval.low <= each.value <= each.interval.high
        if name.endswith("rank"):
            assert each.interval.low.is_integer()
            assert 1 <= each.interval.low < each.interval.high <= 5


def test_equal_strengths_share_a_rank_and_ties_alone_have_no_interval() -> None:
    ties = rank(rows(("x", "y", 0.5), ("y", "z", 0.5), ("z", "x", 0.5)))
    shared = rank(rows(*[("x", "y", 1), ("x", "z", 1)] * 3, ("y", "x", 1), ("z", "x", 1)))

    assert set(values(ties, "rank").values()) == set(values(ties, "strength").values()) == {1.0}
    assert {each.interval for each in ties.values()} == {None}
    assert all("no interval: resamples are all equal" in each.reason for each in ties.values())
    assert values(shared, "rank") == {"x": 1, "y": 2, "z": 2}


def test_who_never_lost_has_a_rank_but_no_strength() -> None:
    found = rank(rows(*[("best", "x", 1), ("best", "y", 1), ("x", "y", 1), ("y", "x", 1)] * 5))

    assert values(found, "rank") == {"best": 1, "x": 2, "y": 2}
    assert set(values(found, "strength").values()) == {None}
    assert found["best_strength"].reason == "undefined: `best` never lost to `x`, `y`"
    assert found["best_rank"].interval is None
    assert "`best` has only wins or only losses" in found["best_rank"].reason
    assert found["x_rank"].interval


@pytest.mark.parametrize(
    ("games", "name", "reason"),
    [
        pytest.param([], "bradley_terry", "there are no scores", id="nothing"),
        pytest.param(
            [("x", "x", 1)], "bradley_terry", "undefined: there is only one contestant, `x`",
            id="one contestant",
        ),
        pytest.param(
            [("x", "y", 1), ("y", "x", 1), ("z", "نموذج", 0)], "x_rank",
            "undefined: no comparison connects `x`, `y` with `z`, `نموذج`", id="two islands",
        ),
        pytest.param(
            [("x", "y", 1), ("x", "z", 1)], "y_rank",
            "undefined: the comparisons do not decide between `y` and `z`", id="left open",
        ),
        pytest.param(
            [("x", None, 1), ("x", "y", None)], "bradley_terry", "2 of 2 scores have no value",
            id="nothing complete",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_ranked_says_why(
    games: list[tuple[Any, Any, Any]], name: str, reason: str
) -> None:
    found = rank(rows(*games))[name]

    assert (found.value, found.interval) == (None, None)
    assert found.reason == reason


def test_excluded_comparisons_are_counted() -> None:
    found = rank([*food(), *rows(("Pizza", "Pizza", 1), ("Pizza", None, 1))])

    assert found["Tacos_strength"].value == pytest.approx(2.509025106194869)
    assert found["Tacos_strength"].reason == (
        "1 of 32 scores have no value; 1 comparisons of a contestant with itself are excluded"
    )


def test_the_evaluated_model_is_the_default_contestant() -> None:
    fields = {"type": "bradley_terry", "field": "score", "opponent": "{{ sample.b }}"}
    found = measures(fields, rows((0, "old", 1), (0, "old", 1), (0, "old", 0)))

    assert [(each.name, each.value) for each in found] == [
        ("the model_rank", 1),
        ("the model_strength", pytest.approx(2**0.5)),
        ("old_rank", 2),
        ("old_strength", pytest.approx(0.5**0.5)),
    ]


def test_a_score_outside_the_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"expected scores from 0 to 1 in `score`, got `3`"):
        rank(rows(("x", "y", 3)))


def test_a_name_per_sample_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected at most 1,000 contestants, got 1,201"):
        rank(rows(*((number, number + 1, 1) for number in range(1_200))))


def test_more_contestants_than_can_be_resampled_have_no_interval() -> None:
    found = rank(rows(*((n, (n + step) % 120, 1) for n in range(120) for step in (1, 7))))

    assert len(found) == 240
    assert all(each.reason == "no interval: more than 100 contestants" for each in found.values())
