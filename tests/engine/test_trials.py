"""Several trials of a sample become one score of it."""

import math
from typing import Any

import pytest

from evalwright.engine.trials import CombinedTrials, TrialFailures, combine_trials
from evalwright.plan.finalization import TrialAggregate
from evalwright.types import Failure


def aggregate(function: str, k: int = 0, *names: str, score: str = "ok") -> TrialAggregate:
    return TrialAggregate(
        score=score, function=function, k=k, names=names or (f"{score}.{function}",)
    )


def trials(*values: Any, name: str = "ok") -> list[dict[str, Any]]:
    return [{name: value} for value in values]


def once(made: CombinedTrials) -> dict[str, Any]:
    """The values, each under one name."""
    return {name: value for name, value in made.values.items() if name not in made.again}


THREE_OF_FIVE = trials(1, 0, 1, 1, 0)


# By hand, with p = 3/5: 1 - 0.4^5 and 0.6^5, as the format's own page has them.
@pytest.mark.parametrize(
    ("function", "k", "expected"),
    [
        pytest.param("mean", 0, 0.6, id="mean"),
        pytest.param("min", 0, 0.0, id="min"),
        pytest.param("max", 0, 1.0, id="max"),
        pytest.param("pass@k", 1, 0.6, id="pass@1 is the rate"),
        pytest.param("pass@k", 5, 0.98976, id="pass@5"),
        pytest.param("pass^k", 1, 0.6, id="pass^1 is the rate"),
        pytest.param("pass^k", 5, 0.07776, id="pass^5"),
        pytest.param("pass@k", 10, 1 - 0.4**10, id="k above the trials is legal"),
    ],
)
def test_three_of_five(function: str, k: int, expected: float) -> None:
    made = combine_trials(THREE_OF_FIVE, [aggregate(function, k, "it")])

    assert made.values["it"] == pytest.approx(expected, abs=1e-12)
    assert made.broken == {}


def test_the_bare_name_is_the_mean_and_has_a_long_form() -> None:
    made = combine_trials(THREE_OF_FIVE, [])

    assert made.values == {"ok": 0.6, "ok.mean": 0.6}
    assert made.again == {"ok.mean"}


def test_a_name_that_an_aggregator_gives_takes_the_place_of_the_mean() -> None:
    made = combine_trials(THREE_OF_FIVE, [aggregate("min", 0, "ok")])

    assert made.values == {"ok": 0.0, "ok.mean": 0.6}
    assert made.again == set()


def test_an_aggregator_has_all_its_names() -> None:
    made = combine_trials(THREE_OF_FIVE, [aggregate("pass^k", 2, "ok.pass^2", "pass^2")])

    assert once(made) == {"ok": 0.6, "ok.pass^2": 0.36}
    assert made.values["pass^2"] == 0.36


def test_a_mean_that_is_asked_for_is_the_one_that_is_there() -> None:
    assert once(combine_trials(THREE_OF_FIVE, [aggregate("mean")])) == {"ok": 0.6}
    assert combine_trials(THREE_OF_FIVE, [aggregate("mean", 0, "rate")]).values["rate"] == 0.6


def test_an_aggregator_of_another_scorers_score_says_nothing() -> None:
    assert once(combine_trials(THREE_OF_FIVE, [aggregate("min", score="bleu")])) == {"ok": 0.6}


def test_a_name_that_the_scorer_gives_itself_is_not_taken_from_it() -> None:
    values = [{"ok": 1, "best": 7}, {"ok": 0, "best": 9}]

    made = combine_trials(values, [aggregate("max", 0, "best")])

    assert once(made) == {"ok": 0.5, "best": 8.0}
    assert made.broken["best"].type == "NameTaken"
    assert "`max` of `ok` needs a different name" in made.broken["best"].message


def test_a_short_name_that_the_scorer_gives_itself_is_left_to_it() -> None:
    values = [{"ok": 1, "pass^2": 7}]

    made = combine_trials(values, [aggregate("pass^k", 2, "ok.pass^2", "pass^2")])

    assert once(made) == {"ok": 1, "pass^2": 7, "ok.pass^2": 1.0}
    assert made.broken == {}


