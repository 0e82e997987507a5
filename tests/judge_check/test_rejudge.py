import pytest

from evalwright.judge_check.rejudge import ProbeTally, RepeatTally, is_same_verdict


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("a", "a", True), ("a", "b", False), (0.5, 0.6, True), (0.5, 0.61, False), (0.0, 0.0, True)],
)
def test_verdicts_are_the_same_by_label_or_within_a_tenth(
    one: str | float, other: str | float, *, same: bool
) -> None:
    assert is_same_verdict(one, other) is same
    assert is_same_verdict(other, one) is same


def test_flips_are_counted_by_direction_whatever_the_order_of_landing() -> None:
    landed = [((2, "c"), "true", "false"), ((0, "a"), "true", "false"), ((1, "b"), "false", "true")]
    rows = []
    for order in (landed, landed[::-1]):
        flips = ProbeTally(probe="swap")
        for one in order:
            flips.add(*one)
        flips.add((3, "d"), "true", "true")
        rows.append(flips.to_row())

    assert rows[0] == rows[1]
    assert rows[0].directions == {"to incorrect": 2, "to correct": 1}
    assert [*rows[0].directions] == ["to incorrect", "to correct"]
    assert rows[0].examples == ["a", "b", "c"]
    assert (rows[0].n, rows[0].flips.value) == (4, 0.75)


def test_a_label_goes_from_one_to_another() -> None:
    flips = ProbeTally(probe="pad")
    flips.add((0, "a"), "short", "long")

    assert flips.to_row().directions == {"short → long": 1}


def test_what_was_not_judged_is_no_flip() -> None:
    flips = ProbeTally(probe="pad")
    flips.add_not_applicable("no answer")
    flips.add_failure("busy")

    row = flips.to_row()

    assert (row.n, row.failed, row.not_applicable, row.reason) == (0, 1, 1, "no answer")
    assert row.flips.value is None


def test_scores_move_up_or_down() -> None:
    flips = ProbeTally(probe="pad")
    for place, after in enumerate((0.9, 0.5, 0.1)):
        flips.add((place, str(place)), 0.5, after)

    row = flips.to_row()

    assert row.directions == {"higher": 1, "lower": 1}
    assert row.change is not None
    assert row.change.value == pytest.approx(0)


def test_repeats_agree_wholly_or_in_pairs() -> None:
    repeats = RepeatTally(times=3)
    repeats.add(["a", "a", "a"])
    repeats.add(["a", "a", "b"])
    repeats.add(["a", "a"], "busy")

    row = repeats.to_row()

    assert (row.n, row.failed, row.reason) == (2, 1, "busy")
    assert row.all_equal.value == 0.5
    assert row.pairwise.value == pytest.approx((1 + 1 / 3) / 2)
    assert row.spread is None


def test_scores_have_a_spread() -> None:
    repeats = RepeatTally(times=2)
    repeats.add([0.2, 0.6])
    repeats.add([0.5, 0.55])

    row = repeats.to_row()

    assert row.all_equal.value == 0.5
    assert row.spread is not None
    assert row.spread.value == pytest.approx((0.4 + 0.05) / 2)
