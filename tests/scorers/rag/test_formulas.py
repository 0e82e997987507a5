from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalwright.scorers.rag.formulas import NEEDS, SCORES, Checks, ScoreName, compute_score

T, F = True, False

# Three claims of the target, five of the response, three chunks:
#
#        u   A k1 k2 k3             c   B k1 k2 k3
#   g1   1      1  0  0        m1   1      1  0  0
#   g2   0      1  0  0        m2   0      1  0  0     noise of a relevant chunk
#   g3   1      0  0  0        m3   0      0  0  1     noise of an irrelevant one
#                              m4   1      0  0  0     knew it
#                              m5   0      0  0  0     made it up
#
# found = g1, g2; relevant = k1; faithful = m1, m2, m3.
BY_HAND = Checks(
    in_target=[T, F, F, T, F],
    in_response=[T, F, T],
    target_in_chunks=[[T, F, F], [T, F, F], [F, F, F]],
    response_in_chunks=[[T, F, F], [T, F, F], [F, F, T], [F, F, F], [F, F, F]],
)
EXPECTED: dict[ScoreName, float] = {
    "precision": 2 / 5,
    "recall": 2 / 3,
    "f1_score": 1 / 2,  # 2 * (2/5) * (2/3) / (2/5 + 2/3) = (8/15) / (16/15)
    "claim_recall": 2 / 3,
    "context_precision": 1 / 3,
    "context_utilization": 1 / 2,  # of g1 and g2, the response has g1
    "noise_sensitivity_in_relevant": 1 / 5,
    "noise_sensitivity_in_irrelevant": 1 / 5,
    "hallucination": 1 / 5,
    "self_knowledge": 1 / 5,
    "faithfulness": 3 / 5,
}


@pytest.mark.parametrize("score", SCORES)
def test_every_score_of_an_example_worked_out_by_hand(score: ScoreName) -> None:
    assert compute_score(score, BY_HAND) == pytest.approx(EXPECTED[score])


@pytest.mark.parametrize("score", SCORES)
def test_a_score_is_made_of_what_it_says_that_it_needs_and_of_nothing_else(
    score: ScoreName,
) -> None:
    needed = {check: getattr(BY_HAND, check) for check in NEEDS[score]}

    assert compute_score(score, Checks(**needed)) == pytest.approx(EXPECTED[score])


def test_the_eleven_scores_are_the_scores() -> None:
    assert len(SCORES) == 11
    assert set(NEEDS) == set(SCORES) == set(EXPECTED)


def test_noise_of_both_kinds_counts_as_that_of_a_relevant_chunk() -> None:
    checks = Checks(in_target=[F], target_in_chunks=[[T, F]], response_in_chunks=[[T, T]])

    assert compute_score("noise_sensitivity_in_relevant", checks) == 1
    assert compute_score("noise_sensitivity_in_irrelevant", checks) == 0


@pytest.mark.parametrize(
    ("in_target", "in_response", "expected"),
    [
        pytest.param([F], [T], 0.0, id="no precision"),
        pytest.param([T], [F], 0.0, id="no recall"),
        pytest.param([F], [F], 0.0, id="neither"),
        pytest.param([], [T], None, id="a response without claims"),
        pytest.param([T], [], None, id="a target without claims"),
        pytest.param([T], [T], 1.0, id="both"),
    ],
)
def test_f1(in_target: list[bool], in_response: list[bool], expected: float | None) -> None:
    assert (
        compute_score("f1_score", Checks(in_target=in_target, in_response=in_response)) == expected
    )


NO_RESPONSE = {"recall", "claim_recall", "context_precision", "context_utilization"}
NO_TARGET = {"precision", "hallucination", "self_knowledge", "faithfulness"}


def test_a_response_without_claims_leaves_all_that_is_said_of_them_undefined() -> None:
    checks = Checks(in_response=[F, F], target_in_chunks=[[T], [F]])

    assert {name for name in SCORES if compute_score(name, checks) is not None} == NO_RESPONSE


def test_a_target_without_claims_leaves_all_that_is_said_of_them_undefined() -> None:
    checks = Checks(in_target=[F, T], response_in_chunks=[[T], [F]])

    assert {name for name in SCORES if compute_score(name, checks) is not None} == NO_TARGET


