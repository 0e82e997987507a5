import json
from typing import Any

import pytest
from tests.datasets.synthesizers.made import model, synthesized, synthesizer

LABEL: dict[str, Any] = {"type": "claim_labeling", "model_key": "writer"}
CLAIMS = [
    {"claim": {"subject": "Paris", "predicate": "is the capital of", "object": "France"}},
    {"subject": "Paris", "predicate": "has", "object": "a tower"},
]
ROW = {"question": "Which city?", "expected_answer": "Paris. It has a tower.", "claims": CLAIMS}
REPLY = json.dumps(
    {"labels": [{"claim": 1, "label": "required"}, {"claim": 2, "label": "OPTIONAL"}]}
)


@pytest.mark.parametrize("claims", [CLAIMS, json.dumps(CLAIMS)], ids=["a list", "JSON"])
def test_every_claim_gets_a_label(claims: Any) -> None:
    writer = model(lambda _: REPLY)

    (row,) = synthesized(LABEL, {**ROW, "claims": claims}, writer=writer)

    assert row["claims_labels"] == ["REQUIRED", "OPTIONAL"]
    material = writer.calls[0].messages[1].content
    assert "Paris. It has a tower." in material
    assert "2. Paris has a tower" in material


def test_without_claims_nobody_is_asked() -> None:
    writer = model(lambda _: REPLY)

    (row,) = synthesized(LABEL, {**ROW, "claims": []}, writer=writer)

    assert (row["claims_labels"], writer.calls) == ([], [])


@pytest.mark.parametrize(
    ("claims", "reply", "message"),
    [
        (CLAIMS, "Both matter.", "contains no list `labels`; its reply: Both matter."),
        (CLAIMS, '{"labels": ["REQUIRED"]}', "expected 2 labels, one per claim, got 1"),
        (CLAIMS, '{"labels": ["REQUIRED", "MAYBE"]}', "must be one of `REQUIRED`, `OPTIONAL`"),
        (None, REPLY, "column `claims` must be a list of claims"),
        ("[", REPLY, "column `claims` must contain a list of claims"),
    ],
)
def test_what_cannot_be_used_fails_the_row(claims: Any, reply: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        synthesized(LABEL, {**ROW, "claims": claims}, writer=model(lambda _: reply))


def test_it_has_the_published_fields() -> None:
    assert synthesizer(LABEL).model_dump() == {
        "type": "claim_labeling",
        "model_key": "writer",
        "output_field": "claims_labels",
        "instructions": None,
        "columns": {"question": "question", "answer": "expected_answer", "claims": "claims"},
    }