def test_of_one_trial_every_score_stays_what_it_is() -> None:
    value = {"ok": True, "label": "نعم", "list": [1], "none": None}

    made = combine_trials([value], [aggregate("pass^k", 2, "it"), aggregate("min", score="label")])

    assert once(made) == {**value, "it": 1.0}
    assert made.values["ok"] is True
    assert made.values["ok.mean"] == 1.0
    assert set(made.lacking) == {"label.min"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param((1, 2, 4.5), 2.5, id="numbers of any size"),
        pytest.param((True, 0), 0.5, id="true is 1"),
        pytest.param((1, None), None, id="null in one trial is null"),
        pytest.param((1, math.nan), None, id="NaN in one trial is null"),
        pytest.param((1, math.inf), math.inf, id="infinite"),
        pytest.param((-math.inf, math.inf), None, id="no mean of two infinities"),
        pytest.param((0.1, 0.1, 0.1), 0.1, id="no digit is lost"),
        pytest.param((1.7e308, 1.5e308), 1.6e308, id="a sum beyond the largest number"),
        pytest.param((-1.7e308, -1.5e308), -1.6e308, id="the same below"),
    ],
)
def test_the_mean_of(values: tuple[Any, ...], expected: float | None) -> None:
    assert once(combine_trials(trials(*values), [])) == {"ok": expected}


def test_a_score_that_a_trial_lacks_is_null() -> None:
    made = combine_trials([{"ok": 1}, {}], [aggregate("max", 0, "most")])

    assert once(made) == {"ok": None, "most": None}


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(("yes", "no"), id="texts"),
        pytest.param((1, "1"), id="a number and a text"),
        pytest.param(([1], [2]), id="lists"),
        pytest.param(("نعم", "لا"), id="Arabic"),
        pytest.param((10**400, 1), id="a number that is no float"),
    ],
)
def test_of_what_is_no_number_there_is_nothing_and_it_is_said_why(values: tuple[Any, ...]) -> None:
    made = combine_trials(trials(*values), [aggregate("max", 0, "most")])

    assert made.values == {}
    assert set(made.lacking) == {"ok", "most"}
    assert "only numbers and booleans" in made.lacking["ok"]


@pytest.mark.parametrize("function", ["pass@k", "pass^k"])
def test_what_is_neither_pass_nor_fail_has_no_rate(function: str) -> None:
    made = combine_trials(trials(1, 0.4), [aggregate(function, 2, "it", "also")])

    assert once(made) == {"ok": 0.7}
    assert {name: one.message for name, one in made.broken.items()} == {
        "it": "`ok` is 0.4 in a trial, and pass rates need 1 or 0"
    }
    assert set(made.lacking) == {"it", "also"}


def test_a_score_that_is_aggregated_and_never_given_is_told() -> None:
    breakages = TrialFailures()
    breakages.add("judge", CombinedTrials({"is_correct": 1.0}), "a")
    wanted = [aggregate("min", score="is_corect"), aggregate("min", score="is_correct")]

    (told,) = breakages.describe(wanted)

    assert told.failure.message == (
        "`is_corect.min`: no scorer has a score `is_corect`; the scores are: `is_correct`"
    )
    assert told.failure.hint == "did you mean `is_correct`?"
    assert list(TrialFailures().describe(wanted)) == [], (
        "where nothing was scored, nothing is known"
    )


def test_what_breaks_is_told_once_for_the_task() -> None:
    breakages = TrialFailures()
    bad = CombinedTrials(
        broken={"it": Failure(stage="score", type="NotPassOrFail", message="no rate")}
    )
    for sample in ("a", "b", "c"):
        breakages.add("judge", bad, sample)

    (told,) = breakages.describe()
    assert told.stage == "score"
    assert told.failure.message == "`judge.it`: no rate (3 samples, the first is `a`)"
