from itertools import count, islice

from evalwright.report.moved import OutcomePair, has_other_scores, pair_outcomes
from evalwright.types import Failure, Outcome, Score


def outcome(sample_id: str, value: object = 1, **more: object) -> Outcome:
    scores = {"exact": Score(values={"ok": value})}
    fields = {"task": "t", "model": "m", "sample_id": sample_id, "scores": scores, **more}
    return Outcome(**fields)  # type: ignore[arg-type]


def ids(pairs: list[OutcomePair]) -> list[tuple[str | None, str | None]]:
    return [
        (before and before.sample_id, after and after.sample_id)  # type: ignore[misc]
        for before, after in pairs
    ]


def test_outcomes_are_paired_by_id_though_their_places_differ() -> None:
    before = [outcome(name) for name in "abcd"]
    after = [outcome(name) for name in "xbdca"]

    pairs = ids(list(pair_outcomes(before, after)))

    assert sorted(pair for pair in pairs if None not in pair) == [(x, x) for x in "abcd"]
    assert pairs[-1] == (None, "x")


def test_pairs_come_before_the_end_of_the_runs() -> None:
    endless = [(outcome(str(number)) for number in count(start)) for start in (0, 3)]

    pairs = list(islice(pair_outcomes(*endless), 1_000))

    assert all(pair.before == pair.after for pair in pairs)


def test_trials_and_models_are_paired_apart() -> None:
    before = [outcome("a", trial=0), outcome("a", trial=1), outcome("a", model="n")]

    assert all(pair.before == pair.after for pair in pair_outcomes(before, before[::-1]))


def test_only_a_value_that_both_have_changes() -> None:
    failure = Failure(stage="score", type="E", message="")

    assert has_other_scores(OutcomePair(outcome("a", 0), outcome("a", 1)))
    assert has_other_scores(OutcomePair(outcome("a", "no"), outcome("a", "yes")))
    assert not has_other_scores(OutcomePair(outcome("a", float("nan")), outcome("a", float("nan"))))
    assert not has_other_scores(OutcomePair(outcome("a", scores={}, failure=failure), outcome("a")))
    assert not has_other_scores(OutcomePair(None, outcome("a")))