def test_without_chunks_nothing_is_found_and_no_chunk_is_relevant_or_not() -> None:
    checks = Checks(
        in_target=[T, F],
        in_response=[T],
        target_in_chunks=[[]],
        response_in_chunks=[[], []],
    )

    found = {name: compute_score(name, checks) for name in SCORES}

    assert found["claim_recall"] == found["faithfulness"] == 0
    assert found["hallucination"] == found["self_knowledge"] == 1 / 2
    assert found["context_precision"] is found["context_utilization"] is None


def test_where_nothing_was_found_nothing_could_have_been_used() -> None:
    checks = Checks(in_response=[T], target_in_chunks=[[F, F]])

    assert compute_score("context_utilization", checks) is None


class Size(NamedTuple):
    target: int
    response: int
    chunks: int


def rows(count: int, length: int) -> st.SearchStrategy[list[list[bool]]]:
    one = st.lists(st.booleans(), min_size=length, max_size=length)
    return st.lists(one, min_size=count, max_size=count)


def checks_of(size: Size) -> st.SearchStrategy[Checks]:
    def flags(count: int) -> st.SearchStrategy[list[bool]]:
        return st.lists(st.booleans(), min_size=count, max_size=count)

    return st.builds(
        Checks,
        in_target=flags(size.response),
        in_response=flags(size.target),
        target_in_chunks=rows(size.target, size.chunks),
        response_in_chunks=rows(size.response, size.chunks),
    )


def sizes(least: int) -> st.SearchStrategy[Size]:
    return st.builds(Size, *[st.integers(least, 6)] * 3)


FULL = sizes(1).flatmap(checks_of)
ANY = sizes(0).flatmap(checks_of)


def number(score: ScoreName, checks: Checks) -> float:
    found = compute_score(score, checks)
    assert found is not None
    return found


@given(FULL)
def test_a_claim_is_made_up_known_or_from_a_chunk(checks: Checks) -> None:
    """hallucination + self_knowledge + faithfulness = 1."""
    parts: list[ScoreName] = ["hallucination", "self_knowledge", "faithfulness"]

    assert sum([number(one, checks) for one in parts]) == pytest.approx(1)


@given(FULL)
def test_a_wrong_claim_is_noise_of_one_kind_or_made_up(checks: Checks) -> None:
    """noise_relevant + noise_irrelevant + hallucination = 1 - precision."""
    parts: list[ScoreName] = [
        "noise_sensitivity_in_relevant",
        "noise_sensitivity_in_irrelevant",
        "hallucination",
    ]

    wrong = 1 - number("precision", checks)

    assert sum([number(one, checks) for one in parts]) == pytest.approx(wrong)


@given(ANY)
def test_a_score_is_from_0_to_1_or_not_defined(checks: Checks) -> None:
    for name in SCORES:
        found = compute_score(name, checks)
        assert found is None or 0 <= found <= 1


@given(FULL)
def test_with_claims_and_chunks_only_utilization_may_be_undefined(checks: Checks) -> None:
    undefined = {name for name in SCORES if compute_score(name, checks) is None}

    assert undefined <= {"context_utilization"}
    assert bool(undefined) == (compute_score("claim_recall", checks) == 0)


@given(FULL)
def test_f1_lies_between_precision_and_recall(checks: Checks) -> None:
    precision, recall = number("precision", checks), number("recall", checks)

    f1 = number("f1_score", checks)

    assert f1 <= max(precision, recall) + 1e-12
    assert f1 >= min(precision, recall) - 1e-12


@given(FULL)
def test_the_order_of_claims_and_chunks_does_not_count(checks: Checks) -> None:
    turned = Checks(
        in_target=checks.in_target[::-1],
        in_response=checks.in_response[::-1],
        target_in_chunks=turn(checks.target_in_chunks),
        response_in_chunks=turn(checks.response_in_chunks),
    )

    for name in SCORES:
        assert compute_score(name, turned) == compute_score(name, checks)


def turn(matrix: Sequence[Sequence[bool]]) -> list[list[bool]]:
    return [list(row)[::-1] for row in matrix][::-1]
