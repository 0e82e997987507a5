import json
from typing import Any

import pytest
from tests.datasets.synthesizers.made import model, synthesized, synthesizer

LINK: dict[str, Any] = {"type": "link_claim_quotes", "model_key": "writer"}
CLAIM = {"subject": "Cairo", "predicate": "is the capital of", "object": "Egypt"}
ROW = {
    "question": "ما عاصمة مصر؟",
    "expected_answer": "سؤال جيد. عاصمة مصر  القاهرة.",
    "claims": [{"claim": CLAIM}, CLAIM],
}


def linked(*quotes: list[str]) -> str:
    entries = [{"claim": number, "quotes": each} for number, each in enumerate(quotes, start=1)]
    return json.dumps({"links": entries}, ensure_ascii=False)


def test_every_claim_gets_the_quotes_that_state_it() -> None:
    writer = model(lambda _: linked(["عاصمة مصر القاهرة"], []))

    (row,) = synthesized(LINK, ROW, writer=writer)

    assert row["claim_source_quotes"] == [
        {"claim": CLAIM, "quotes": ["عاصمة مصر القاهرة"]},
        {"claim": CLAIM, "quotes": []},
    ]
    assert writer.calls[0].input["response_format"]["json_schema"]["name"] == "links"


def test_without_claims_nobody_is_asked() -> None:
    writer = model(lambda _: "")

    (row,) = synthesized(LINK, {**ROW, "claims": []}, writer=writer)

    assert (row["claim_source_quotes"], writer.calls) == ([], [])


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("It is in the second sentence.", "contains no list `links`"),
        (linked(["القاهرة"]), "must contain the claims 1 to 2, each once"),
        (linked(["Cairo"], []), "a quote of claim 1 is not in the answer: 'Cairo'"),
        (linked([" "], []), "a quote of claim 1 is not in the answer"),
        (linked("القاهرة", []), "the `quotes` of claim 1 must be a list of strings"),  # type: ignore[arg-type]
        ('{"links": [1, 2]}', "must contain the claims 1 to 2"),
    ],
)
def test_what_cannot_be_used_fails_the_row_and_is_quoted(reply: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        synthesized(LINK, ROW, writer=model(lambda _: reply))

    assert reply[:10] in str(caught.value)


def test_it_has_the_published_fields() -> None:
    assert synthesizer(LINK).model_dump() == {
        "type": "link_claim_quotes",
        "model_key": "writer",
        "output_field": "claim_source_quotes",
        "instructions": None,
        "columns": {"question": "question", "answer": "expected_answer", "claims": "claims"},
    }
