from collections.abc import Sequence
from typing import Any

from hypothesis import given
from tests.scorers.rag.test_formulas import ANY, BY_HAND

from evalwright.scorers.rag.evidence import Label, RagEvidence
from evalwright.scorers.rag.formulas import Checks

T, F = True, False


def entailments(flags: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        ("entailed" if flag else "neutral") if isinstance(flag, bool) else entailments(flag)
        for flag in flags
    )


def evidence(checks: Checks, target: Sequence[bool], response: Sequence[bool]) -> RagEvidence:
    """Evidence with these checks; a claim is required where it is marked."""
    labels: dict[bool, Label] = {True: "REQUIRED", False: "OPTIONAL"}
    return RagEvidence(
        target_labels=tuple(labels[mark] for mark in target),
        response_labels=tuple(labels[mark] for mark in response),
        in_target=entailments(checks.in_target),
        in_response=entailments(checks.in_response),
        target_in_chunks=entailments(checks.target_in_chunks),
        response_in_chunks=entailments(checks.response_in_chunks),
    )


def test_required_claims_are_a_case_of_their_own() -> None:
    some = evidence(BY_HAND, [T, F, T], [F, T, T, F, F])

    assert some.checks(required_only=True) == Checks(
        in_target=[F, F],
        in_response=[T, T],
        target_in_chunks=[[T, F, F], [F, F, F]],
        response_in_chunks=[[T, F, F], [F, F, T]],
    )
    assert some.checks() == BY_HAND


@given(ANY)
def test_to_require_all_claims_is_to_require_none(checks: Checks) -> None:
    every = evidence(checks, [True] * len(checks.in_response), [True] * len(checks.in_target))

    assert every.checks(required_only=True) == every.checks()
