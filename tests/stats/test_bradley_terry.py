import numpy as np
import pytest

from evalwright.stats.bradley_terry import count_wins, find_reach, fit, resample


def test_two_contestants_have_the_odds_of_their_wins() -> None:
    strengths = fit(np.asarray([[[0.0, 3.0], [1.0, 0.0]]])).strengths[0]

    assert strengths == pytest.approx([3**0.5, 3**-0.5])


def test_the_fit_solves_the_equations_of_the_likelihood() -> None:
    # s_i · Σ n_ij / (s_i + s_j) = wins of i: Bradley & Terry (1952), equation 10.
    wins = np.random.default_rng(3).integers(1, 9, (4, 6, 6)).astype(float)
    wins[:, range(6), range(6)] = 0

    strengths = fit(wins).strengths

    games = wins + wins.transpose(0, 2, 1)
    sums = strengths[:, :, None] + strengths[:, None, :]
    assert strengths * (games / sums).sum(axis=2) == pytest.approx(wins.sum(axis=2))
    assert np.log(strengths).mean(axis=1) == pytest.approx(0)


def test_a_tie_is_half_a_win_for_both() -> None:
    first, second = np.asarray([0, 0, 1]), np.asarray([1, 1, 0])

    table = count_wins(first, second, np.asarray([1.0, 0.5, 0.25]), 2)

    assert table.tolist() == [[0.0, 2.25], [0.75, 0.0]]


def test_chains_of_wins_connect() -> None:
    wins = np.zeros((1, 4, 4))
    wins[0, 0, 1] = wins[0, 1, 2] = 1

    assert find_reach(wins)[0].astype(int).tolist() == [
        [1, 1, 1, 0],
        [0, 1, 1, 0],
        [0, 0, 1, 0],
        [0, 0, 0, 1],
    ]


def test_one_comparison_has_no_interval() -> None:
    drawn = resample(np.asarray([0]), np.asarray([1]), np.asarray([1.0]), 2)

    assert drawn.ranks == drawn.strengths == [None, None]


@pytest.mark.slow
def test_intervals_hold_the_true_strengths() -> None:
    rng = np.random.default_rng(11)
    true = np.asarray([2.0, 1.25, 1.0, 0.8, 0.5])
    true /= np.exp(np.log(true).mean())
    held = np.zeros(5)
    for seed in range(200):
        first, second = rng.integers(0, 5, (2, 200))
        first, second = first[first != second], second[first != second]
        won = rng.random(first.size) < true[first] / (true[first] + true[second])
        intervals = resample(first, second, won.astype(float), 5, seed=seed).strengths
        held += [
            each is not None and each.low <= strength <= each.high
            for each, strength in zip(intervals, true, strict=True)
        ]

    assert np.all((held / 200 >= 0.90) & (held / 200 <= 0.985)), held / 200
